"""Codes in the data of a plot of speed over error; ``error_points.ts`` reads them."""

LOST = -1
"""Instead of an error: elements of C are NaN or infinite."""
TIMED = -1
"""Instead of K: the error of the timed product, known for the first input distribution."""
