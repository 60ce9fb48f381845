"""Acceleration without parameters."""
