"""``python tools/fuzz``: run random calls, one case again, or the faults that must be found."""

import os
import sys
from pathlib import Path

# Problems are small: threads of BLAS would only fight each other. Read when NumPy is imported.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if __name__ == "__main__":  # a process that this one starts imports this file under another name
    from fuzz.run import main

    sys.exit(main())
