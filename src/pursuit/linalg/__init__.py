"""Linear algebra that several rooms share: a growing factor, conjugate gradients, a line search."""
