"""Formulas of the hardware, in Python and JavaScript."""
