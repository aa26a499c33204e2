"""How modules become the one text that a widget takes."""

import json
import re
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

import sgemm_lab.widgets
from sgemm_lab import hardware
from sgemm_lab.errors import LabError
from sgemm_lab.widgets import LabWidget, bundle
from sgemm_lab.widgets.bundle import library, modules, parts_of, script, sheet

PACKAGE = Path(sgemm_lab.widgets.__file__).parents[1]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes modules and returns the last one."""

    def files(**texts: str) -> Path:
        for name, text in texts.items():
            (tmp_path / f"{name}.js").write_text(text)
        return tmp_path / f"{name}.js"

    return files


def exports(chromium: Browser, entry: Path) -> dict[str, Any]:
    """What a joined module exports; functions are called."""
    page = chromium.new_page()
    found: dict[str, Any] = page.evaluate(
        """async (text) => {
             const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
             const { default: all } = await import(url);
             return Object.fromEntries(Object.entries(all)
               .map(([name, value]) => [name, typeof value === "function" ? value() : value]));
           }""",
        script(entry),
    )
    page.close()
    return found


def test_names_of_different_modules_never_clash(chromium: Browser, write: Write) -> None:
    entry = write(
        one='const name = "one";\nexport function first() {\n  return name;\n}\n',
        two='const name = "two";\nexport const second = name;\n',
        main='import { first } from "./one.js";\nimport { second as other } from "./two.js";\n'
        "const name = 3;\nexport function all() {\n  return [first(), other, name];\n}\n",
    )
    assert exports(chromium, entry) == {"all": ["one", "two", 3]}


def test_a_module_that_two_import_runs_once_and_first(chromium: Browser, write: Write) -> None:
    entry = write(
        base="export const counter = { value: 0 };\n",
        left='import { counter } from "./base.js";\ncounter.value += 1;\nexport const a = 1;\n',
        right='import { counter } from "./base.js";\ncounter.value += 1;\nexport const b = 1;\n',
        main='import { counter } from "./base.js";\nimport {\n  a,\n} from "./left.js";\n'
        'import { b } from "./right.js";\nexport const sum = [counter.value, a, b];\n',
    )
    assert [path.stem for path in modules(entry)] == ["base", "left", "right", "main"]
    assert exports(chromium, entry) == {"sum": [2, 1, 1]}


def test_numbers_come_from_python_and_words_from_data(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text('{"hello": "Grüße"}')
    entry = tmp_path / "main.js"
    up = Path("..", *[".."] * len(tmp_path.parts), *PACKAGE.parts[1:], "hardware.py")
    entry.write_text(
        f'import {{ WARP }} from "{up}";\nimport words from "./words.json";\n'
        "export const found = [WARP, words.hello];\n"
    )
    assert exports(chromium, entry) == {"found": [hardware.WARP, "Grüße"]}


def test_comments_stay_behind(write: Write) -> None:
    entry = write(
        main="// @ts-check\n/** One. */\n/**\n * Two.\n */\nexport const url = '//x'; // three\n"
        "const said = 'a; // b';\n"
        "const node = /** @type {Node} */ (url);\n/** @type {number} */ (node).x;\n"
    )
    text = script(entry)
    assert "ts-check" not in text
    assert "One." not in text
    assert "Two." not in text
    assert "three" not in text
    assert "const url = '//x';\n" in text
    assert "const said = 'a; // b';" in text
    assert "/** @type {number} */ (node).x;" in text


def test_indents_stay_behind_but_never_those_of_a_string(write: Write) -> None:
    code = "export const twice = (x) => {\n  return 2 * x;\n};\n"
    assert "\nreturn 2 * x;\n" in script(write(plain=code))
    text = script(write(lines=f"{code}export const said = `one\n  two`;\n"))
    assert "`one\n  two`" in text
    assert "\n  return 2 * x;\n" in text


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (
            {"a": 'import { b } from "./b.js";\n', "b": 'import { a } from "./a.js";\n'},
            "Imports run in a circle: b.js → a.js → b.js. Move what both need to a third module.",
        ),
        ({"a": 'import { b } from "./missing.js";\n'}, "a.js imports "),
        (
            {"b": "export const c = 1;\n", "a": 'import { d } from "./b.js";\n'},
            "a.js imports d from b.js, which has none.",
        ),
        ({"a": "export let count = 0;\n"}, "does not read this line of a.js: export let count"),
        ({"a": "export default {};\n"}, "does not read this line of a.js: export default"),
        ({"a": 'import * as all from "./a.js";\n'}, "does not read this line of a.js: import *"),
    ],
    ids=["circle", "missing file", "missing name", "let", "default", "star"],
)
def test_what_it_cannot_join_is_a_sentence(
    write: Write, texts: dict[str, str], sentence: str
) -> None:
    with pytest.raises(LabError) as caught:
        script(write(**texts))
    assert sentence in str(caught.value)


def test_parts_put_together_are_the_whole() -> None:
    entry = PACKAGE / "widgets" / "banks.js"
    for whole in (script(entry), sheet(entry)):
        parts = parts_of(whole, "whole")
        assert len(parts) > 3
        assert "".join(part.text for part in parts) == re.sub(
            r"(?m)^(//|/\*)# part .*\n", "", whole
        )
    assert parts_of("export default {};", "mine.js") == [("mine.js", "export default {};")]


def test_a_sheet_comes_with_the_module_of_its_name() -> None:
    names = [part.name for part in parts_of(sheet(PACKAGE / "widgets" / "banks.js"), "")]
    assert names[:2] == ["theme.css", "widgets/shared/common.css"]
    assert names[-1] == "widgets/banks.css"
    assert "widgets/shared/painter.css" in names
    assert "widgets/steps.css" not in names


def test_every_module_and_sheet_of_the_package_is_used() -> None:
    found = {name for parts in library().values() for name in parts}
    entries = [_DRAW, *(_PANEL / f"{name}.js" for name in ("panel", "engine", "compiling"))]
    page = {path.relative_to(PACKAGE).as_posix() for entry in entries for path in modules(entry)}
    there = {
        path.relative_to(PACKAGE).as_posix()
        for folder in ("rules", "models", "widgets", "simulator", "checking", "counting")
        for suffix in ("js", "css")
        for path in (PACKAGE / folder).rglob(f"*.{suffix}")
    }
    types_alone = {name for name in there if "\nexport {};" in (PACKAGE / name).read_text()}
    assert there - found - page == types_alone


_DRAW = PACKAGE / "widgets" / "page" / "draw.js"
_PANEL = PACKAGE / "book" / "panel"


def test_the_type_checker_is_told_of_the_numbers_in_use() -> None:
    """A name that Python does not have is found by the joiner."""
    declared = (PACKAGE / "widgets" / "shared" / "python.d.ts").read_text()
    imports = re.compile(r'^import \{([^}]*)\} from "[^"]*\.py";', re.MULTILINE)
    used = {
        name.strip()
        for path in PACKAGE.rglob("*.js")
        for names in imports.findall(path.read_text())
        for name in names.split(",")
        if name.strip()
    }
    assert set(re.findall(r"export const (\w+): [^;]+;", declared)) == used


def test_who_edits_a_widget_sees_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edited.py").write_text(
        "from sgemm_lab.widgets import LabWidget\nclass Edited(LabWidget): pass\n"
    )
    (tmp_path / "edited.js").write_text('export function render() {\n  return "before";\n}\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ANYWIDGET_HMR", "1")
    import edited  # type: ignore[import-not-found]

    widget: LabWidget = edited.Edited()
    assert '"before"' in widget._esm
    assert "lab-bg" in widget._css
    (tmp_path / "edited.js").write_text('export function render() {\n  return "after";\n}\n')
    (tmp_path / "edited.css").write_text(".mine { color: red }")
    _wait(lambda: '"after"' in widget._esm and ".mine" in widget._css)
    (tmp_path / "edited.js").write_text('import { no } from "./nowhere.js";\n')
    _wait(lambda: "no such file" in widget._esm)
    assert json.dumps("render")[1:-1] in widget._esm


def test_a_class_of_a_notebook_is_in_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "a_notebook", types.ModuleType("a_notebook"))
    code = "export default { render() {} };"
    made = type("Mine", (LabWidget,), {"_esm": code, "__module__": "a_notebook"})
    assert made()._esm == code


def _wait(done: Callable[[], bool]) -> None:
    for _ in range(200):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened for ten seconds")


def test_nothing_is_watched_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANYWIDGET_HMR", raising=False)
    started: list[object] = []
    monkeypatch.setattr(bundle.Follower, "start", lambda follower: started.append(follower))
    sgemm_lab.widgets.Timeline()
    assert started == []
    monkeypatch.setenv("ANYWIDGET_HMR", "1")
    sgemm_lab.widgets.Timeline()
    assert len(started) == 1
