"""The words of the book: tables of symbols, and links from every page to what they mean."""

import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from sgemm_lab.book.collecting import gathered
from sgemm_lab.kernel import load_kernels

_PARTS_OF_NAME = re.compile(r"(\w+)(?:\.[xyz]|\(\))?")
_LISTING = re.compile(r'(?<=<pre tabindex="0">).*?(?=</pre>)', re.DOTALL)
_TOKEN = re.compile(r'<span class="\w+">(\w{2,})</span>')
_KNOWN_BEFORE = "sgemm_lab_symbols_written"


def constants_table() -> str:
    """Return the tile constants of all kernels as a Markdown table: meanings and values."""
    labels: dict[str, dict[str, None]] = {}
    values: dict[str, set[int]] = {}
    for kernel in load_kernels(variants=True):
        for constant in kernel.constants:
            labels.setdefault(constant.name, {})[constant.label] = None
            values.setdefault(constant.name, set()).add(constant.value)
    rows = [
        f"| `{name}` | {'; '.join(labels[name])} | {', '.join(map(str, sorted(values[name])))} |"
        for name in labels
    ]
    return "\n".join(["| constant | what it is | in the kernels |", "| --- | --- | --- |", *rows])


class SymbolsDirective(SphinxDirective):
    """``{symbols}``: a table whose first column holds symbols that other pages link to."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the table and give every symbol an anchor."""
        return self._with_anchors(list(self.content))

    def _with_anchors(self, lines: list[str]) -> list[nodes.Node]:
        whole = nodes.Element()
        self.state.nested_parse(StringList(lines), self.content_offset, whole)
        for row in whole.findall(nodes.row):
            for literal in row.children[0].findall(nodes.literal):
                if name := _name(literal):
                    literal["ids"].append(_anchor(name))
                    literal["symbols"] = name
        return whole.children


class ConstantsDirective(SymbolsDirective):
    """``{constants}``: the table of all tile constants, from the kernels' own labels."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Write the table and give every constant an anchor."""
        return self._with_anchors(constants_table().splitlines())


def pages_to_link_again(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return every page, if symbols came or went since the pages were written."""
    now = _symbols(env)
    before = env.__dict__.get(_KNOWN_BEFORE)
    env.__dict__[_KNOWN_BEFORE] = now
    return [] if now == before else list(env.found_docs)


def link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link symbols to their meaning, once in each listing and in each section of the text."""
    addresses = {
        name: f"{app.builder.get_relative_uri(page, home)}#{_anchor(name)}"
        for name, home in _symbols(app.env).items()
        if home != page
    }
    _link_text(doctree, addresses)
    for raw in doctree.findall(nodes.raw):
        if 'class="lab-source"' in raw.astext():
            raw[:] = [nodes.Text(with_links(raw.astext(), addresses))]


def with_links(listing: str, addresses: dict[str, str]) -> str:
    """Return a listing's HTML with each symbol linked where it first stands."""
    seen: set[str] = set()

    def linked(token: re.Match[str]) -> str:
        name = token[1]
        if name not in addresses or name in seen:
            return token[0]
        seen.add(name)
        return f'<a class="lab-symbol" href="{addresses[name]}">{token[0]}</a>'

    return _LISTING.sub(lambda source: _TOKEN.sub(linked, source[0]), listing)


def _link_text(doctree: nodes.document, addresses: dict[str, str]) -> None:
    seen: set[tuple[int, str]] = set()
    for literal in list(doctree.findall(nodes.literal)):
        name, section = _name(literal), _section(literal)
        if name not in addresses or section is None or (id(section), name) in seen:
            continue
        seen.add((id(section), name))
        link = nodes.reference("", "", refuri=addresses[name], internal=True)
        link["classes"].append("lab-symbol")
        literal.replace_self(link)
        link.append(literal)


def _section(node: nodes.Element) -> nodes.section | None:
    """Return the section in which a text stands; None for text of headings and links."""
    place = node.parent
    while place is not None and not isinstance(place, (nodes.title, nodes.reference)):
        if isinstance(place, nodes.section):
            return place
        place = place.parent
    return None


def _symbols(env: BuildEnvironment) -> dict[str, str]:
    return {name: page for page, names in gathered(env, "symbols").items() for name in names}


def _name(literal: nodes.literal) -> str:
    found = _PARTS_OF_NAME.fullmatch(literal.astext())
    return found[1] if found else ""


def _anchor(name: str) -> str:
    return f"symbol-{name}"
