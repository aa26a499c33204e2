"""Timings, microbenchmarks and errors on a GPU, and the records of runs."""
