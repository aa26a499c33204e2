"""What a race says about the lines that the reader changed."""

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.difference import changes

TILED = load_kernel("tiled")
BARRIER = "        __syncthreads();  // no one reads a tile before all of it is there\n"


def number_of(text):
    return next(i for i, line in enumerate(TILED.source.splitlines(), 1) if text in line)


def test_changed_line_stands_with_the_readers_number_beside_the_books():
    mine = lab.mine(lab.source("tiled").replace("acc += As[ty][k]", "acc -= As[ty][k]"))
    shown = changes(mine, TILED)
    old, new = shown.text.splitlines()[1:]
    assert old.startswith("−")
    assert "acc += As[ty][k] * Bs[k][tx];" in old
    assert new.split()[:2] == ["+", str(number_of("acc += As"))]
    assert "acc -= As[ty][k] * Bs[k][tx];" in new
    assert shown.html.count('class="line changed"') == 1


def test_line_taken_out_is_listed():
    shown = changes(lab.mine(lab.source("tiled").replace(BARRIER, "")), TILED)
    assert shown.text.splitlines()[1:] == ["−   " + BARRIER.rstrip()]
    assert "line changed" not in shown.html


@pytest.mark.parametrize("text", ["", "\n", "    // title: Mine\n"])
def test_indentation_blank_lines_and_head_are_no_changes(text):
    source = lab.source("tiled").replace("    float acc", "      float acc")
    source = source.replace("// title: Tiled\n", "// title: Mine\n")
    assert changes(lab.mine(text.lstrip(" /tile:Mn") + source), TILED).text.startswith(
        "Not changed"
    )


def test_race_begins_with_the_changes_even_if_it_does_not_compile(monkeypatch):
    monkeypatch.setattr(session, "live", lambda: False)
    broken = lab.mine(lab.source("tiled").replace("float acc = 0.0f;", "float acc = 0.0f"))
    told = repr(lab.compare(broken, against="tiled"))
    assert told.startswith("What you changed in Tiled:\n−")
    line = number_of("float acc")
    assert f"+ {line}" in told
    assert f"Line {line + 1}: expected a" in told
    same = repr(lab.compare(lab.mine(lab.source("tiled")), against="tiled"))
    assert same.startswith("Not changed: these are the lines of “Tiled”.")
    assert "right at" in same
