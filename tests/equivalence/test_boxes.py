"""The methods are the boxes of the paper: every iterate agrees with a plain transcription."""

import numpy as np
import pytest
from equivalence import paper_boxes as boxes

import pursuit
from pursuit import methods
from pursuit.atoms.sampling import Stream

T = 500
SEEDS = range(3)
FORMS = {"gram": 2**28, "ambient": 0}


class Case:
    """A quadratic over atoms of norms 0.2 … 4, started off the origin."""

    def __init__(self, kind, seed):
        rng = np.random.default_rng(seed)
        d, n, r = 15, 40, 12
        # Atoms that span a proper subspace: lin(A) is part of what the boxes are about.
        self.rows = rng.standard_normal((n, r)) @ rng.standard_normal((r, d))
        norms = np.geomspace(0.2, 4, n)
        self.rows *= (rng.permutation(norms) / np.linalg.norm(self.rows, axis=1))[:, None]
        self.x0 = rng.standard_normal(n) @ self.rows / n
        self.draws = rng.integers(0, n, T)
        b, root = rng.standard_normal(d), rng.standard_normal((d + 5, d))
        if kind == "distance":
            self.f, H, self.gradient = pursuit.SquaredDistance(b), np.eye(d), lambda x: x - b
        elif kind == "least squares":
            m = rng.standard_normal(d + 5)
            self.f, H = pursuit.LeastSquares(root, m), root.T @ root
            self.gradient = lambda x: root.T @ (root @ x - m)
        else:
            H = root.T @ root / d
            self.f, self.gradient = pursuit.Quadratic(H, b), lambda x: H @ x - b
        self.L = np.linalg.eigvalsh(H)[-1]
        self.L_A = max(z @ H @ z for z in self.rows)
        self.nu = r * np.linalg.norm(self.rows, axis=1).max() ** 2

    def iterates(self, method, limit):
        """x_0 … x_T of the library, in the scale of the atoms as given."""
        seen = []
        pursuit.solve(
            self.f,
            pursuit.Dictionary(self.rows),
            method,
            x0=self.x0,
            max_iter=T,
            tol=0,
            every=1,
            unit_atoms=False,
            gram_bytes=limit,
            callback=lambda shown: seen.append(shown.x),
        )
        return np.array(seen)


@pytest.fixture(params=["distance", "least squares", "quadratic"])
def kind(request):
    return request.param


@pytest.fixture(params=FORMS)
def limit(request):
    return FORMS[request.param]


def assert_same(ours, printed):
    assert ours.shape == printed.shape
    largest = np.linalg.norm(printed, axis=1).max()
    apart = np.linalg.norm(ours - printed, axis=1).max()
    assert apart <= 1e-10 * largest


@pytest.mark.parametrize("seed", SEEDS)
class TestEveryIterateIsThatOfTheBox:
    def test_algorithm_1(self, kind, seed, limit):
        case = Case(kind, seed)
        printed = boxes.generalized_matching_pursuit(case.gradient, case.rows, case.L, case.x0, T)
        assert_same(case.iterates("matching-pursuit", limit), printed)

    def test_algorithm_2(self, kind, seed, limit):
        case = Case(kind, seed)
        printed = boxes.affine_invariant_matching_pursuit(
            case.gradient, case.rows, case.L_A, case.x0, T
        )
        assert_same(case.iterates("affine-invariant", limit), printed)

    def test_algorithm_3(self, kind, seed, limit):
        case = Case(kind, seed)
        # Any number serves as ν′ here: both sides get the same one.
        printed = boxes.accelerated_random_pursuit(
            case.gradient, case.rows, case.L, case.nu, case.x0, case.draws
        )
        replayed = methods.accelerated_random(nu=case.nu, direction=pursuit.Replay(case.draws))
        assert_same(case.iterates(replayed, limit), printed)

    def test_algorithm_4(self, kind, seed, limit):
        case = Case(kind, seed)
        printed = boxes.accelerated_matching_pursuit(
            case.gradient, case.rows, case.L, case.nu, case.x0, case.draws
        )
        replayed = methods.accelerated_matching_pursuit(probe=pursuit.Replay(case.draws))
        assert_same(case.iterates(replayed, limit), printed)


def test_a_run_draws_what_its_seed_says_and_replaying_the_draws_gives_the_same_run():
    case = Case("distance", 7)
    atoms = pursuit.Dictionary(case.rows)
    picks = Stream(pursuit.Sampling(atoms), np.random.SeedSequence(3).spawn(3)[0])
    draws = [picks() for _ in range(T)]
    nu = float(pursuit.geometry.nu_random(atoms))
    options = {"x0": case.x0, "max_iter": T, "tol": 0, "unit_atoms": False, "rng": 3}
    drawn = pursuit.solve(case.f, atoms, "accelerated-random", **options)
    replay = methods.accelerated_random(nu=nu, direction=pursuit.Replay(draws))
    replayed = pursuit.solve(case.f, atoms, replay, **options)
    assert len(set(draws)) == len(atoms)
    np.testing.assert_array_equal(drawn.x, replayed.x)
