"""What a GPU does in how much time, and the runs that are kept of it."""
