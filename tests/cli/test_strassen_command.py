"""The command ``strassen record`` on a machine without a GPU."""

import pytest

from sgemm_lab.cli.main import main


def test_a_size_that_the_record_lacks_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strassen", "record", "--measure", "77"]) == 2
    assert "The record has no size 77³" in capsys.readouterr().err
