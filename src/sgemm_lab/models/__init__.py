"""Models from records and counts: demand, bounds and roofs."""
