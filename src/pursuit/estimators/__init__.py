"""Estimators for scikit-learn: coders, dictionaries, pursuit and penalised linear models.

Needs the extra `sklearn`; importing this module does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pursuit.base.errors import MissingExtra

if TYPE_CHECKING:
    from pursuit.estimators.coders import PursuitCoder as PursuitCoder
    from pursuit.estimators.coders import PursuitDictionary as PursuitDictionary
    from pursuit.estimators.functions import orthogonal_mp as orthogonal_mp
    from pursuit.estimators.functions import orthogonal_mp_gram as orthogonal_mp_gram
    from pursuit.estimators.greedy import PursuitClassifier as PursuitClassifier
    from pursuit.estimators.greedy import PursuitRegressor as PursuitRegressor
    from pursuit.estimators.orthogonal import OrthogonalMatchingPursuit as OrthogonalMatchingPursuit
    from pursuit.estimators.orthogonal import (
        OrthogonalMatchingPursuitCV as OrthogonalMatchingPursuitCV,
    )
    from pursuit.estimators.penalised import PenalisedClassifier as PenalisedClassifier
    from pursuit.estimators.penalised import PenalisedRegressor as PenalisedRegressor
    from pursuit.estimators.selected import PursuitClassifierCV as PursuitClassifierCV
    from pursuit.estimators.selected import PursuitRegressorCV as PursuitRegressorCV

_HOME = {
    "OrthogonalMatchingPursuit": "orthogonal",
    "OrthogonalMatchingPursuitCV": "orthogonal",
    "PenalisedClassifier": "penalised",
    "PenalisedRegressor": "penalised",
    "PursuitClassifier": "greedy",
    "PursuitClassifierCV": "selected",
    "PursuitCoder": "coders",
    "PursuitDictionary": "coders",
    "PursuitRegressor": "greedy",
    "PursuitRegressorCV": "selected",
    "orthogonal_mp": "functions",
    "orthogonal_mp_gram": "functions",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        import_module("sklearn")
    except ImportError:
        raise MissingExtra("sklearn", f"{__name__}.{name}") from None
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
