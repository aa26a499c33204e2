"""Exceptions of the package, with plain messages for the reader."""


class LabError(Exception):
    """An error that the reader can fix. The message says what is wrong and what to do."""

    def _render_traceback_(self) -> list[str]:
        """Make IPython show the message without a traceback."""
        return [str(self)]


class MissingToolError(LabError):
    """This machine lacks a tool, such as a GPU, CuPy or the compiler."""
