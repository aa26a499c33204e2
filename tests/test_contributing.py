"""What CONTRIBUTING.md names exists: files, commands of make, commands of sgemm-lab."""

import re
from pathlib import Path

from sgemm_lab.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PLACEHOLDER = re.compile(r"NN|\bname|_name|FILE")


def test_every_path_exists() -> None:
    folders = "src|tests|docs|records|kernels|chapters"
    paths = set(re.findall(rf"(?<![\w./])(?:{folders})/[\w./]*\w", TEXT))
    named = {path for path in paths if not PLACEHOLDER.search(path)}
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
    packages = re.findall(r"^\| `(\w+)/`(?:, `(\w+)/`)? \|", TEXT, re.M)
    folders = [name for pair in packages for name in pair if name]
    assert {"formulas", "cli", "kernels"} <= set(folders)
    places = (ROOT, ROOT / "src/sgemm_lab")
    assert [name for name in folders if not any((at / name).is_dir() for at in places)] == []


def test_every_command_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    named = set(re.findall(r"(?:^|`|&& )make ([a-z]+)", TEXT, re.M))
    assert {"book", "check", "test", "counts", "readme"} <= named
    assert named <= targets
    commands = set(re.findall(r"sgemm-lab ([a-z-]+)", TEXT))
    assert {"record", "doctor"} <= commands
    assert commands <= set(COMMANDS)
