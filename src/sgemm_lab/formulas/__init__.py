"""Formulas of the hardware, in Python and JavaScript."""

from sgemm_lab.text import sentences

sentence = sentences(__file__)
