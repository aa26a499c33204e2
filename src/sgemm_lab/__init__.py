"""Kernels, measurements and widgets of an interactive book on fast matrix multiplication."""

__version__ = "0.1.0"
