"""Genes, along a path

Which few of 3,000 genes tell two diseases apart? A logistic loss over `Coordinates`, one gene at a
time, all coefficients corrected after each: the run keeps the whole path, from one gene to twenty.
Expressions are simulated in groups that go together, as genes do; six of the genes matter.
"""

import numpy as np

from pursuit import Coordinates, Logistic, plots, solve

rng = np.random.default_rng(4)
patients, genes = 160, 3000
groups = rng.standard_normal((patients, genes // 10))
expressions = np.repeat(groups, 10, axis=1) * 0.6 + 0.8 * rng.standard_normal((patients, genes))
matter = rng.choice(genes, 6, replace=False)
odds = expressions[:, matter] @ np.array([2.0, -2.0, 1.5, -1.5, 1.0, 1.0])
sick = rng.random(patients) < 1 / (1 + np.exp(-2 * odds))
train, test = np.arange(100), np.arange(100, patients)

loss = Logistic(expressions[train], sick[train], l2=1.0)
result = solve(loss, Coordinates(genes), "orthogonal", n_nonzero=20)
print(result)

sizes = result.path.sizes
coefficients = np.array([result.path.x(int(size)) for size in sizes])
right = ((expressions[test] @ coefficients.T > 0) == sick[test][:, None]).mean(axis=0)

figure = plots.shown(9, 5)
above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
for gene in np.flatnonzero(coefficients[-1]):
    known = gene in matter
    style = {"color": plots.COLOURS[1] if known else "#aaaaaa", "linewidth": 2 if known else 1}
    above.plot(sizes, coefficients[:, gene], **style)
above.set(ylabel="coefficient", title="orange: genes that matter", xlim=(1, 20))
below.plot(sizes, 100 * right, **plots.look(0))
below.set(xlabel="genes in use", ylabel="% right, unseen", xticks=range(1, 21))
figure.savefig("genes.png", dpi=130)
