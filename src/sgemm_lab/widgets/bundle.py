"""Joins the modules that a widget imports into the one module that anywidget takes.

Sources are ES modules in the folders of this package, beside the Python that they go with. Joined,
each is a function that runs once and returns its exports, so no name of one can clash with a name
of another. One text is needed because a notebook and a page import it from a Blob URL, where a
relative import leads nowhere. A style sheet comes with each module that has one of its name.

Of ECMAScript's imports and exports the joiner reads those that the sources need: ``import { a, b }
from "./file.js"``, ``export`` before ``function``, ``class`` and ``const``, each from the beginning
of a line. Beside modules they may import data (``import words from "./words.json"``) and numbers of
a Python module, or tables of them (``import { WARP } from "../hardware.py"``): what both languages
know stands once.
"""

import importlib
import json
import re
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.files import PACKAGE
from sgemm_lab.style import theme_css

PAGE_SCRIPT = "widgets.js"
"""The script that draws the widgets of a page; it comes after the scripts of their parts."""

_HOME = PACKAGE.resolve()
_WIDGETS = _HOME / "widgets"
_COMMON_SHEET = _WIDGETS / "shared" / "common.css"

_IMPORT = re.compile(
    r'^import\s+(?:\{(?P<names>[^}]*)\}|(?P<whole>\w+))\s+from\s+"(?P<path>[^"]+)";\n?', re.M
)
_EXPORT = re.compile(
    r"^export (?P<kind>async function|function\*?|class|const) (?P<name>\w+)", re.M
)
_UNREADABLE = re.compile(r"^(?:import|export)\b.*", re.M)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.M | re.S)
"""Comments that have lines of their own. They are for who reads the source: pages go without."""
_ASIDE = re.compile(r"(?<=[;,{}\])]) // [^\n\"'`]*$", re.M)
"""And those behind a line: with a quote in it, it might be the end of a string."""
_INDENT = re.compile(r"^ +", re.M)
_MARK = re.compile(r"^(?://|/\*)# part (?P<name>\S+)(?: \*/)?\n", re.M)
_SECONDS_BETWEEN_LOOKS = 0.3
_ROOMS = (
    *(".", "formulas", "simulator", "counting", "checking", "models", "clang", "clang/ir"),
    *("clang/ptx", "wgsl", "exercises", "widgets", "widgets/shared"),
)
"""Folders with JavaScript that a widget may import."""


class Part(NamedTuple):
    """A piece of a joined text: a module or a style sheet."""

    name: str
    text: str


def script(entry: Path) -> str:
    """Join the module ``entry`` with all that it imports; its exports are the widget.

    Raises:
        LabError: a file is missing, imports run in a circle, a name is not exported, or an import
            or export is written in a way that the joiner does not read.
    """
    entry = entry.resolve()
    parts = [_as_part(path) for path in modules(entry)]
    end = Part(f"{_name(entry)}!", f"export default {_variable(entry)};\n")
    return "".join(f"//# part {name}\n{text}" for name, text in [*parts, end])


def sheet(entry: Path) -> str:
    """Join the book's colours, the common sheet, and those beside the modules of ``entry``.

    The rule: a file's selectors name one class of the widget's root more than those of the file
    that it builds on. A page holds the sheets of several widgets, the shared files in each of them,
    so the order of two equal rules is chance.
    """
    beside = [path.with_suffix(".css") for path in modules(entry)]
    paths = [_COMMON_SHEET, *(path for path in beside if path.exists())]
    parts = [Part("theme.css", theme_css(".sgemm-lab"))]
    parts += [Part(_name(path), path.read_text(encoding="utf-8")) for path in paths]
    return "".join(f"/*# part {name} */\n{text}" for name, text in parts)


def parts_of(joined: str, name: str) -> list[Part]:
    """Return the parts that a text was joined from; a text of another origin is one, ``name``."""
    pieces = _MARK.split(joined)
    if len(pieces) == 1:
        return [Part(name, joined)]
    return [Part(*pair) for pair in zip(pieces[1::2], pieces[2::2], strict=True)]


@cache
def library() -> dict[str, dict[str, str]]:
    """Return the parts of the book's own widgets, by file of the site and by name.

    A part that one widget alone needs is in a file of its own, such as ``widgets-banks.js``, all
    others in ``widgets.js``. So each page loads what it shows, and a browser keeps what it has.
    """
    users: dict[Part, list[str]] = {}
    for entry in sorted(path for path in _WIDGETS.glob("*.js") if path.with_suffix(".py").exists()):
        for text in (script(entry), sheet(entry)):
            for part in parts_of(text, entry.name):
                users.setdefault(part, []).append(entry.stem)
    files: dict[str, dict[str, str]] = {PAGE_SCRIPT: {}}
    for (name, text), widgets in users.items():
        file = PAGE_SCRIPT if len(widgets) > 1 else f"widgets-{widgets[0]}.js"
        files.setdefault(file, {})[name] = text
    return files


def site_files() -> dict[str, str]:
    """Return the scripts of a site without a kernel, by name.

    The page's own script comes last on a page: it draws the widgets from the parts that the others
    have laid ready. They are no modules, because a page that is opened as a file may not load one.
    """
    draw = _WIDGETS / "page" / "draw.js"
    code = "".join(_as_part(path).text for path in modules(draw))
    # Whoever needs the finished page can wait for this.
    start = f"window.labWidgetsDrawn = {_variable(draw)}.drawAll(labParts).then(() => true);"
    files = {
        file: f"Object.assign((window.labParts ??= {{}}), {json.dumps(parts, ensure_ascii=False)});"
        for file, parts in library().items()
    }
    files[PAGE_SCRIPT] += f"\n(() => {{\n{code}{start}\n}})();"
    return {file: f"{text}\n" for file, text in files.items()}


def plain_script(entry: Path, call: str) -> str:
    """Return ``entry`` and all that it imports as a script that is no module, and calls ``call``.

    Such a script runs in a page opened as a file, and in a worker that is made from its text.

    Args:
        entry: a module.
        call: what to run once all is defined, such as ``setUpAll()``, a call of its exports.
    """
    entry = entry.resolve()
    code = "".join(_as_part(path).text for path in modules(entry))
    return f"(() => {{\n{code}{_variable(entry)}.{call};\n}})();\n"


def modules(entry: Path) -> list[Path]:
    """Return ``entry`` and all that it imports, each after what it imports itself.

    Raises:
        LabError: a file is missing, or imports run in a circle.
    """
    found: dict[Path, None] = {}
    _visit(entry.resolve(), (), found)
    return list(found)


def _visit(path: Path, above: tuple[Path, ...], found: dict[Path, None]) -> None:
    if path in found:
        return
    if path in above:
        circle = " → ".join(one.name for one in [*above[above.index(path) :], path])
        raise LabError(f"Imports run in a circle: {circle}. Move what both need to a third module.")
    if not path.is_file():
        raise LabError(f"{above[-1].name if above else 'A widget'} imports {path}: no such file.")
    if path.suffix == ".js":
        for imported in _imports(_text(path)):
            _visit((path.parent / imported).resolve(), (*above, path), found)
    found[path] = None


def _as_part(path: Path) -> Part:
    """Return a file as a constant that holds its exports."""
    if path.suffix == ".json":
        value = json.dumps(json.loads(path.read_text(encoding="utf-8")), ensure_ascii=False)
    elif path.suffix == ".py":
        value = json.dumps(_numbers(path))
    else:
        value = _module(path)
    return Part(_name(path), f"const {_variable(path)} = {value};\n")


def _module(path: Path) -> str:
    source = _without_comments(_text(path))
    body = _EXPORT.sub(r"\g<kind> \g<name>", _IMPORT.sub(lambda m: _binding(path, m), source))
    unreadable = _UNREADABLE.search(body)
    if unreadable:
        raise LabError(
            f"The joiner does not read this line of {path.name}: {unreadable[0]} "
            'It reads import { a } from "./file.js"; and export before function, class and const.'
        )
    return f"(() => {{\n{_flat(body)}return {{ {', '.join(_exports(path))} }};\n}})()"


def _flat(code: str) -> str:
    """Return code without indents; one with a string of several lines stays as it is."""
    if any(line.count("`") % 2 for line in code.splitlines()):
        return code
    return _INDENT.sub("", code)


def _binding(path: Path, match: re.Match[str]) -> str:
    """Return an import as a constant of the importing module."""
    source = (path.parent / match["path"]).resolve()
    if match["whole"]:
        if source.suffix != ".json":
            raise LabError(
                f"{path.name} imports all of {source.name}: name what it needs in {{ }}."
            )
        return f"const {match['whole']} = {_variable(source)};\n"
    names = [name.strip() for name in match["names"].split(",") if name.strip()]
    for name in names:
        if name.split(" as ")[0] not in _exports(source):
            raise LabError(f"{path.name} imports {name} from {source.name}, which has none.")
    taken = ", ".join(name.replace(" as ", ": ") for name in names)
    return f"const {{ {taken} }} = {_variable(source)};\n"


def _exports(path: Path) -> list[str]:
    if path.suffix == ".py":
        return list(_numbers(path))
    return list(_exported(_text(path)))


def _text(path: Path) -> str:
    """Return what a file holds, read once until it changes: most widgets import the same."""
    about = path.stat()
    return _read(path, (about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=512)
def _read(path: Path, _state: tuple[int, int]) -> str:
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=512)
def _without_comments(source: str) -> str:
    return _ASIDE.sub("", _COMMENT.sub("", source))


@lru_cache(maxsize=512)
def _imports(source: str) -> tuple[str, ...]:
    return tuple(match["path"] for match in _IMPORT.finditer(source))


@lru_cache(maxsize=512)
def _exported(source: str) -> tuple[str, ...]:
    return tuple(match["name"] for match in _EXPORT.finditer(source))


def _numbers(path: Path) -> dict[str, Any]:
    """Return the numbers that a module of this package defines under names in capitals.

    Tuples and tables of numbers, and tables of texts, count as well.
    """
    name = ".".join([PACKAGE.name, *path.relative_to(_HOME).with_suffix("").parts])
    values = vars(importlib.import_module(name))
    return {
        key: value
        for key, value in values.items()
        if key[0].isalpha() and key.isupper() and _is_number(value)
    }


def _is_number(value: object) -> bool:
    if type(value) is tuple:
        return all(map(_is_number, value))
    if type(value) is dict:
        return all(
            type(key) is str and (type(one) is str or _is_number(one)) for key, one in value.items()
        )
    return type(value) in (int, float)


def _name(path: Path) -> str:
    inside = path.is_relative_to(_HOME)
    return (path.relative_to(_HOME) if inside else Path(path.name)).as_posix()


def _variable(path: Path) -> str:
    return "$" + re.sub(r"\W", "_", _name(path))


class Follower(threading.Thread):
    """Joins a widget anew when a file of it changes, for who edits it.

    Args:
        entry: the widget's own module.
        changed: takes the new script and the new style sheet.
    """

    def __init__(self, entry: Path, changed: Callable[[str, str], None]) -> None:
        super().__init__(daemon=True)
        self._entry, self._changed = entry, changed
        self._times = self._look()
        self._stopped = threading.Event()

    def run(self) -> None:
        """Look until :meth:`stop`."""
        while not self._stopped.wait(_SECONDS_BETWEEN_LOOKS):
            times = self._look()
            if times != self._times:
                self._times = times
                self._changed(*self._join())

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def _join(self) -> tuple[str, str]:
        try:
            return script(self._entry), sheet(self._entry)
        except LabError as error:
            words = json.dumps(str(error))
            says = f"export default {{ render({{ el }}) {{ el.textContent = {words}; }} }};"
            return says, theme_css(".sgemm-lab")

    def _look(self) -> dict[Path, float]:
        """Return when the files of the rooms with JavaScript were last written."""
        folders = [self._entry.parent, *(PACKAGE / room for room in _ROOMS)]
        files = (path for folder in folders for path in folder.glob("*"))
        return {
            path: path.stat().st_mtime for path in files if path.suffix in (".js", ".css", ".json")
        }
