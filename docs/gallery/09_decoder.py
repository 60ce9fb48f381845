"""A decoder's codes, by pursuit

A sparse autoencoder's decoder is a dictionary. Its encoder makes codes in one look; here, for want
of a trained one, they are the k largest correlations. Pursuit looks again after every choice, and
explains more with as many atoms: forward only, as matching-pursuit autoencoders do, or correcting
all coefficients, none of them negative. Decoder and activations are simulated; `pursuit.torch`
takes tensors.
"""

import numpy as np

from pursuit import Cone, encode, plots

rng = np.random.default_rng(0)
features, width, active = 1024, 96, 10
topics = rng.standard_normal((64, width))
decoder = topics[rng.integers(64, size=features)] + 0.9 * rng.standard_normal((features, width))
decoder /= np.linalg.norm(decoder, axis=1, keepdims=True)
shares = np.zeros((2000, features))
for row in shares:
    row[rng.choice(features, active, replace=False)] = rng.gamma(2.0, 1.0, active)
activations = shares @ decoder + 0.05 * rng.standard_normal((2000, width))


def explained(fit):
    return 1 - np.sum((activations - fit) ** 2) / np.sum(activations**2)


sizes = [1, 2, 4, 8, 12, 16, 24, 32]
once, forward, corrected = [], [], []
looks = np.maximum(activations @ decoder.T, 0)
order = np.argsort(-looks, axis=1)
for k in sizes:
    code = np.zeros_like(looks)
    np.put_along_axis(code, order[:, :k], np.take_along_axis(looks, order[:, :k], 1), 1)
    fit = code @ decoder
    fit *= np.sum(fit * activations) / np.sum(fit**2)  # the best that one factor can do
    once.append(explained(fit))
    step = encode(activations, Cone(decoder), "mp", forward_only=True, max_iter=k)
    forward.append(explained(step @ decoder))
    corrected.append(explained(encode(activations, Cone(decoder), n_nonzero=k) @ decoder))
print(
    f"explained with {sizes[4]} atoms: {once[4]:.3f} in one look, {forward[4]:.3f} forward only, "
    f"{corrected[4]:.3f} corrected"
)

ax = plots.axes()
labels = ("one look", "matching pursuit, forward only", "orthogonal, non-negative")
for k, (curve, label) in enumerate(zip((once, forward, corrected), labels, strict=True)):
    ax.plot(sizes, curve, marker=plots.MARKERS[k], label=label, **plots.look(k))
ax.set(xlabel="atoms a signal", ylabel="share explained", ylim=(0, 1.02))
ax.legend()
ax.figure.savefig("decoder.png", dpi=130)
