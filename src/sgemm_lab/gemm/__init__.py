"""The product within a stated error: which way is the fastest that keeps it, and that way run."""
