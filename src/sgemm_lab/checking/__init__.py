"""Is a kernel right? One judge, on a GPU or by simulation."""
