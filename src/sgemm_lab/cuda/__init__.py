"""NVIDIA's tools around a kernel: compiler, launch, machine code, counters."""
