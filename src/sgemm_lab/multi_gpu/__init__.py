"""The product on several GPUs: plans as data, engine, model, and what was recorded."""
