"""Strassen's product: plans, GPU and NumPy engines, error and time models."""
