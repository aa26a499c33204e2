"""The exceptions of the package: plain sentences for the reader."""


class LabError(Exception):
    """Something the reader can mend. The message says what is wrong and what to do."""

    def _render_traceback_(self) -> list[str]:
        """Tell IPython to show the sentence alone, without the way it came."""
        return [str(self)]


class MissingToolError(LabError):
    """This machine lacks a GPU, CuPy or the compiler; on another one the same would work."""
