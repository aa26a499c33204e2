"""The rules of the hardware that Python and JavaScript both know, side by side."""
