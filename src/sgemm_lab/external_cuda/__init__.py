"""CUDA files that nobody here wrote: their device code, their kernels, how to launch one."""
