"""What a race says about the lines that the reader changed."""

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.lab import session


def test_race_begins_with_the_changes_even_if_it_does_not_compile(monkeypatch):
    monkeypatch.setattr(session, "live", lambda: False)
    tiled = lab.source("tiled")
    broken = lab.mine(tiled.replace("float acc = 0.0f;", "float acc = 0.0f"))
    told = repr(lab.compare(broken, against="tiled"))
    lines = load_kernel("tiled").source.splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "float acc" in text)
    assert told.startswith(f"--- Tiled\n+++ yours\n@@ -{line} +{line} @@\n-{lines[line - 1]}\n")
    assert f"Line {line + 1}: expected a" in told
    same = repr(lab.compare(lab.mine(tiled), against="tiled"))
    assert same.startswith("Not changed: these are the lines of “Tiled”.")
    assert "right at" in same
