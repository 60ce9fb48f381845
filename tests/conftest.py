"""Settings that every test shares."""

from hypothesis import settings

# The same examples on every machine and in every run; how long one takes is no verdict.
settings.register_profile("pursuit", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("pursuit")
