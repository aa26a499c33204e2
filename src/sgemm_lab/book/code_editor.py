"""The place where a reader writes code, as HTML: what the scripts in ``panel/`` bring to life."""

from html import escape

_KEYS = "Ctrl+Enter runs it. Tab leaves the editor."


def code_field(label: str, text: str, first: int, shown: int) -> str:
    """Return a text area with line numbers, and under it the keys that it knows.

    A screen reader calls it ``label``. ``shown`` lines are seen at once; a longer text scrolls.
    """
    lines = text.count("\n") + 1
    numbers = "\n".join(str(number) for number in range(first, first + lines))
    # The line break after the opening tag is not a part of what stands in a text area.
    return (
        f'<div class="lab-bench-code" style="--lines:{shown}">'
        f'<pre class="lab-bench-numbers" aria-hidden="true">{numbers}</pre>'
        f'<textarea data-lab="editor" aria-label="{escape(label)}" spellcheck="false" '
        'autocapitalize="off" autocomplete="off" wrap="off" '
        f'rows="{lines}">\n{escape(text, quote=False)}</textarea></div>'
        f'<p class="lab-bench-keys" data-lab="keys">{_KEYS}</p>'
    )
