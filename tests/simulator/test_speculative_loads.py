"""Loads that the compiler moves before their condition: who does not use one does not read."""

import pytest
from test_global_races import found

TREE = """__shared__ int s[64]; int t = threadIdx.x, m = 5; s[t] = t; __syncthreads();
for (int h = 32; h; h /= 2) {{ if (t < h) s[t] += s[t + h]; if (h > 1) __syncthreads(); }}
if ({condition}) m = s[0];
y[64 * blockIdx.x + t] = m;"""

OWN = """__shared__ float s[64]; int t = threadIdx.x; float v = t < 32 ? 0.0f : 1.5f; s[t] = v;
bool own = {condition};
y[64 * blockIdx.x + t] = own ? (int)s[t ^ 32] : (int)v;"""

BOTH = """__shared__ int s[64]; int t = threadIdx.x; s[t] = z[t];
int m = 9;
if ({condition} && s[t ^ 33] > 4) m = 2 * s[t ^ 33];
y[64 * blockIdx.x + t] = m;"""

GLOBAL = """int t = threadIdx.x, m = 3; if (t == 7) y[7] = 2;
if ({condition}) m = y[7];
z[64 * blockIdx.x + t] = m;"""


@pytest.mark.parametrize(
    ("body", "alone", "others"),
    [
        (TREE, "t == 0", "t < 2"),
        (OWN, "t > 63", "t % 2 == 0"),
        (BOTH, "t > 63", "t == 1"),
        (GLOBAL, "t == 7", "t == 8"),
    ],
)
def test_only_those_race_that_use_the_value(body: str, alone: str, others: str) -> None:
    assert found(body.format(condition=alone)) == []
    assert " reads " in found(body.format(condition=others))[0]
