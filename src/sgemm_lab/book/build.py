"""Build the book: ``python -m sgemm_lab.book.build`` with further options of ``jupyter-book``."""

import sys
from collections.abc import Sequence


def main(options: Sequence[str] | None = None) -> int:
    """Build the book of the current folder; return the exit status.

    A failure ends with what Sphinx printed about it, without the traceback of Jupyter Book.
    """
    from jupyter_book.cli.main import main as jupyter_book  # type: ignore[import-untyped]

    given = sys.argv[1:] if options is None else options
    command = ["build", ".", "-W", "-n", "--keep-going", *given]
    try:
        jupyter_book(command, standalone_mode=False)
    except RuntimeError as error:
        # Jupyter Book raises this from the error that Sphinx has reported.
        if error.__cause__ is None:
            print(error, file=sys.stderr)
        print("The book was not built. The cause is above.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
