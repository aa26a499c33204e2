"""Kernel dispatch by size: candidates, search, table lookup, and the product."""
