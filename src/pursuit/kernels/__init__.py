"""Everything that is compiled; it imports `base` alone."""
