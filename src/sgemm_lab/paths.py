"""Where kernels and records live: at the top of a checkout, or inside the installed wheel."""

from pathlib import Path

from sgemm_lab.errors import LabError

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parent.parent


def data_folder(name: str) -> Path:
    """Return the folder called ``name``: "kernels", "records", or in a checkout "chapters".

    Raises:
        LabError: the folder is neither in the wheel nor in a checkout.
    """
    candidates = (_PACKAGE / "shipped" / name, _CHECKOUT / name)
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise LabError(
        f"The folder '{name}' is missing. Install the package again, "
        "or run from a complete checkout of the book."
    )
