"""What ``compute-sanitizer`` finds on a GPU, and ``check`` without one, on the same kernels."""

from statistics import median

from sgemm_lab.lab.output import Output, table
from sgemm_lab.records.sanitizer import SANITIZER_RUNS

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
CHECK = "check"


def sanitizer() -> Output:
    """List how many bugs each tool found, by kind of bug, and the median time that it took."""
    [run] = SANITIZER_RUNS.load_all()
    bugs: dict[str, list[list[bool]]] = {}
    for kernel in run.kernels:
        found = [kernel.ran(tool).found for tool in TOOLS]
        row = [*found, any(found), kernel.ran(CHECK).found]
        bugs.setdefault(kernel.bug, []).append(row)
    bugs["all"] = [row for rows in bugs.values() for row in rows]
    rows = [
        [bug, *map(str, (len(found), *map(sum, zip(*found, strict=True))))]
        for bug, found in bugs.items()
    ]
    seconds = [median(one.ran(tool).seconds for one in run.kernels) for tool in (*TOOLS, CHECK)]
    times = [f"{one:.1f} s" for one in seconds]
    rows.append(["median time", "", *times[:-1], "", times[-1]])
    note = (
        f"compute-sanitizer {run.version} on {run.gpu.name}, {run.side_by_side} at a time, stopped "
        f"after {run.limit} s, without the time to compile; {run.date[:10]}. any: of the four. "
        "check: the whole command, in time of one processor, compiling included."
    )
    heads = ["bug", "kernels", *TOOLS, "any", CHECK]
    return table(heads, rows, note=note)
