"""The lines of the paper's boxes: directions, steps, line search, advances, momentum."""
