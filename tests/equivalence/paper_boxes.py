"""The four boxes of the paper in plain NumPy, transcribed line by line from its LaTeX.

Nothing here comes from the library: f is a gradient function, A the rows of `atoms` together with
their negatives, and the draws z_t ~ 𝒵 are row numbers given in advance. Each function returns all
iterates x_0, x_1, …, x_T as rows.
"""

import numpy as np


def lmo(atoms, d):
    """argmin over z in A ∪ −A of ⟨d, z⟩."""
    symmetric = np.concatenate([atoms, -atoms])
    return symmetric[np.argmin(symmetric @ d)]


def generalized_matching_pursuit(gradient, atoms, L, x0, T):
    """Algorithm 1."""
    x = [np.array(x0, dtype=float)]  # 1: init x_0 ∈ lin(A)
    for t in range(T):  # 2: for t = 0 … T
        g = gradient(x[t])
        z = lmo(atoms, g)  # 3: find z_t := LMO_A(∇f(x_t))
        x.append(x[t] - (g @ z) / (L * np.linalg.norm(z) ** 2) * z)  # 4
    return np.array(x)


def affine_invariant_matching_pursuit(gradient, atoms, L_A, x0, T):
    """Algorithm 2."""
    x = [np.array(x0, dtype=float)]  # 1: init x_0 ∈ lin(A)
    for t in range(T):  # 2: for t = 0 … T
        g = gradient(x[t])
        z = lmo(atoms, g)  # 3: find z_t := LMO_A(∇f(x_t))
        x.append(x[t] - (g @ z) / L_A * z)  # 4
    return np.array(x)


def solve_for_alpha(beta, L, nu):
    """The positive α with α² L ν = β + α."""
    return max(np.roots([L * nu, -1.0, -beta]))


def accelerated_random_pursuit(gradient, atoms, L, nu, x0, draws):
    """Algorithm 3; `nu` is ν′."""
    x, v, beta = [np.array(x0, dtype=float)], np.array(x0, dtype=float), 0.0  # 1: init
    for t, drawn in enumerate(draws):  # 2: for t = 0, 1 … T
        alpha = solve_for_alpha(beta, L, nu)  # 3: solve α_{t+1}² L ν′ = β_t + α_{t+1}
        beta = beta + alpha  # 4: β_{t+1} := β_t + α_{t+1}
        tau = alpha / beta  # 5: τ_t := α_{t+1} / β_{t+1}
        y = (1 - tau) * x[t] + tau * v  # 6: compute y_t
        z = atoms[drawn]  # 7: sample z_t ~ 𝒵
        c = gradient(y) @ z
        x.append(y - c / (L * np.linalg.norm(z) ** 2) * z)  # 8
        v = v - alpha * c * z  # 9
    return np.array(x)


def accelerated_matching_pursuit(gradient, atoms, L, nu, x0, draws):
    """Algorithm 4."""
    x, v, beta = [np.array(x0, dtype=float)], np.array(x0, dtype=float), 0.0  # 1: init
    for t, drawn in enumerate(draws):  # 2: for t = 0, 1 … T
        alpha = solve_for_alpha(beta, L, nu)  # 3: solve α_{t+1}² L ν = β_t + α_{t+1}
        beta = beta + alpha  # 4: β_{t+1} := β_t + α_{t+1}
        tau = alpha / beta  # 5: τ_t := α_{t+1} / β_{t+1}
        y = (1 - tau) * x[t] + tau * v  # 6: compute y_t
        g = gradient(y)
        z = lmo(atoms, g)  # 7: find z_t := LMO_A(∇f(y_t))
        x.append(y - (g @ z) / (L * np.linalg.norm(z) ** 2) * z)  # 8
        z_tilde = atoms[drawn]  # 9: sample z̃_t ~ 𝒵
        v = v - alpha * (g @ z_tilde) * z_tilde  # 10
    return np.array(x)
