"""Data out of the documented range are refused by every public function of the applications."""

import numpy as np
import pytest

from pursuit import InputError, decompose, learn, learn_templates
from pursuit.estimators import (
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    PenalisedClassifier,
    PenalisedRegressor,
    PursuitClassifier,
    PursuitClassifierCV,
    PursuitCoder,
    PursuitDictionary,
    PursuitRegressor,
    PursuitRegressorCV,
    orthogonal_mp,
    orthogonal_mp_gram,
)
from pursuit.learning.denoising import denoise
from pursuit.unmixing import estimate_number, h2nmf, pick, spa, unmix, vca

X = np.random.default_rng(0).standard_normal((60, 8))
Y = X[:, 2] - X[:, 5]
LABELS = Y > 0
PIXELS = np.abs(X)

# `far` multiplies the argument that is out of range by a factor; `same` has the type of that alone.
CALLS = {
    "learn signals": lambda far, same: learn(far(X), 8, 2),
    "learn start": lambda far, same: learn(same(X), 8, 2, start=far(X[:8])),
    "learn_templates signal": lambda far, same: learn_templates(far(X[:, 0]), 1, 5),
    "denoise pixels": lambda far, same: denoise(far(PIXELS)),
    "decompose signal": lambda far, same: decompose(far(X.T.ravel()), 100.0),
    "unmix pixels": lambda far, same: unmix(far(PIXELS), same(PIXELS[:3])),
    "unmix endmembers": lambda far, same: unmix(same(PIXELS), far(PIXELS[:3])),
    "pick pixels": lambda far, same: pick(far(PIXELS), 3),
    "h2nmf pixels": lambda far, same: h2nmf(far(PIXELS), 3),
    "spa pixels": lambda far, same: spa(far(PIXELS), 3),
    "vca pixels": lambda far, same: vca(far(PIXELS), 3),
    "estimate_number pixels": lambda far, same: estimate_number(far(PIXELS)),
    "orthogonal_mp X": lambda far, same: orthogonal_mp(far(X), same(Y)),
    "orthogonal_mp y": lambda far, same: orthogonal_mp(same(X), far(Y)),
    "orthogonal_mp_gram Gram": lambda far, same: orthogonal_mp_gram(far(X.T @ X), same(X.T @ Y)),
    "orthogonal_mp_gram Xy": lambda far, same: orthogonal_mp_gram(same(X.T @ X), far(X.T @ Y)),
    "PursuitCoder dictionary": lambda far, same: PursuitCoder(far(X)).fit(same(X)),
    "PursuitCoder X": lambda far, same: PursuitCoder(same(X)).fit(same(X)).transform(far(X)),
    "PursuitDictionary X": lambda far, same: PursuitDictionary(8).fit(far(X)),
    "PursuitDictionary dict_init": lambda far, same: PursuitDictionary(dict_init=far(X[:8])).fit(
        same(X)
    ),
}
REGRESSORS = (
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    PenalisedRegressor,
    PursuitRegressor,
    PursuitRegressorCV,
)
for model in REGRESSORS:
    CALLS[f"{model.__name__} X"] = lambda far, same, model=model: model().fit(far(X), same(Y))
    CALLS[f"{model.__name__} y"] = lambda far, same, model=model: model().fit(same(X), far(Y))
    CALLS[f"{model.__name__}.predict X"] = lambda far, same, model=model: (
        model().fit(same(X), same(Y)).predict(far(X))
    )
for model in (PenalisedClassifier, PursuitClassifier, PursuitClassifierCV):
    CALLS[f"{model.__name__} X"] = lambda far, same, model=model: model().fit(far(X), LABELS)
    CALLS[f"{model.__name__}.predict X"] = lambda far, same, model=model: (
        model().fit(same(X), LABELS).predict(far(X))
    )


@pytest.mark.parametrize("exponent", [1, -1])
@pytest.mark.parametrize(("dtype", "factor"), [(np.float64, 1e80), (np.float32, 1e20)])
@pytest.mark.parametrize("call", CALLS)
def test_data_out_of_range_are_refused_with_their_name(call, dtype, factor, exponent):
    with pytest.raises(InputError) as error:
        CALLS[call](
            lambda data: (data * factor**exponent).astype(dtype), lambda data: data.astype(dtype)
        )
    name = call.split()[-1]
    message = str(error.value)
    assert message.startswith(f"{name} must be zero or have its largest magnitude from 1e-")
    assert message.endswith("; rescale the data")
    assert "\n" not in message
