"""Records of measurements: dataclasses and files."""
