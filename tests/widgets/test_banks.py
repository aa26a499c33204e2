"""The bank painter: its data, its model in two languages, and the reader's hands on it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from request_samples import LOAD_BS, RECORDED, SHARED, STORE_AS, addresses_of
from widget_page import Opener

from sgemm_lab.formulas.memory import shared_wavefronts
from sgemm_lab.widgets import Banks

State = Callable[[Page, str], Any]
RECORDED_SHARED = [entry for entry in RECORDED if entry["access"].startswith("shared")]


@pytest.fixture
def page(show: Opener) -> Page:
    return show(Banks(SHARED))


def facts(page: Page) -> dict[str, str]:
    return {
        row.locator("dt").inner_text(): row.locator("dd").inner_text()
        for row in page.locator(".lab-facts > div").all()
    }


# In Python.


@pytest.mark.parametrize(
    ("chosen", "wavefronts", "words"),
    [
        (0, 2, "Bank 0 is asked for 2 different words in one phase. Without conflicts 1 wavefront"),
        (1, 1, "1 request takes 1 wavefront. No bank is asked for two different words"),
        (2, 2, "in 2 phases of 16 lanes. Neighbouring lanes ask for the same words, so phases"),
        (3, 8, "8 wavefronts, in 4 phases of 8 lanes. Bank 0 is asked for 2 different words"),
    ],
)
def test_it_says_what_the_request_takes(chosen: int, wavefronts: int, words: str) -> None:
    widget = Banks(SHARED, chosen=chosen)
    assert len(widget.wavefronts) == wavefronts
    assert words in widget.alt
    assert widget.request is not None
    assert widget.request["label"] in widget.alt


def test_padding_and_swizzle_lay_the_kernels_array_out_anew() -> None:
    widget = Banks([STORE_AS])
    widget.padding = 4
    assert len(widget.wavefronts) == 1
    assert widget.addresses == SHARED[1]["addresses"]
    assert "rows padded by 4 floats" in widget.alt
    # A float4 starts at multiples of four floats, so the rest of the padding has no effect.
    wide = Banks([LOAD_BS], padding=3)
    assert wide.addresses == LOAD_BS["addresses"]
    row = Banks([{**LOAD_BS, "addresses": [4096 + 512 * (lane % 8) for lane in range(32)]}])
    assert len(row.wavefronts) == 32
    row.swizzle = True
    assert len(row.wavefronts) == 4
    assert row.addresses[:3] == [4096, 4096 + 512 + 16, 4096 + 1024 + 32]


@pytest.mark.parametrize(
    ("state", "wavefronts"),
    [
        ({}, 32),
        ({"padding": 1}, 1),
        ({"padding": 2}, 2),
        ({"swizzle": True}, 1),
        ({"stride": 1}, 1),
        ({"stride": 2}, 2),
        ({"stride": 0}, 1),
        ({"stride": 1, "bits": 128, "op": "store"}, 4),
        ({"stride": 8, "bits": 128, "padding": 4}, 4),
        ({"stride": 8, "bits": 128, "swizzle": True}, 4),
        ({"stride": 0, "bits": 128}, 2),
        ({"stride": 0, "bits": 128, "op": "store"}, 4),
        ({"off": list(range(1, 32))}, 1),
        ({"off": list(range(32))}, 0),
    ],
)
def test_the_readers_own_pattern(state: dict[str, Any], wavefronts: int) -> None:
    assert len(Banks(**state).wavefronts) == wavefronts


def test_swizzled_columns_stay_in_their_row() -> None:
    for columns in (8, 16, 32, 128):
        places = [
            {**STORE_AS, "shape": [64, columns], "addresses": [4 * (32 * i + j) for j in range(32)]}
            for i in range(columns * 2)
        ]
        widgets = [Banks([place], swizzle=True) for place in places]
        moved = [address for widget in widgets for address in widget.addresses]
        assert sorted(moved) == [4 * i for i in range(len(moved))]  # type: ignore[type-var]


def test_a_word_that_two_phases_ask_for_comes_twice_and_the_words_say_why() -> None:
    """Lanes 16 to 31 read what lanes 0 to 15 read, but not in the same phase."""
    halves = Banks([{**LOAD_BS, "addresses": [4096 + 16 * (lane % 16) for lane in range(32)]}])
    assert len(halves.wavefronts) == 4
    assert "No bank is asked for two different words" in halves.alt
    assert "A word is shared only within a phase, so each phase fetches it anew." in halves.alt
    assert "anew" not in Banks(stride=0).alt
    assert "anew" not in Banks(stride=0, bits=128, off=list(range(8, 32))).alt


# The same model three times: the simulator's, the painter's in Python and in JavaScript.


def random_cases() -> list[tuple[list[int | None], int, str]]:
    random = np.random.default_rng(seed=5)
    cases: list[tuple[list[int | None], int, str]] = []
    for number in range(600):
        width = int(random.choice([4, 8, 16]))
        stride, repeat = int(random.integers(0, 40)), int(random.choice([1, 2, 4, 8]))
        noise = random.integers(0, 64, 32) if number % 3 == 0 else np.zeros(32, dtype=int)
        swap = int(random.integers(0, 4))
        elements = [((lane ^ swap) // repeat) * stride + int(noise[lane]) for lane in range(32)]
        on = random.random(32) < random.choice([0.3, 1.0])
        addresses = [e * width if a else None for e, a in zip(elements, on, strict=True)]
        cases.append((addresses, 8 * width, "load" if number % 2 else "store"))
    return cases


def test_it_agrees_with_the_h200() -> None:
    assert len(RECORDED_SHARED) == 138
    for entry in RECORDED_SHARED:
        addresses, is_load = addresses_of(entry), entry["access"].split()[1] == "load"
        waves = shared_wavefronts(addresses, entry["bits"] // 8, is_load=is_load)
        phases = len({wave.phase for wave in waves})
        assert len(waves) == entry["wavefronts"]
        assert len(waves) - phases == entry["bank_conflicts"]


def test_each_lane_gets_its_word_once_and_no_bank_gives_two_at_a_time() -> None:
    for addresses, bits, op in random_cases():
        waves = shared_wavefronts(addresses, bits // 8, is_load=op == "load")
        served = [
            (lane, word) for wave in waves for word, lanes in wave.words.items() for lane in lanes
        ]
        expected = [(lane, a // 4) for lane, a in enumerate(addresses) if a is not None]
        assert sorted(served) == expected
        for wave in waves:
            banks = [(word + i) % 32 for word in wave.words for i in range(bits // 32)]
            assert len(banks) == len(set(banks))


# In the browser.


def test_it_draws_the_request_chosen(page: Page) -> None:
    assert facts(page) == {
        "Requests": "1",
        "Wavefronts": "2",
        "Without conflicts": "1",
        "Words brought of words possible": "32 of 64",
    }
    assert page.locator(".lab-chart .lab-token").count() == 32
    assert page.locator('.lab-token[data-wavefront="1"]').count() == 16
    assert page.locator(".lab-bank.lab-busy").count() == 16
    assert page.locator(".lab-break").count() == 1
    expect(page.locator(".lab-line")).to_have_text("60As[kA + 0][rA] = a.x;")


def test_a_token_stands_under_its_bank(page: Page) -> None:
    page.select_option("select", "3")
    page.wait_for_timeout(300)  # tokens glide to their places
    heads = page.locator(".lab-bank")
    for lane in (0, 5, 15):
        token = page.locator(f'.lab-token[data-lanes~="{lane}"] rect').bounding_box()
        # Lane + 16 asks for the same word in another phase, so each has half of its four banks.
        first, last = (heads.nth(lane * 8 % 32 + i).bounding_box() for i in (0, 1))
        assert token
        assert first
        assert last
        middle = (first["x"] + last["x"] + last["width"]) / 2
        assert token["x"] + token["width"] / 2 == pytest.approx(middle, abs=2)


def test_every_wavefront_has_a_mark_of_its_own(page: Page) -> None:
    page.select_option("select", "3")
    signs = page.locator(".lab-waves .lab-token")
    looks = signs.evaluate_all(
        "(all) => all.map((s) => [s.style.cssText, s.querySelector('.lab-mark').getAttribute('d')])"
    )
    assert len(looks) == 8
    assert len({hue for hue, _ in looks}) == len({mark for _, mark in looks}) == 8
    expect(page.locator(".lab-waves")).to_contain_text("w8")
    lanes = page.locator(".lab-lane small").all_inner_texts()
    assert lanes[:5] == ["w1", "w1", "w1", "w1", "w2"]
    assert set(lanes) == {f"w{wave}" for wave in range(1, 9)}
    expect(page.get_by_role("button", name="Lane 31", exact=True)).to_be_visible()


def test_no_lane_is_hidden_where_phases_share_words(show: Opener) -> None:
    shared = {**LOAD_BS, "addresses": [4096 + 16 * (lane % 16) for lane in range(32)]}
    page = show(Banks([shared]))
    named = page.locator(".lab-chart .lab-token").evaluate_all(
        "(all) => all.flatMap((t) => t.dataset.lanes.split(' ').map(Number))"
    )
    assert sorted(named) == list(range(32))
    assert page.locator('.lab-token[data-address="4096"]').count() == 2
    page.get_by_role("button", name="Lane 16", exact=True).hover()
    assert page.locator(".lab-lit").get_attribute("data-wavefront") == "3"
    expect(page.locator(".lab-about")).to_contain_text(
        "wavefront 3. In other phases the same word is fetched anew: Lane 0: wavefront 1."
    )
    page.get_by_role("slider", name="Stride").fill("0")
    page.get_by_role("button", name="Lane 3", exact=True).hover()
    expect(page.locator(".lab-about")).to_contain_text("It shares the word with lanes 0–2, 4–15")


def test_stepping_shows_one_wavefront_after_the_other(page: Page, state: State) -> None:
    slider = page.get_by_role("slider", name="Wavefront")
    assert slider.get_attribute("aria-valuetext") == "all 2"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert state(page, "wavefront") == 1
    assert slider.get_attribute("aria-valuetext") == "1 of 2"
    bright = page.locator(".lab-chart .lab-token:not(.lab-dim)")
    assert bright.all_text_contents() == [str(lane) for lane in range(0, 32, 2)]
    assert page.locator(".lab-lane:not(.lab-dim)").count() == 16
    page.keyboard.press("ArrowRight")
    assert bright.all_text_contents() == [str(lane) for lane in range(1, 32, 2)]


def test_play_runs_through_the_wavefronts_and_ends_with_all(page: Page, state: State) -> None:
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    assert state(page, "wavefront") == 1
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.clock.run_for(950)
    assert state(page, "wavefront") == 2
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    assert state(page, "wavefront") == 2
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(3000)
    assert state(page, "wavefront") == 0
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_padding_mends_the_kernels_own_store(page: Page, state: State) -> None:
    padding = page.get_by_role("slider", name="Padding")
    padding.fill("4")
    assert state(page, "chosen") == 0
    assert facts(page)["Wavefronts"] == "1"
    expect(page.get_by_role("button", name="Play")).to_be_disabled()
    page.select_option("select", "3")
    assert state(page, "padding") == 0
    padding.fill("1")  # of a float4
    assert state(page, "padding") == 4
    assert padding.get_attribute("aria-valuetext") == "4 floats"


def test_each_control_changes_what_it_should(page: Page, state: State) -> None:
    page.get_by_role("slider", name="Stride").fill("1")
    assert [state(page, name) for name in ("chosen", "stride", "bits", "op")] == [
        -1,
        1,
        32,
        "store",
    ]
    assert facts(page)["Wavefronts"] == "1"
    page.get_by_role("slider", name="Stride").fill("15")
    assert state(page, "stride") == 32
    assert facts(page)["Wavefronts"] == "32"
    page.get_by_role("radio", name="col ^ row").check()
    assert facts(page)["Wavefronts"] == "1"
    expect(page.locator(".lab-line")).to_contain_text("tile[i / 32][i % 32 ^ i / 32] = v;")
    page.get_by_role("radio", name="none").check()
    page.get_by_role("slider", name="Padding").fill("1")
    assert facts(page)["Wavefronts"] == "1"
    expect(page.locator(".lab-line")).to_contain_text("float tile[][32 + 1], i = 32 * lane")
    page.get_by_role("slider", name="Padding").fill("0")
    page.get_by_role("radio", name="128 bit").check()
    page.get_by_role("slider", name="Stride").fill("0")
    assert facts(page)["Wavefronts"] == "4"
    page.get_by_role("radio", name="loads").check()
    assert facts(page)["Wavefronts"] == "2"
    page.get_by_role("button", name="Lane 3", exact=True).click()
    assert state(page, "off") == [3]
    expect(page.locator(".lab-about")).to_have_text("Lane 3 takes no part in this request.")


def test_the_mouse_finds_a_lane(page: Page) -> None:
    page.locator('.lab-token[data-lane="3"]').hover()
    about = page.locator(".lab-about")
    expect(about).to_have_text(
        "Lane 3 asks for As[4][1], bytes 2,052 to 2,055, in bank 1: wavefront 2."
    )
    page.get_by_role("button", name="Lane 4", exact=True).hover()
    expect(about).to_contain_text("Lane 4 asks for As[0][2]")
    assert page.locator(".lab-token.lab-lit").get_attribute("data-lane") == "4"


@pytest.mark.parametrize("width", [390, 636, 800])
def test_what_stands_on_a_word_fits_into_it(show: Opener, width: int) -> None:
    page = show(Banks(SHARED), viewport={"width": width, "height": 900})
    page.get_by_role("slider", name="Stride").fill("0")  # all lanes want one word: ×32
    for bits in ("128 bit", "64 bit", "32 bit"):
        page.get_by_role("radio", name=bits).check(force=True)
        texts = page.locator("svg.lab-chart .lab-token text").all_text_contents()
        phases = {"128 bit": 4, "64 bit": 2, "32 bit": 1}[bits]  # of a store
        assert len(texts) == phases
        assert texts[0] in (f"×{32 // phases}", f"0–{32 // phases - 1}")
        for token in page.locator("svg.lab-chart .lab-token").all():
            widths = token.evaluate(
                "(t) => [t.children[1], t.children[0]].map((n) => n.getBBox().width)"
            )
            assert 10 < widths[0] < widths[1]
