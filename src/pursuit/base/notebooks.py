"""Whether somebody reads along in a notebook."""

from __future__ import annotations

import sys


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook (or of a console that shows as one does).

    IPython is asked only where it is loaded already: importing it costs half a second.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
