"""Values that stand in a sentence: ``{value}`speed["split"]` GFLOP/s``.

What stands between the backticks is what stands between the braces of an f-string: an expression
of Python, and after a colon how to write it. The page's kernel works it out where the sentence
stands, so a value may use whatever the cells above it made.
"""

import ast
from types import SimpleNamespace
from typing import Any

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from sgemm_lab.errors import LabError
from sgemm_lab.text import with_spaced_percents

ROLE = "value"

_logger = logging.getLogger(__name__)


def replacement_field(content: str) -> str:
    """Return the braces of an f-string that write a value: ``{x:.0%}``.

    A value that does not say how it is written is written as the book writes values
    (:func:`sgemm_lab.lab.written`).
    """
    content = " ".join(content.split())
    field = f"{{{content}}}"
    if '"""' in content or "'''" in content:
        raise LabError(f"A value has no triple quotes: {{{ROLE}}}`{content}`.")
    try:
        parsed = ast.parse(f"f'''{field}'''", mode="eval").body
    except SyntaxError:
        parsed = None
    parts = parsed.values if isinstance(parsed, ast.JoinedStr) else []
    if len(parts) != 1 or not isinstance(parts[0], ast.FormattedValue):
        raise LabError(
            f"This is no expression of Python: {{{ROLE}}}`{content}`. "
            "Write what would stand between the braces of an f-string."
        )
    plain = parts[0].format_spec is None and parts[0].conversion == -1
    return f"{{lab.written({content})}}" if plain else field


class ValueRole(SphinxRole):
    """``{value}``: what an expression comes to on this page, read as a line of Markdown."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Work the expression out in the page's kernel; a failure is a warning of the build."""
        try:
            text = self._worked_out(f'f"""{replacement_field(self.text)}"""')
        except LabError as problem:
            _logger.warning(str(problem), location=self.get_location())
            return [nodes.literal(text=self.text)], []
        return self.inliner.parse(text, self.lineno, SimpleNamespace(), self.inliner.parent)

    def _worked_out(self, code: str) -> str:
        client = self.inliner.document["nb_renderer"].renderer.nb_client
        try:
            outputs: list[dict[str, Any]] = client.eval_variable(code)
        except NotImplementedError:
            raise LabError("This page runs no cells, so it has no values.") from None
        for output in outputs:
            if output["output_type"] == "error":
                raise LabError(f"{{{ROLE}}}`{self.text}`: {output['ename']}: {output['evalue']}")
            if output["output_type"] == "execute_result":
                value = str(ast.literal_eval(output["data"]["text/plain"]))
                return with_spaced_percents(value).replace(" %", "\N{NO-BREAK SPACE}%")
        raise LabError(f"{{{ROLE}}}`{self.text}` came to nothing.")
