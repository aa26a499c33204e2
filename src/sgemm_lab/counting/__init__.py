"""What kernels ask of memory, counted by simulation."""

from sgemm_lab.text import sentences

sentence = sentences(__file__)
