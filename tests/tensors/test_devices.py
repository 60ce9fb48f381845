"""The pursuit that other devices run, here on the CPU: the engine's codes, in bounded memory."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-torch")

from allocated import peak_bytes  # noqa: E402

import pursuit.torch  # noqa: E402
from pursuit import InputError  # noqa: E402
from pursuit.encoding.tensors import Options  # noqa: E402
from pursuit.encoding.tensors.pursuits import pursue  # noqa: E402

PURSUITS = [
    ("orthogonal", {}),
    ("orthogonal", {"unit_atoms": False}),
    ("orthogonal", {"nonnegative": True}),
    ("orthogonal", {"nonnegative": True, "unit_atoms": False}),
    ("matching-pursuit", {}),
    ("matching-pursuit", {"unit_atoms": False}),
    ("matching-pursuit", {"nonnegative": True}),
    ("matching-pursuit", {"forward_only": True}),
]
SMALL = 2**19
"""Bytes that hold a few of the signals below, and a part of the atoms."""


def problem(m=500, n=120, d=24, dtype=torch.float64, norms=(0.5, 1.3)):
    """Signals and atoms; with longer ones, forward-only pursuit would diverge."""
    generator = torch.Generator().manual_seed(m + n)
    atoms = torch.randn(n, d, generator=generator, dtype=torch.float64)
    low, high = norms
    length = low + (high - low) * torch.rand(n, 1, generator=generator, dtype=torch.float64)
    atoms *= length / atoms.norm(dim=1, keepdim=True)
    signals = torch.randn(m, d, generator=generator, dtype=torch.float64)
    return signals.to(dtype), atoms.to(dtype)


def elsewhere(signals, atoms, method, bias=None, **options):
    """The codes of the code for other devices."""
    lead = tuple(signals.shape[:-1])
    rows = signals.reshape(-1, signals.shape[-1])
    return pursue(rows, atoms, bias, Options(method=method, **options), lead)


@pytest.mark.parametrize(("method", "how"), PURSUITS)
def test_500_signals_get_the_atoms_of_the_engine_in_its_order(method, how):
    signals, atoms = problem()
    rules = {"n_nonzero": 10, "max_iter": 30, "layout": "topk", **how}
    expected = pursuit.torch.encode(signals, atoms, method, **rules)
    for max_bytes in (2**28, SMALL):
        found = elsewhere(signals, atoms, method, max_bytes=max_bytes, **rules)
        assert torch.equal(found.indices, expected.indices)
        torch.testing.assert_close(found.values, expected.values, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("method", "how"), PURSUITS)
def test_residual_tests_end_where_those_of_the_engine_do(method, how):
    signals, atoms = problem(m=100)
    rules = {"rtol": 0.4, "atol": 1.0, "layout": "topk", **how}
    expected = pursuit.torch.encode(signals, atoms, method, **rules)
    found = elsewhere(signals, atoms, method, **rules)
    assert expected.indices.shape[-1] < 24
    assert torch.equal(found.indices, expected.indices)
    torch.testing.assert_close(found.values, expected.values, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("method", "n", "common"), [("orthogonal", 40, 1.0), ("matching-pursuit", 12, 0.0)]
)
def test_atoms_leave_and_come_back_as_in_the_engine(method, n, common):
    signals, atoms = problem(m=200, n=n, d=8)
    signals, atoms = common + 0.3 * signals, common + 0.3 * atoms  # alike, as spectra are, or not
    rules = {"max_iter": 60, "nonnegative": True, "layout": "topk"}
    expected = pursuit.torch.encode(signals, atoms, method, **rules)
    found = elsewhere(signals, atoms, method, **rules)
    assert torch.equal(found.indices, expected.indices)
    torch.testing.assert_close(found.values, expected.values, rtol=1e-7, atol=1e-9)
    codes = pursuit.encode(signals.numpy(), pursuit.Cone(atoms.numpy()), method, max_iter=60)
    assert (codes.iterations > codes.sizes).sum() > 8, "hardly an atom ever left"


@pytest.mark.parametrize("layout", ["csr", "dense", "topk"])
@pytest.mark.parametrize(("method", "how"), [PURSUITS[0], PURSUITS[2], PURSUITS[4], PURSUITS[7]])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_work_memory_stays_within_what_was_asked_for(dtype, method, how, layout):
    signals, atoms = problem(m=600, n=1500, d=32, dtype=dtype)
    rules = {"n_nonzero": 6, "max_iter": 6, "layout": layout, **how}
    size = 8 if dtype == torch.float64 else 4
    codes = {"csr": 600 * 6 * (4 + size) + 4 * 601, "dense": 600 * 1500 * size}
    codes["topk"] = 600 * 6 * (8 + size)
    for max_bytes in (2**22, SMALL):
        run = lambda most=max_bytes: elsewhere(signals, atoms, method, max_bytes=most, **rules)  # noqa: E731
        peak, _ = peak_bytes(run)
        assert codes[layout] < peak <= codes[layout] + max_bytes


def test_a_decoder_in_half_precision_is_never_there_in_another_as_a_whole():
    signals, atoms = problem(m=4, n=2000, d=256, dtype=torch.bfloat16)
    peak, _ = peak_bytes(lambda: elsewhere(signals, atoms, "mp", n_nonzero=3, max_bytes=SMALL))
    assert peak < SMALL + 2000 < atoms.nbytes


def test_a_budget_that_is_too_small_is_refused_with_the_least_that_is_enough():
    signals, atoms = problem(m=20)
    with pytest.raises(InputError, match="max_bytes: expected at least") as refusal:
        elsewhere(signals, atoms, "omp", n_nonzero=4, max_bytes=10)
    least = int(str(refusal.value).split("at least ")[1].split()[0])
    rules = {"n_nonzero": 4, "layout": "dense"}
    found = elsewhere(signals, atoms, "omp", max_bytes=least, **rules)
    torch.testing.assert_close(found, elsewhere(signals, atoms, "omp", **rules))


def test_compressed_rows_are_sound_and_those_of_the_engine():
    signals, atoms = problem(m=90)
    signals[3] = 0
    with torch.sparse.check_sparse_tensor_invariants():
        found = elsewhere(signals, atoms, "omp", rtol=0.5, max_bytes=SMALL)
        expected = pursuit.torch.encode(signals, atoms, "omp", rtol=0.5)
    assert found.dtype == expected.dtype
    for part in ("crow_indices", "col_indices"):
        ours, theirs = getattr(found, part)(), getattr(expected, part)()
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)
    torch.testing.assert_close(found.values(), expected.values())


@pytest.mark.parametrize("nonnegative", [False, True])
def test_duplicate_and_dependent_atoms_are_passed_over(nonnegative):
    signals, atoms = problem(m=50, n=3, d=10)
    noise = problem(m=3, n=9, d=10)[0]
    # All the others are within a billionth of the span of the first three.
    crowd = torch.cat([atoms, 3 * atoms, atoms + 1e-9 * noise, atoms[:1] + atoms[1:2]])
    rules = {"n_nonzero": 8, "nonnegative": nonnegative, "layout": "dense"}
    codes = elsewhere(signals, crowd, "omp", **rules)
    expected = pursuit.torch.encode(signals, crowd, "omp", **rules)
    torch.testing.assert_close(codes @ crowd, expected @ crowd, rtol=0, atol=1e-7)
    assert (codes != 0).sum(dim=1).max() <= 3
    assert codes.abs().max() < 100


def test_zero_signals_and_signals_in_the_span_of_one_atom():
    _, atoms = problem(m=1)
    signals = torch.stack([torch.zeros(24, dtype=torch.float64), -2 * atoms[7]])
    for method in ("omp", "mp"):
        codes = elsewhere(signals, atoms, method, n_nonzero=5, layout="dense")
        assert (codes != 0).nonzero().tolist() == [[1, 7]]
        assert codes[1, 7] == pytest.approx(-2)


def test_a_run_that_diverges_leaves_an_empty_code():
    signals, atoms = problem(m=20, norms=(2, 3))
    rules = {"max_iter": 9, "forward_only": True, "layout": "dense"}
    assert not pursuit.torch.encode(signals, atoms, "mp", **rules).any()
    assert not elsewhere(signals, atoms, "mp", **rules).any()


def test_what_only_the_engine_can_do_is_refused_by_name():
    signals, atoms = problem(m=2)
    with pytest.raises(InputError, match=r"method: .* got accelerated, which runs on the CPU"):
        elsewhere(signals, atoms, "accelerated", max_iter=3)


def test_numbers_that_are_none_are_refused_by_their_place():
    signals, atoms = problem(m=9)
    signals[4, 2] = torch.nan
    with pytest.raises(InputError, match="in signal 4"):
        elsewhere(signals, atoms, "mp", n_nonzero=2)
    atoms[5] = 0
    with pytest.raises(InputError, match=r"atoms: expected a finite norm above 0, got 0\.0 of 5"):
        elsewhere(signals[:2], atoms, "mp", n_nonzero=2)
