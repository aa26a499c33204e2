"""The command ``sgemm-lab``."""
