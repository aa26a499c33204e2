"""The measuring process without a GPU: it answers each request with a reason."""

import pytest

from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.multi_gpu.cases import Request
from sgemm_lab.multi_gpu.measure import LINK, PRODUCT, TIMELINE
from sgemm_lab.multi_gpu.recorder import run_worker
from sgemm_lab.records.multi_gpu import Case, LinkCase

CASE = Case(2, 64, 64, 64, "rows", "cublas", "copy")


@pytest.mark.skipif(has_gpu(), reason="what is said where there is no GPU")
def test_every_request_is_answered() -> None:
    requests = [
        Request(PRODUCT, CASE),
        Request(TIMELINE, CASE, overlap=False),
        Request(LINK, LinkCase("copy", "one way", 2, 4096)),
    ]
    answers = list(run_worker(requests, 4, 60.0))
    assert len(answers) == 3
    assert all("has no NVIDIA GPU" in answer["refused"] for answer in answers)
