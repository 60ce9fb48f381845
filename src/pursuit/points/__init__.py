"""A point x, and what f says there."""
