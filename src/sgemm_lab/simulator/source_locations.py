"""Places in the CUDA source, as the PTX names them with ``.loc``."""

from dataclasses import dataclass

from sgemm_lab.text import sentences

sentence = sentences(__file__)


@dataclass(frozen=True)
class Location:
    """A place in the CUDA source. ``line`` is 1-based, 0 where the PTX names none."""

    file: str
    line: int

    def __str__(self) -> str:
        if not self.line:
            return sentence("place.unknown")
        return sentence("place.line", file=self.file, line=self.line)
