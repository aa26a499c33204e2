"""What GPUs measured: the form of a record, and the files."""
