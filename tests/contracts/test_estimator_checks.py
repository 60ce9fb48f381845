"""Every estimator keeps scikit-learn's contract, without an exception."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import estimators

MADE_WITHOUT_ARGUMENTS = [
    getattr(estimators, name)() for name in sorted(estimators.__all__) if name[0].isupper()
]


# What scikit-learn says about its own checks (a skipped one, a deprecated name) is not ours.
@pytest.mark.filterwarnings("default")
@parametrize_with_checks(MADE_WITHOUT_ARGUMENTS)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)
