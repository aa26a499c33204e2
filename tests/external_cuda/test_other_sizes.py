"""What a kernel shows only at sizes, and with values of a template, that its host code leads to."""

import pytest
from file_reports import checked, program_text
from turns import TAKES_TURNS

pytestmark = TAKES_TURNS

SECTIONS = {
    part.split("\n")[0].split(":")[0]: part.partition("\n")[2]
    for part in program_text("host_functions").split("// == ")[1:]
}


@pytest.mark.parametrize(
    ("name", "right", "wrong", "said"),
    [
        ("window", "t < 50", "t < 49", "nothing has written"),
        ("warps", "of[8]", "of[4]", "which has 4 elements"),
        ("tail", "s[threadIdx.x] = i < n ? x[i] : 0", "if (i < n) s[threadIdx.x] = x[i]",
         "nothing has written"),
        ("spin", "atomicAdd(&flag[0], 0)", "flag[0]", "this loop never ends"),
        ("pairs", "n % 8 == 0", "any length", "not at a multiple of 8 bytes"),
        ("batch", "C[b * stride", "C[b * stride / 2", "nothing orders the two"),
    ],
)  # fmt: skip
def test_a_warning_of_the_wrong_kernel_alone(name: str, right: str, wrong: str, said: str) -> None:
    text = SECTIONS[name]
    assert right in text
    found = checked(text.replace(right, wrong)).findings
    assert any(said in one.message for one in found), found
    assert not checked(text).findings


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("cases", "reversed<96>"), ("enumeration", "halves<(Part)0, 64>"), ("macro", "negated<32>"),
        ("tiles", "tiles"), ("instance", "chosen<unsigned int>"),
    ],
)  # fmt: skip
def test_host_code_is_followed_to_its_launch(name: str, kernel: str) -> None:
    report = checked(SECTIONS[name])
    assert report.kernel == kernel
    assert "Launch, told by line" in " ".join(report.said)
    assert not report.findings
