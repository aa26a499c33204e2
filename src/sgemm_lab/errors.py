"""The one exception of the package: a plain sentence for the reader."""


class LabError(Exception):
    """Something the reader can mend. The message says what is wrong and what to do."""
