"""The product on several GPUs: a plan as data, and what runs it, foretells it and records it."""
