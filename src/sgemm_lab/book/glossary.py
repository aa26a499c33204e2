"""The words of the book: what they mean, and links from every page to it.

A page carries the meanings of the words that it links, so ``glossary.ts`` explains them where they
stand. Without scripts the links lead to the page of the words.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.domains.std import Glossary
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from sgemm_lab.book.collecting import gathered
from sgemm_lab.catalogue import load_kernels

_PARTS_OF_NAME = re.compile(r"(\w+)(?:\.[xyz]|\(\))?")
_LISTING = re.compile(r'(?<=<pre tabindex="0">).*?(?=</pre>)', re.DOTALL)
_TOKEN = re.compile(r'<span class="\w+">(\w{2,})</span>')
_TERM_IN_OUTPUT = re.compile(r'<span data-term="([^"]+)">(.*?)</span>')
_KNOWN_BEFORE = "sgemm_lab_symbols_written"
_EVERYDAY = {"line", "race", "spread", "median", "fragment", "limit", "bound"}
"""Words that the prose uses in their everyday sense too: a link could explain the wrong one."""
_UNRANKED = "nofollow"
"""Tells search engines that a link of code says nothing by its words, such as ``more``."""
_QUIET = (
    nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.math, nodes.caption,
    nodes.raw,
)  # fmt: skip
"""Where no term is linked: headings, links, code."""


@dataclass(frozen=True)
class Word:
    """A symbol or a term: its anchor on the page of the words, and what it means there."""

    page: str
    anchor: str
    meaning: str


def constants_table() -> str:
    """Return the tile constants of all kernels as a Markdown table: meanings and values."""
    labels: dict[str, dict[str, None]] = {}
    values: dict[str, set[int]] = {}
    for kernel in load_kernels(variants=True):
        for constant in kernel.constants:
            labels.setdefault(constant.name, {})[constant.label] = None
            values.setdefault(constant.name, set()).add(constant.value)
    rows = [
        f"| `{name}` | {'; '.join(_shortest(labels[name]))} "
        f"| {', '.join(map(str, sorted(values[name])))} |"
        for name in labels
    ]
    return "\n".join(["| constant | what it is | in the kernels |", "| --- | --- | --- |", *rows])


def _shortest(labels: Iterable[str]) -> list[str]:
    """Return labels without those that only add a clause to another: "rows, ..." or "rows: ..."."""
    labels = list(labels)
    return [
        one
        for one in labels
        if not any(one.startswith((f"{other}:", f"{other},")) for other in labels)
    ]


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
                    literal["symbols"] = [(name, _anchor(name), _plain(row.children[1]))]
        return whole.children


class ConstantsDirective(SymbolsDirective):
    """``{constants}``: the table of all tile constants, from the kernels' own labels."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Write the table and give every constant an anchor."""
        return self._with_anchors(constants_table().splitlines())


class TermsDirective(Glossary):
    """``{glossary}``, whose terms other pages explain where they stand."""

    def run(self) -> list[nodes.Node]:
        """Parse the terms and keep what each one means."""
        found = super().run()
        for item in (item for node in found for item in node.findall(nodes.definition_list_item)):
            meaning = _plain(item.children[-1])
            for term in item.findall(nodes.term):
                names = term.astext().split(", ")
                term["words"] = [(name, term["ids"][0], meaning) for name in names]
        return found


def pages_to_link_again(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return every page, if a word or its meaning changed since the pages were written.

    Else the pages with terms: Sphinx's search forgets a term that it has not just written.
    """
    now = {**_words(env, "symbols"), **_words(env, "words")}
    before = env.__dict__.get(_KNOWN_BEFORE)
    env.__dict__[_KNOWN_BEFORE] = now
    return list(gathered(env, "words") if now == before else env.found_docs)


def link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link words to their meaning: symbols once in each listing and section, terms once a page."""

    def address(word: Word) -> str:
        return f"{app.builder.get_relative_uri(page, word.page)}#{word.anchor}"

    symbols, terms = (
        {name: word for name, word in _words(app.env, kind).items() if word.page != page}
        for kind in ("symbols", "words")
    )
    addresses = {name: address(word) for name, word in symbols.items()}
    used = _link_text(doctree, addresses)
    for raw in doctree.findall(nodes.raw):
        if 'class="lab-source"' in raw.astext():
            text = with_links(raw.astext(), addresses)
            used |= set(re.findall(r'data-word="symbol-(\w+)"', text))
            raw[:] = [nodes.Text(text)]
    term_addresses = {name: address(word) for name, word in terms.items()}
    named = _link_terms(doctree, term_addresses)
    named |= _link_outputs(doctree, {n: a for n, a in term_addresses.items() if n not in named})
    linked = [(n, symbols[n]) for n in sorted(used)] + [(n, terms[n]) for n in sorted(named)]
    if linked:
        doctree.append(_meanings_data({word.anchor: (name, word.meaning) for name, word in linked}))


def _meanings_data(meanings: dict[str, tuple[str, str]]) -> nodes.raw:
    """Return the meanings of a page's words, by anchor, for the script that shows them."""
    text = json.dumps(meanings, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return nodes.raw(
        "", f'<script type="application/json" id="lab-words">{text}</script>', format="html"
    )


def with_links(listing: str, addresses: dict[str, str]) -> str:
    """Return a listing's HTML with each symbol linked where it first stands."""
    seen: set[str] = set()

    def linked(token: re.Match[str]) -> str:
        name = token[1]
        if name not in addresses or name in seen:
            return token[0]
        seen.add(name)
        attributes = f'data-word="{_anchor(name)}" rel="{_UNRANKED}"'
        return f'<a class="lab-symbol" href="{addresses[name]}" {attributes}>{token[0]}</a>'

    return _LISTING.sub(lambda source: _TOKEN.sub(linked, source[0]), listing)


def _link_text(doctree: nodes.document, addresses: dict[str, str]) -> set[str]:
    """Link symbols once in each section; return those that were linked."""
    seen: set[tuple[int, str]] = set()
    for literal in list(doctree.findall(nodes.literal)):
        name, section = _name(literal), _section(literal)
        if name not in addresses or section is None or (id(section), name) in seen:
            continue
        seen.add((id(section), name))
        link = _reference(addresses[name], "lab-symbol")
        link["rel"] = _UNRANKED
        literal.replace_self(link)
        link.append(literal)
    return {name for _, name in seen}


def _link_terms(doctree: nodes.document, addresses: dict[str, str]) -> set[str]:
    """Link each term where a page first uses it; return those that were linked.

    Where the page itself explains a term first, in **bold**, nothing is linked.
    """
    names = {name.lower(): name for name in addresses if name not in _EVERYDAY}
    if not names:
        return set()
    # The longest first: "bank conflict" before "bank". A term may stand in the plural.
    longest = sorted(map(re.escape, names), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(longest)})(e?s)?(?![\w-])", re.IGNORECASE)
    waiting, linked = dict(names), set()
    for text in [text for text in doctree.findall(nodes.Text) if _may_link(text)]:
        bold = isinstance(text.parent, nodes.strong)
        parts: list[nodes.Node] = []
        end = 0
        for found in pattern.finditer(text):
            name = waiting.get(found[1].lower())
            if name is None:
                continue
            # With it go the other names of the same term, such as GFLOP/s beside TFLOP/s.
            waiting = {k: n for k, n in waiting.items() if addresses[n] != addresses[name]}
            if bold:
                continue
            link = _reference(addresses[name], "lab-word")
            link.append(nodes.Text(found[0]))
            parts += [nodes.Text(text[end : found.start()]), link]
            end = found.end()
            linked.add(name)
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])
    return linked


def _link_outputs(doctree: nodes.document, addresses: dict[str, str]) -> set[str]:
    """Link the terms that outputs of cells mark, once a page; return those that were linked."""
    linked: set[str] = set()

    def anchor(found: re.Match[str]) -> str:
        name, text = found.groups()
        if name not in addresses or name in linked:
            return text
        linked.add(name)
        return f'<a class="lab-word" href="{addresses[name]}">{text}</a>'

    for raw in doctree.findall(nodes.raw):
        if "data-term" in raw.astext():
            raw[:] = [nodes.Text(_TERM_IN_OUTPUT.sub(anchor, raw.astext()))]
    return linked


def _may_link(text: nodes.Text) -> bool:
    """Whether a text is prose: in a paragraph of a section, outside headings, links and code."""
    place, in_paragraph = text.parent, False
    while place is not None and not isinstance(place, nodes.document):
        if isinstance(place, _QUIET):
            return False
        in_paragraph = in_paragraph or isinstance(place, nodes.paragraph)
        place = place.parent
    return in_paragraph


def _reference(address: str, kind: str) -> nodes.reference:
    link = nodes.reference("", "", refuri=address, internal=True)
    link["classes"].append(kind)
    return link


def _plain(node: nodes.Node) -> str:
    """Return a text without its markup; formulas in letters."""
    text = " ".join(node.astext().split())
    text = text.replace(r"\cdot", "·").replace("10^9", "10⁹").replace("10^{12}", "10¹²")
    return text[:1].upper() + text[1:]


def _section(node: nodes.Element) -> nodes.section | None:
    """Return the section in which a text stands; None for text of headings and links."""
    place = node.parent
    while place is not None and not isinstance(place, (nodes.title, nodes.reference)):
        if isinstance(place, nodes.section):
            return place
        place = place.parent
    return None


def _words(env: BuildEnvironment, kind: str) -> dict[str, Word]:
    """Return the symbols or the terms ("words") of all pages by name."""
    return {
        name: Word(page, anchor, meaning)
        for page, nodes_of_page in gathered(env, kind).items()
        for found in nodes_of_page
        for name, anchor, meaning in found
    }


def _name(literal: nodes.literal) -> str:
    found = _PARTS_OF_NAME.fullmatch(literal.astext())
    return found[1] if found else ""


def _anchor(name: str) -> str:
    return f"symbol-{name}"
