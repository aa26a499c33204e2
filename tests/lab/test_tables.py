"""How tables break on narrow pages."""

from sgemm_lab import lab


def test_names_and_sizes_may_break_but_no_factor() -> None:
    shown = lab.table(["M×N×K", "speed"], [["1×20×3", "6,345 ×12.76"]])._repr_html_()
    assert "M×<wbr>N×<wbr>K" in shown
    assert "1×<wbr>20×<wbr>3" in shown
    assert ">6,345 ×12.76<" in shown
    assert "float4_<wbr>tile_<wbr>1d" in lab.table(["kernel"], [["float4_tile_1d"]])._repr_html_()


def test_on_a_phone_rows_too_wide_stand_below_their_names() -> None:
    heads = ["per launch", *"abcde"]
    fits = lab.table(heads, [["reads", *["16,777"] * 5]])._repr_html_()
    assert "lab-stacked" not in fits
    wide = lab.table(heads, [["reads", *["16,777,216"] * 5]])._repr_html_()
    assert 'class="lab-table lab-stacked" style="--columns: 5"' in wide


def test_on_a_phone_numbers_too_wide_for_one_line_go_on_in_the_next() -> None:
    row = ["tiled", *["16,777,216"] * 9]
    wide = lab.table(["kernel", *"abcdefghi"], [row])._repr_html_()
    assert 'class="lab-table lab-stacked" style="--columns: 5"' in wide
    longest = lab.table(["kernel", "a", "b"], [["tiled", "9" * 40, "9" * 40]])._repr_html_()
    assert 'style="--columns: 1"' in longest
