"""``matmul``: dispatch by size, algorithms within an error bound, and Strassen's product."""
