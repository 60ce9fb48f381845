"""One problem: the driver of `solve`, its ends and its results."""
