"""What kernels ask of memory, counted by simulation."""
