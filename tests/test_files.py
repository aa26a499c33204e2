"""Where the package finds its data."""

import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder


def test_a_missing_folder_is_an_error() -> None:
    with pytest.raises(LabError, match=r"The folder 'nothing' is missing. Install the package"):
        data_folder("nothing")
