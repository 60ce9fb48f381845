"""What a rule remembers from one iteration to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Memory:
    """The attributes of a subclass, a dataclass of numbers and arrays, are saved with the run.

    A rule hands one to `Run.remember` when it starts, and changes it as it runs.
    """

    def saved(self) -> dict[str, Any]:
        """Numbers and arrays by name: all that `restore` needs."""
        return dict(vars(self))

    def refreshed(self) -> None:
        """The points of the run were computed anew: what was kept beside them has to be, too."""

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take back what `saved` gave, perhaps in another process."""
        vars(self).update({name: saved[name] for name in vars(self)})
