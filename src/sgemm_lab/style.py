"""The look of every picture of the book: one hue per memory level, one Matplotlib style.

Still pictures are drawn with the light-mode colours and saved as SVG. Every such colour stands for
a CSS variable (:data:`CSS_COLOURS`); pages with a dark mode replace the colour by the variable.
Widgets use the same variables through :func:`theme_css`.

The hues of the memory levels stay apart for readers with protan, deutan or tritan vision, and all
colours reach a contrast of 4.5:1 on the background and on the surface, light and dark. Tests hold
both.
"""

import hashlib
import io
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure

# CSS variable → (light, dark). The light value doubles as the sentinel in SVG: no two may be equal.
THEME_COLOURS: dict[str, tuple[str, str]] = {
    "--lab-fg": ("#1f2328", "#e6e9ee"),
    "--lab-muted": ("#57606a", "#a3acb8"),
    "--lab-grid": ("#e1e4e8", "#2d3239"),
    "--lab-bg": ("#ffffff", "#121212"),
    "--lab-surface": ("#f4f5f7", "#1f2227"),
    "--lab-line": ("#7d8590", "#7b8490"),
    "--lab-focus": ("#0550ae", "#79b8ff"),
    "--lab-dram": ("#163f94", "#6a9bf7"),
    "--lab-l2": ("#127a55", "#7fe0b4"),
    "--lab-shared": ("#b94000", "#f7902f"),
    "--lab-register": ("#8f1068", "#f9b8ef"),
    "--lab-kernel": ("#3b4450", "#cfd6df"),
    "--lab-cublas": ("#755a00", "#dfb52e"),
    "--lab-predicted": ("#6a5fb0", "#b0a6ff"),
    "--lab-measured": ("#24292f", "#f0f3f6"),
}

# What the book's renderer swaps: colour in the SVG → name of the CSS variable.
CSS_COLOURS: dict[str, str] = {light: name for name, (light, _) in THEME_COLOURS.items()}

FOREGROUND = THEME_COLOURS["--lab-fg"][0]
MUTED = THEME_COLOURS["--lab-muted"][0]
GRID = THEME_COLOURS["--lab-grid"][0]
BACKGROUND = THEME_COLOURS["--lab-bg"][0]
LINE = THEME_COLOURS["--lab-line"][0]
KERNEL = THEME_COLOURS["--lab-kernel"][0]
CUBLAS = THEME_COLOURS["--lab-cublas"][0]
PREDICTED = THEME_COLOURS["--lab-predicted"][0]
MEASURED = THEME_COLOURS["--lab-measured"][0]

# One hue per memory level. L1 and shared memory are the same SRAM of an SM, so they share a hue.
LEVEL_COLOURS: dict[str, str] = {
    "dram": THEME_COLOURS["--lab-dram"][0],
    "l2": THEME_COLOURS["--lab-l2"][0],
    "l1": THEME_COLOURS["--lab-shared"][0],
    "shared": THEME_COLOURS["--lab-shared"][0],
    "register": THEME_COLOURS["--lab-register"][0],
}

FONT_STACK = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
)

# Matplotlib measures text in DejaVu Sans, which is wide: text shown in a system font never outgrows
# the room that it was given.
RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sgemm-lab",
    "font.family": ["DejaVu Sans"],
    "font.size": 10.0,
    "text.color": FOREGROUND,
    "figure.dpi": 72.0,  # SVG counts in points: what is laid out is what is saved
    "figure.facecolor": "none",
    "figure.edgecolor": "none",
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": FOREGROUND,
    "axes.titlesize": 11.0,
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(
        color=[KERNEL, CUBLAS, PREDICTED, LEVEL_COLOURS["dram"], LEVEL_COLOURS["shared"]]
    ),
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "lines.linewidth": 2.0,
    "lines.markersize": 7.0,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.minor.visible": False,
    "ytick.minor.visible": False,
    "legend.frameon": False,
    "patch.edgecolor": BACKGROUND,
    "hatch.color": LINE,
}

PHONE_WIDTH = 3.7
"""Inches of a picture for a phone: the 358 px that one of 390 px leaves, at 96 px an inch."""

NARROW = "sgemm-lab-narrow"
"""Where the metadata of an output holds the same picture drawn for a phone, as SVG."""

_GROUP = re.compile(r'^( *)<g(?: id="[^"]*")?>\n(.*?)^\1</g>\n', re.MULTILINE | re.DOTALL)
_MARK = re.compile(r'<path id="([^"]+)" d="([^"]*)"')
_MARKS = re.compile(
    r'(?:<use xlink:href="(#[^"]+)" x="[^"]+" y="[^"]+"( style="[^"]*")?/>\s*)'
    r'(?:<use xlink:href="\1" x="[^"]+" y="[^"]+"\2/>\s*)*'
)
_MARK_LIST = re.compile(r"<defs>\s*(?:<path [^>]*/>\s*)+</defs>\s*")
_picture_numbers = itertools.count(1)


@contextmanager
def book_style() -> Iterator[None]:
    """Draw in the book's style inside a ``with`` block and leave Matplotlib as it was after it."""
    with matplotlib.rc_context(RC):
        yield


def figure(width: float = 7.0, height: float = 4.0) -> Figure:
    """Return an empty figure in the book's style, in inches, unknown to pyplot.

    Axes take their style when they are made, so make them inside :func:`book_style`.
    """
    with book_style():
        return Figure(figsize=(width, height), layout="constrained")


def theme_css(scope: str) -> str:
    """Return CSS that gives elements matching ``scope`` the book's colours in light and dark.

    Dark is, in this order: the book's theme (``html[data-theme]``), JupyterLab
    (``body[data-jp-theme-light]``), Colab (``html[theme]``), VS Code (``body.vscode-dark``), and
    otherwise the system's preference. ``scope`` must match elements inside
    ``body``, or ``body`` itself.
    """
    light = "".join(f"{name}:{pair[0]};" for name, pair in THEME_COLOURS.items())
    dark = "".join(f"{name}:{pair[1]};" for name, pair in THEME_COLOURS.items())
    hosts = ("html[data-theme=dark]", "html[theme=dark]")
    bodies = ("[data-jp-theme-light=false]", ".vscode-dark")
    if scope == "body":
        selectors = [*(f"{host} body" for host in hosts), *(f"body{body}" for body in bodies)]
    else:
        selectors = [*(f"{host} {scope}" for host in hosts), *(f"body{b} {scope}" for b in bodies)]
    default_html = "html:not([data-theme]):not([theme])"
    default_body = "body:not([data-jp-theme-light]):not([class*=vscode-])"
    undecided = f"{default_html} {default_body}" + ("" if scope == "body" else f" {scope}")
    return (
        f"{scope}{{color-scheme:light;{light}}}\n"
        f"{','.join(selectors)}{{color-scheme:dark;{dark}}}\n"
        f"@media (prefers-color-scheme:dark){{{undecided}{{color-scheme:dark;{dark}}}}}\n"
    )


def svg(fig: Figure, title: str, description: str) -> str:
    """Return ``fig`` as inline SVG that scales to its column and can be read aloud.

    The title is its name, a few words, and the description its conclusion, a sentence or two. The
    result has ``role="img"``, a ``<title>`` and a ``<desc>``, ids that no other picture of the
    process has, system fonts, and no XML prologue or style sheet that could reach the page.
    """
    buffer = io.StringIO()
    with book_style():
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    drawing = buffer.getvalue()
    view_box = drawing.split('viewBox="')[1].partition('"')[0]
    width = float(view_box.split()[2])
    inside = drawing[drawing.index(">", drawing.index("<svg")) + 1 : drawing.rindex("</svg>")]
    # Matplotlib adds `* {stroke-linejoin: …}`, which inline would restyle the whole page.
    unwanted = r"<defs>\s*<style.*?</style>\s*</defs>|<metadata>.*?</metadata>|<!--.*?-->"
    inside = re.sub(unwanted, "", inside, flags=re.DOTALL)
    # Groups that only have a name change nothing in the picture.
    while (bare := _GROUP.sub(r"\2", inside)) != inside:
        inside = bare
    inside = _drawn_marks(inside)
    inside = re.sub(r"'DejaVu Sans'(?:, *[^;\"]+)?", FONT_STACK, inside)
    inside = re.sub(r"\n\s*\n+", "\n", inside).strip()

    digest = hashlib.sha256((title + inside).encode()).hexdigest()[:8]
    prefix = f"lab-{digest}-{next(_picture_numbers)}"
    inside = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', inside)
    inside = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", inside)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{view_box}" role="img" aria-labelledby="{prefix}-title" '
        f'aria-describedby="{prefix}-desc" class="lab-still" '
        f'style="width:100%;max-width:{width * 4 / 3:.0f}px;height:auto;'
        f'stroke-linejoin:round;stroke-linecap:butt">\n'
        f'<title id="{prefix}-title">{escape(title)}</title>\n'
        f'<desc id="{prefix}-desc">{escape(description)}</desc>\n'
        f"{inside}\n</svg>"
    )


def _drawn_marks(drawing: str) -> str:
    """Return a drawing whose marks are paths, one for each run of equal ones.

    Matplotlib refers to a mark wherever it stands, and a browser copies it for each reference.
    """
    marks = dict(_MARK.findall(drawing))

    def drawn(run: re.Match[str]) -> str:
        mark = _relative(marks[run[1][1:]])
        places = re.findall(r'x="([^"]+)" y="([^"]+)"', run[0])
        path = "".join(f"M{float(x):.2f} {float(y):.2f}{mark}" for x, y in places)
        return f'<path d="{path}"{run[2] or ""}/>\n'

    return _MARK_LIST.sub("", _MARKS.sub(drawn, drawing))


def _relative(path: str) -> str:
    """Return a path whose steps count from where each begins."""
    x = y = 0.0
    steps = []
    for letter, numbers in re.findall(r"([MLCQz])([^MLCQz]*)", path):
        values = [float(one) for one in numbers.split()]
        pairs = list(zip(values[::2], values[1::2], strict=True))
        steps.append(letter.lower() + " ".join(f"{a - x:.3g} {b - y:.3g}" for a, b in pairs))
        x, y = pairs[-1] if pairs else (x, y)
    return "".join(steps)
