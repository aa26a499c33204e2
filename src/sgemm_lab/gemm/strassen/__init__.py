"""Strassen's product: seven products of quadrants for eight, and the additions that this costs."""
