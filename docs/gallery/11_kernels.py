"""Functions as atoms: kernel regression

Pursuit in a Hilbert space that is not ℝⁿ. A reproducing kernel Hilbert space is spanned by its
kernel functions k(·, u), of norm one here; f(h) = ½ Σ (h(x_i) − y_i)² + λ/2 ‖h‖² is minimized
over them, one kernel function at a time. A function h = Σ α_i k(·, x_i) is stored as α, for which
the inner product is αᵀKα: `InnerProduct(gram=K)`. The oracle returns the kernel function with the
largest inner product with the gradient. With all atoms the minimizer is kernel ridge regression; a
few of them come close.
"""

import matplotlib.pyplot as plt
import numpy as np

from pursuit import InnerProduct, Oracle, Quadratic

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 80))
y = np.sin(9 * x**2) + 0.2 * rng.standard_normal(80)
ridge = 0.5
K = np.exp(-np.abs(x[:, None] - x) / 0.2)  # k(u, v) = exp(−|u − v|/0.2), so that ‖k(·, u)‖ = 1

f = Quadratic(K @ K + ridge * K, K @ y)  # in α, up to a constant


def steepest_kernel(d):
    """Return k(·, x_i) with the largest |⟨∇f, k(·, x_i)⟩|; d holds these products."""
    return np.eye(1, len(d), np.argmax(np.abs(d)))[0]


space = InnerProduct(gram=K)
atoms = Oracle(steepest_kernel, shape=len(x), radius=1.0)
closed_form = np.linalg.solve(K + ridge * np.eye(len(x)), y)  # kernel ridge regression

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(x, y, ".", color="gray", label="samples")
grid = np.linspace(0, 1, 400)
kernel = np.exp(-np.abs(grid[:, None] - x) / 0.2)
ax.plot(grid, kernel @ closed_form, color="black", label="kernel ridge regression, 80 atoms")
for count in (5, 15):
    result = space.solve(f, atoms, "orthogonal", max_iter=count)
    difference = np.abs(K @ (result.x - closed_form))
    print(f"{count} kernel functions: mean distance to all 80 of them {difference.mean():.3f}")
    ax.plot(grid, kernel @ result.x, label=f"orthogonal pursuit, {count} atoms")
ax.set(xlabel="x", ylabel="h(x)")
ax.legend(frameon=False)
figure.savefig("kernels.png", dpi=110)
