"""A fuzzer: seeded calls of the library, each confirmed by a recomputation or refused in words.

A case is named by an area, a seed and a number, and can be run again by that name alone. Every
call that it makes ends in an answer that `oracle` confirms, or in an `InputError` of one sentence
that names an argument. Anything else is a finding: another exception, a warning, a hang, a number
that is wrong. ``python -m fuzz --help``, with this folder's parent on the path, says the rest.
"""

import os

# Small problems in several processes: threads of BLAS would only fight each other. Read when NumPy
# is loaded, which comes after this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
