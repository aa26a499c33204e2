"""Records of measurements: the schema (``gpu_record``, ``schema``) and the files (``store``)."""
