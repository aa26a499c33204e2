"""Rows of a scoreboard with round numbers: two GPUs, three sizes, some things not known."""

from sgemm_lab.widgets.scoreboard import Row


def _row(kernel: str, gpu: str, n: int, gflops: float, share: float) -> Row:
    return {
        "kernel": kernel, "gpu": gpu, "size": (n, n, n), "gflops": gflops, "of_cublas": share,
        "arithmetic": "fp32", "of_bound": share / 2, "bound_by": "issue slots",
        "date": "2026-11-20",
    }  # fmt: skip


ROWS: list[Row] = [
    _row(kernel, gpu, n, speed * factor * n / 4096, share)
    for gpu, factor in (("NVIDIA H200", 1.0), ("Tesla T4", 0.125))
    for n in (1024, 2048, 4096)
    for kernel, speed, share in (
        ("naive", 5000.0, 0.1), ("tiled:TILE=16", 8000.0, 0.16), ("stream_k", 55_000.0, 1.1),
    )
]  # fmt: skip
ROWS[2]["error"], ROWS[2]["of_cublas_error"] = 1.25e-6, 0.8
ROWS[5]["arithmetic"] = "3xtf32"
del ROWS[0]["of_bound"], ROWS[0]["bound_by"]
