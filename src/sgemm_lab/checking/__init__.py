"""Is a kernel right? One judge, on a GPU or by simulation."""

from sgemm_lab.text import sentences

sentence = sentences(__file__)
