"""A style sheet without what no page of a site can come under.

A theme brings the looks of every element that it knows. Of a rule those selectors stay whose
classes and ids all occur: in the pages, or in the scripts that may set them. Of the sheet's own
variables those stay that something reads.
"""

import re
from collections.abc import Iterable, Iterator, Set

_TOKEN = re.compile(
    r"""/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|url\([^"')]*\)|\\.|[{};,()\[\]]|[^"'/\\{};,()\[\]u]+|.""",
    re.DOTALL,
)
"""A comment, a string, an address, a sign that ends something, or what is between those."""
_GROUPS = ("@media", "@supports", "@layer", "@container")
"""Rules that hold rules."""
_BRACKETED = re.compile(r"\[[^\]]*\]|\([^()]*\)")
_CLASS_OR_ID = re.compile(r"[.#]((?:[\w-]|\\.)+)")
_READ = re.compile(r"var\(\s*(--[\w-]+)")
_VARIABLE = re.compile(r"\s*(--[\w-]+)\s*:")
_ATTRIBUTE = re.compile(r"""\b(?:class|id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
_WORD = re.compile(r"[\w-]+")


def names_in_page(html: str) -> set[str]:
    """Return the classes and ids of a page's elements, and the variables that it reads."""
    named = {name for found in _ATTRIBUTE.findall(html) for name in "".join(found).split()}
    return named | variables_read(html)


def names_in_script(script: str) -> set[str]:
    """Return the words of a script: a class or an id that it sets is one of them."""
    return set(_WORD.findall(script))


def variables_read(text: str) -> set[str]:
    """Return the variables of style sheets that a text reads, with their dashes."""
    return set(_READ.findall(text))


def pruned(sheet: str, names: Set[str]) -> str:
    """Return a style sheet without comments and without rules that need other names.

    Args:
        sheet: CSS; nested style rules stay as they are.
        names: classes, ids and words of scripts.
    """
    return "".join(_kept(sheet, names))


def without_unread_variables(sheet: str, names: Set[str]) -> str:
    """Return a style sheet without variables that neither it nor a script, by ``names``, reads."""
    while True:
        read = variables_read(sheet) | names
        lighter = "".join(_with_read(sheet, read))
        if len(lighter) == len(sheet):
            return lighter
        sheet = lighter


def _kept(sheet: str, names: Set[str]) -> Iterator[str]:
    for prelude, body in _rules(sheet):
        if body is None:
            yield f"{prelude};"
        elif prelude.startswith(_GROUPS):
            if inside := "".join(_kept(body, names)):
                yield f"{prelude}{{{inside}}}"
        elif prelude.startswith("@"):
            yield f"{prelude}{{{_bare(body)}}}"
        elif alive := [one for one in _split(prelude, ",") if _needed(one) <= names]:
            yield f"{','.join(alive)}{{{_bare(body)}}}"


def _with_read(sheet: str, read: Set[str]) -> Iterator[str]:
    for prelude, body in _rules(sheet):
        if body is None:
            yield f"{prelude};"
        elif prelude.startswith(_GROUPS):
            yield f"{prelude}{{{''.join(_with_read(body, read))}}}"
        elif "{" in body:
            yield f"{prelude}{{{body}}}"
        else:
            lines = (line for line in _split(body, ";") if line)
            kept = [one for one in lines if not (name := _VARIABLE.match(one)) or name[1] in read]
            if kept:
                yield f"{prelude}{{{';'.join(kept)}}}"


def _needed(selector: str) -> set[str]:
    """Return the classes and ids without which a selector finds nothing; brackets may choose."""
    plain, found = selector, 1
    while found:
        plain, found = _BRACKETED.subn("", plain)
    return {name.replace("\\", "") for name in _CLASS_OR_ID.findall(plain)}


def _rules(sheet: str) -> Iterator[tuple[str, str | None]]:
    """Cut a sheet into what stands before a brace and what stands in it, None without one."""
    depth = 0
    before: list[str] = []
    inside: list[str] = []
    for token in _tokens(sheet):
        if token == "}":
            depth -= 1
            if depth == 0:
                yield "".join(before).strip(), "".join(inside)
                before, inside = [], []
                continue
        if depth:
            inside.append(token)
        elif token == ";":
            yield "".join(before).strip(), None
            before = []
        elif token != "{":
            before.append(token)
        depth += token == "{"


def _split(text: str, mark: str) -> Iterator[str]:
    """Cut at a mark that stands in no bracket."""
    depth = 0
    part: list[str] = []
    for token in _tokens(text):
        depth += (token in "([") - (token in ")]")
        if token == mark and depth == 0:
            yield "".join(part).strip()
            part = []
        else:
            part.append(token)
    yield "".join(part).strip()


def _tokens(text: str) -> Iterable[str]:
    return (token for token in _TOKEN.findall(text) if not token.startswith("/*"))


def _bare(body: str) -> str:
    return re.sub(r"\s*\n\s*", " ", "".join(_tokens(body))).strip()
