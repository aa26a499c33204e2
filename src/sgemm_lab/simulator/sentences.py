"""The sentences of the simulator: ``sentences.json``."""

from pathlib import Path
from typing import Any

from sgemm_lab.text import filled, templates

TEMPLATES = templates(Path(__file__).with_suffix(".json"))


def sentence(key: str, **values: Any) -> str:
    """Return the sentence called ``key``, with ``values`` where it names them."""
    return filled(TEMPLATES[key], values)
