"""What follows from records and counts: roofs and bounds."""
