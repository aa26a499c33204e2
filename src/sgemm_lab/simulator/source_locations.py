"""LocationTracker in the CUDA source, as the PTX names them with ``.loc``."""

import re
from dataclasses import dataclass

from sgemm_lab.simulator.sentences import sentence

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_CUDAS_HEADER = re.compile(
    r"__nv_nvrtc\w*\.h|cuda_\w+\.hpp|mma\.hpp|sm_\w+\.hpp?|cooperative_groups\.h|sync\.h|helpers\.h|"
    r"(?:coalesced_)?(?:reduce|scan)\.h|partitioning\.h|async\.h|info\.h|memory\.h|functional\.h|"
    r"(?:cp_async|memcpy|dispatch_memcpy|completion|mbarrier|barrier|is_local_smem|try_get)_\w+\.h|"
    r"pipeline|barrier|atomic"
)
"""CUDA's own headers: their lines are reported as the line that calls them."""


@dataclass(frozen=True)
class Location:
    """A place in the CUDA source. ``line`` is 1-based, 0 where the PTX names none."""

    file: str
    line: int

    def __str__(self) -> str:
        if not self.line:
            return sentence("place.unknown")
        return sentence("place.line", file=self.file, line=self.line)


class LocationTracker:
    """Follows the places that a kernel's text names, line by line."""

    def __init__(self, files: dict[int, str]) -> None:
        self.files = files
        self.here = Location("", 0)
        """The last place."""
        self._callers: dict[tuple[str, ...], Location] = {}
        """Where the reader finds a place: by file, line and column, as the PTX has it."""

    def read(self, line: str) -> None:
        """Take in a line that begins with ``.loc``."""
        loc = _LOC.match(line)
        # Line 0 marks code the compiler made up: it stays with the line before.
        if loc is not None and int(loc[2]) > 0:
            self.here = self._place(loc)

    def _place(self, loc: "re.Match[str]") -> Location:
        """The line that the reader knows: of CUDA's own headers the one that calls them."""
        here, caller = loc.group(1, 2, 3), loc.group(4, 5, 6)
        name = self.files.get(int(here[0]), "source")
        place = Location(name, int(here[1]))
        if caller[0] is not None and _CUDAS_HEADER.fullmatch(name):
            known = Location(self.files.get(int(caller[0]), "source"), int(caller[1]))
            place = self._callers.get(caller, known)
        self._callers[here] = place
        return place


def file_table(ptx: str) -> dict[int, str]:
    """Return the names of a module's source files, without their folders, by number."""
    # NVRTC puts the table at the end of the module.
    return {int(number): name.rsplit("/", 1)[-1] for number, name in _FILE.findall(ptx)}


def place_after(text: str, files: dict[int, str]) -> Location:
    """Return the place that some text of a kernel or a function ends at."""
    places = LocationTracker(files)
    for line in text.splitlines():
        if line.lstrip().startswith((".loc ", ".loc\t")):
            places.read(line.lstrip())
    return places.here
