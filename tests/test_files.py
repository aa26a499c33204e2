"""Where the package finds its data."""

import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder


@pytest.mark.parametrize(("name", "file"), [("kernels", "020_naive.cu"), ("records", "*.json")])
def test_kernels_and_records_are_found(name: str, file: str) -> None:
    assert list(data_folder(name).glob(file))


def test_a_missing_folder_is_an_error() -> None:
    with pytest.raises(LabError, match=r"The folder 'nothing' is missing. Install the package"):
        data_folder("nothing")
