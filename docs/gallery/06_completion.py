"""A matrix, completed

The atoms are all matrices uvᵀ of rank one: a set without end, that answers one question, the
leading pair of singular vectors of the gradient. A photograph of which two pixels in five are known
is completed from them; nothing of the size of all atoms is ever formed. Plain pursuit, in many
small steps, tells more of the pixels that are not known than a few corrected atoms do.
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

plain = solve(MatrixEntries(known), RankOne(m, n), "matching-pursuit", max_iter=100)
print(plain)
few = solve(MatrixEntries(known), RankOne(m, n), "orthogonal", n_nonzero=12)
completed = plain.x.toarray()  # it is kept as factors


def error(picture):
    return np.linalg.norm(picture - photograph) / np.linalg.norm(photograph)


print(f"relative error over all pixels, known or not: {error(completed):.3f}")
print(f"with twelve atoms, all coefficients corrected: {error(few.x.toarray()):.3f}")

figure = plots.shown(10, 2.9)
left, middle, right = figure.subplots(1, 3)
seen = np.where(known.toarray() > 0, photograph, np.nan)
for ax, picture, title in (
    (left, seen, "known"),
    (middle, completed, f"{plain.iterations} atoms"),
    (right, photograph, "truth"),
):
    ax.imshow(picture, cmap="gray", vmin=0, vmax=1)
    ax.set_title(title)
    ax.set_axis_off()
figure.savefig("completion.png", dpi=130)
