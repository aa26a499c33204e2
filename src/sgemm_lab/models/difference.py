"""When two measured speeds differ: the one rule of pages, boxes and predictions."""

NO_DIFFERENCE = 0.02
"""Two speeds whose ratio is closer to 1 than this count as equal.

The middle half of a kernel's samples spans about 1 % (``STEADY``), and medians of two runs on
different days differ by as much again.
"""


def differ(ratio: float) -> bool:
    """Say whether two speeds with this ratio count as different."""
    return abs(ratio - 1) >= NO_DIFFERENCE


def comparison(ratio: float) -> str:
    """Return "4.6 % faster", "4.5 % slower" or "no difference" for a ratio of two speeds."""
    if not differ(ratio):
        return "no difference"
    return f"{100 * abs(ratio - 1):.1f} % {'faster' if ratio > 1 else 'slower'}"
