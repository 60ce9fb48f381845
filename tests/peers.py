"""What tests ask of other libraries, in the words of each of their versions."""

import sklearn

VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))


def logistic_penalty(ratio):
    """The arguments for LogisticRegression's ℓ1, ℓ2 or, between them, both.

    Until 1.7 it needs the name as well, and passes over a ratio that comes alone.
    """
    if VERSION >= (1, 8):
        return {"l1_ratio": ratio}
    named = {1: {"penalty": "l1"}, 0: {"penalty": "l2"}}
    return named.get(ratio, {"penalty": "elasticnet", "l1_ratio": ratio})
