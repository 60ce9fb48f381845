"""Your own atoms, in twenty lines

All boxes: the value of an atom is one on an interval, zero elsewhere, divided by its norm. There
are n(n + 1)/2 of them, and none is stored: a set of atoms is a function that answers which one
is the most correlated with d. Everything else (methods, paths, stopping rules) follows.
"""

import numpy as np

from pursuit import Oracle, SquaredDistance, plots, solve
from pursuit.testing import check_atoms

n = 400
begin, end = np.triu_indices(n + 1, 1)


def box(k):
    atom = np.zeros(n)
    atom[begin[k] : end[k]] = 1 / np.sqrt(end[k] - begin[k])
    return atom


def best(d):  # argmax |<d, z>| over all boxes, from running sums
    sums = np.concatenate([[0.0], np.cumsum(d)])
    return box(np.argmax(abs(sums[end] - sums[begin]) / np.sqrt(end - begin)))


boxes = Oracle(best, n, radius=1.0, sample=lambda rng: box(rng.integers(len(begin))))
check_atoms(boxes)  # one call says whether the rest of the library can rely on it

rng = np.random.default_rng(2)
truth = np.repeat([0.0, 2.0, 2.0, -1.0, 0.0, 1.0, 3.0, 0.0], n // 8)
signal = truth + 0.5 * rng.standard_normal(n)
result = solve(SquaredDistance(signal), boxes, "orthogonal", n_nonzero=4)
print(result)

ax = plots.shown(8, 3.6).subplots()
ax.plot(signal, color="#bbbbbb", linewidth=0.8, label="signal")
ax.plot(truth, label="truth", **plots.look(1))
ax.plot(result.x, label="four boxes", **plots.look(0))
ax.legend()
ax.figure.savefig("own_atoms.png", dpi=130)
