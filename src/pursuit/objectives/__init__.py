"""Objectives: smooth convex functions, a family a file."""
