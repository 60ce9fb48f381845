"""Settings that every test shares."""

import os

# Tests run in one process a core; BLAS threads of their own would only fight each other.
# It is read when NumPy is loaded, which happens after this file.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

# The same examples on every machine and in every run; how long one takes is no verdict.
settings.register_profile("pursuit", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("pursuit")
