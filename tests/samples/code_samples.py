"""Main loops with round numbers, for the tests of the machine code."""

from sgemm_lab.widgets.machine_code import Code, Line

_MULTIPLY: Line = {
    "text": "FFMA R1, R2, R3, R1",
    "kind": "multiply",
    "fresh": [1, 2, 3],
    "extra": 1,
}
_KEPT: Line = {
    "text": "FFMA R5, R2, R3.reuse, R5", "kind": "multiply", "fresh": [2, 5], "kept": [3],
}  # fmt: skip
MIXED: Code = {
    "name": "mixed",
    "lines": [
        {"text": "LDS.128 R8, [R20]", "kind": "shared"},
        {"text": "@P0 BRA `(.L_x_1)", "kind": "branch"},
        {"text": "LDG.E R60, desc[UR8][R72.64]", "kind": "global", "always": False},
        _MULTIPLY,
        _KEPT,
        _MULTIPLY,
        _KEPT,
        {"text": "STS [R73], R60", "kind": "store"},
        {"text": "BAR.SYNC.DEFER_BLOCKING 0x0", "kind": "barrier"},
        {"text": "IADD3 R1, R1, 0x1, RZ", "kind": "other"},
        {"text": "@P1 BRA `(.L_x_0)", "kind": "branch"},
    ],
    "steps": 10,
    "multiply_adds": 4,
    "extra": 2,
    "stalls": {"shared memory": 1.5, "global memory": 0.25},
    "note": "NVIDIA H200, 4096³",
}
CLEAN: Code = {
    "name": "clean",
    "lines": [_KEPT] * 9 + [{"text": "BRA P0, `(.L_x_0)", "kind": "branch"}],
    "steps": 10,
    "multiply_adds": 9,
    "extra": 0,
}
LONG: Code = {
    "name": "long",
    "lines": [_MULTIPLY, _KEPT] * 600,
    "steps": 1200,
    "multiply_adds": 1200,
    "extra": 600,
}
SHORT: Code = {**CLEAN, "name": "short", "lines": [_KEPT], "steps": 1, "multiply_adds": 1}
CODES = [MIXED, CLEAN, LONG, SHORT]
