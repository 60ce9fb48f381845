"""A matrix, completed

The atoms are all matrices uvᵀ of rank one: a set without end, that answers one question, the
leading pair of singular vectors of the gradient. A photograph of which two pixels in five are known
is completed from them; nothing of the size of all atoms is ever formed.
"""

import numpy as np
from scipy.sparse import coo_array
from sklearn.datasets import load_sample_image

from pursuit import MatrixEntries, RankOne, plots, solve

rng = np.random.default_rng(0)
photograph = load_sample_image("china.jpg")[::3, ::3].mean(axis=2) / 255
m, n = photograph.shape
i, j = np.nonzero(rng.random((m, n)) < 2 / 5)
known = coo_array((photograph[i, j], (i, j)), shape=(m, n))

result = solve(MatrixEntries(known), RankOne(m, n), "orthogonal", max_atoms=12)
print(result)
completed = result.x.toarray()  # it is kept as factors
error = np.linalg.norm(completed - photograph) / np.linalg.norm(photograph)
print(f"relative error over all pixels, known or not: {error:.3f}")

figure = plots.figure(10, 2.9)
left, middle, right = figure.subplots(1, 3)
seen = np.where(known.toarray() > 0, photograph, np.nan)
for ax, picture, title in (
    (left, seen, "known"),
    (middle, completed, f"rank {len(result.support)}"),
    (right, photograph, "truth"),
):
    ax.imshow(picture, cmap="gray", vmin=0, vmax=1)
    ax.set_title(title)
    ax.set_axis_off()
figure.savefig("completion.png", dpi=130)
