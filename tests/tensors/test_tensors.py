"""pursuit.torch: tensors in, tensors out, by the engine."""

import copy
import io
import tracemalloc

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-torch")

from allocated import peak_bytes  # noqa: E402

import pursuit  # noqa: E402
from pursuit import Cone, InputError  # noqa: E402
from pursuit.encoding.encoder import Encoder  # noqa: E402
from pursuit.torch import PursuitEncoder, TopK, encode  # noqa: E402

TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def problem(*lead, n=60, d=20, dtype=torch.float64):
    generator = torch.Generator().manual_seed(n)
    atoms = torch.randn(n, d, generator=generator, dtype=torch.float64)
    signals = torch.randn(*lead, d, generator=generator, dtype=torch.float64)
    return signals.to(dtype), atoms.to(dtype)


def engine(signals, atoms, method="omp", **rules):
    return torch.from_numpy(pursuit.encode(signals.numpy(), atoms, method, **rules).toarray())


# Memory


@TYPES
def test_the_engine_reads_the_memory_of_the_tensors(dtype, monkeypatch):
    seen = []
    call = Encoder.__call__
    monkeypatch.setattr(
        Encoder, "__call__", lambda e, x, **k: seen.append((e, x)) or call(e, x, **k)
    )
    signals, atoms = problem(4, 5, dtype=dtype)
    encode(signals, atoms, n_nonzero=3)
    ((encoder, rows),) = seen
    assert rows.__array_interface__["data"][0] == signals.data_ptr()
    assert encoder.matrix.__array_interface__["data"][0] == atoms.data_ptr()


def test_nothing_as_large_as_the_signals_is_allocated():
    signals, atoms = problem(30_000, n=16, d=32)
    run = lambda: encode(signals, atoms, n_nonzero=1, threads=1)  # noqa: E731
    by_torch, _ = peak_bytes(run)  # and whatever has to be compiled is
    tracemalloc.start()
    run()
    by_numpy = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert by_torch + by_numpy < 0.5 * signals.nbytes


@pytest.mark.parametrize("layout", ["csr", "dense"])
def test_codes_are_the_arrays_of_the_engine(layout, monkeypatch):
    made = []
    give = torch.from_numpy
    monkeypatch.setattr(torch, "from_numpy", lambda array: made.append(array) or give(array))
    codes = encode(*problem(7), n_nonzero=3, layout=layout)
    values = codes.values() if layout == "csr" else codes
    assert made[-1].__array_interface__["data"][0] == values.data_ptr()


# Layouts and types


@pytest.mark.parametrize("lead", [(), (1,), (6,), (2, 3), (2, 1, 3)])
def test_leading_dimensions_stay(lead):
    signals, atoms = problem(*lead)
    expected = engine(signals.reshape(-1, 20), atoms, n_nonzero=4)
    dense = encode(signals, atoms, n_nonzero=4, layout="dense")
    assert dense.shape == (*lead, 60)
    assert torch.equal(dense.reshape(-1, 60), expected)
    top = encode(signals, atoms, n_nonzero=4, layout="topk")
    assert top.indices.shape == top.values.shape == (*lead, 4)
    assert torch.equal(torch.zeros_like(dense).scatter_add(-1, *top), dense)
    rows = encode(signals, atoms, n_nonzero=4)
    assert torch.equal(rows.to_dense(), expected)


@TYPES
def test_compressed_rows_pass_the_checks_of_torch(dtype):
    signals, atoms = problem(50, dtype=dtype)
    signals[8] = 0
    with torch.sparse.check_sparse_tensor_invariants():
        codes = encode(signals, atoms, rtol=0.5)
    assert codes.layout == torch.sparse_csr
    assert codes.dtype == dtype
    fit = codes @ atoms
    assert ((signals - fit).norm(dim=1) <= 0.5 * signals.norm(dim=1) + 1e-6).all()


def test_top_k_lists_atoms_in_the_order_of_choice():
    signals, atoms = problem(40)
    codes = pursuit.encode(signals.numpy(), atoms.numpy(), n_nonzero=5)
    top = encode(signals, atoms, n_nonzero=5, layout="topk")
    assert isinstance(top, TopK)
    assert top.indices.flatten().tolist() == codes.indices.tolist()
    assert top.values.flatten().tolist() == codes.values.tolist()


def test_top_k_is_as_wide_as_asked_for_and_else_as_the_widest_code():
    signals, atoms = torch.eye(3) * 2, torch.eye(3)
    assert encode(signals, atoms, n_nonzero=2, layout="topk").values.tolist() == [[2, 0]] * 3
    assert encode(signals, atoms, n_nonzero=9, layout="topk").values.shape == (3, 3)
    assert encode(signals, atoms, rtol=0.1, layout="topk").indices.tolist() == [[0], [1], [2]]


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precisions_are_computed_in_float32(half):
    signals, atoms = problem(30, dtype=half)
    codes = encode(signals, atoms, n_nonzero=4, layout="dense")
    assert codes.dtype == torch.float32
    expected = engine(signals.float(), atoms.float().numpy(), n_nonzero=4)
    assert torch.equal(codes, expected)
    assert encode(signals.double(), atoms, n_nonzero=4).dtype == torch.float64


def test_gradients_are_left_behind_and_inputs_are_not_changed():
    signals, atoms = problem(10)
    before = signals.clone(), atoms.clone()
    signals.requires_grad_()
    codes = encode(signals * 1, torch.nn.Parameter(atoms), n_nonzero=3, layout="dense")
    assert not codes.requires_grad
    assert torch.equal(signals.detach(), before[0])
    assert torch.equal(atoms, before[1])


def test_views_of_any_stride_are_encoded():
    signals, atoms = problem(20, 9)
    turned = signals.permute(1, 0, 2)[::2]
    found = encode(turned, atoms.T.contiguous().T, n_nonzero=3, layout="dense")
    assert torch.equal(found, encode(turned.contiguous(), atoms, n_nonzero=3, layout="dense"))


def test_views_that_are_yet_to_be_negated_are_encoded():
    signals, atoms = problem(9)
    turned = (signals * 1j).conj().imag
    assert turned.is_neg()
    rules = {"n_nonzero": 3, "layout": "dense"}
    assert torch.equal(encode(turned, atoms, **rules), encode(-signals, atoms, **rules))


def test_a_bias_is_taken_off():
    signals, atoms = problem(12)
    bias = torch.linspace(-1, 1, 20, dtype=torch.float64)
    found = encode(signals, atoms, n_nonzero=3, bias=bias, layout="dense")
    assert torch.equal(found, encode(signals - bias, atoms, n_nonzero=3, layout="dense"))


@pytest.mark.parametrize("method", ["omp", "mp"])
def test_nonnegative_codes_are_those_over_a_cone(method):
    signals, atoms = problem(25)
    expected = engine(signals, Cone(atoms.numpy()), method, n_nonzero=5)
    for way in (
        {"atoms": atoms, "nonnegative": True},
        {"atoms": Cone(atoms.numpy())},
    ):
        found = encode(signals, method=method, n_nonzero=5, layout="dense", **way)
        assert torch.equal(found, expected)
    assert (expected >= 0).all()


@TYPES
def test_forward_only_is_the_relu_pursuit_of_autoencoders_on_every_signal(dtype):
    signals, W = problem(500, dtype=dtype)
    W = W / W.norm(dim=1, keepdim=True) * torch.linspace(0.6, 1.3, 60, dtype=dtype)[:, None]
    found = encode(signals, W, "mp", max_iter=12, forward_only=True, layout="dense")
    codes, rest = torch.zeros(500, 60, dtype=dtype), signals.clone()
    for _ in range(12):
        value, j = (rest @ W.T).relu().max(dim=1, keepdim=True)
        codes.scatter_add_(1, j, value)
        rest = rest - value * W[j[:, 0]]
    near = 1e-12 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(found, codes, rtol=0, atol=near)


# Refusals

META = torch.empty(3, 2, device="meta")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"signals": np.eye(2)}, "signals: expected a tensor, got a ndarray"),
        ({"atoms": [[1.0, 2.0]]}, "atoms: expected a tensor, got a list"),
        ({"signals": META}, "signals: expected a tensor with values, got one on the device meta"),
        ({"atoms": META}, "atoms: expected a tensor with values"),
        ({"signals": torch.eye(2).to_sparse()}, "signals: expected a dense tensor"),
        ({"signals": torch.eye(2) * 1j}, "signals: expected real numbers, got torch.complex64"),
        ({"signals": torch.ones(3)}, r"a last dimension of 2, .* got shape \(3,\)"),
        ({"signals": torch.ones(())}, "signals: expected a last dimension of 2"),
        ({"signals": torch.ones(0, 2)}, "signals: expected at least one entry"),
        ({"atoms": torch.ones(2)}, "atoms: expected 2 dimensions"),
        ({"bias": torch.ones(3)}, r"bias: expected shape \(2,\), got \(3,\)"),
        ({"layout": "coo"}, "layout: expected one of csr, dense, topk, got 'coo'"),
        ({"n_nonzero": 0}, "n_nonzero: "),
        ({"max_bytes": 0}, "max_bytes: "),
        ({"rtol": -1.0}, "rtol: "),
        ({"nonnegative": 1}, "nonnegative: expected True or False"),
        ({"method": "lasso"}, "method: expected one of"),
        ({"forward_only": True}, "forward_only: expected matching-pursuit over a Cone"),
        ({"signals": torch.tensor([[1.0, torch.nan]])}, "signals: expected finite numbers"),
    ],
)
def test_what_cannot_be_encoded_is_refused_by_name(arguments, sentence):
    call = {"signals": torch.ones(1, 2), "atoms": torch.eye(2), **arguments}
    with pytest.raises(InputError, match=sentence):
        encode(**call)


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype:UserWarning")
def test_tensors_of_rows_of_several_lengths_are_refused():
    with pytest.raises(InputError, match="signals: expected a dense tensor"):
        encode(torch.nested.nested_tensor([torch.ones(2), torch.ones(1)]), torch.eye(2))


def test_tensors_of_two_devices_are_refused_and_not_moved():
    from pursuit.encoding.tensors import check_device

    here = torch.eye(2)
    with pytest.raises(InputError, match=r"signals: .* on cpu, where the atoms are, .* on meta"):
        check_device("signals", META, here)
    with pytest.raises(InputError, match=r"on meta: give its cpu\(\), or use pursuit.torch.encode"):
        pursuit.encode(META, np.eye(2))


# The module


@pytest.mark.parametrize("layout", ["csr", "dense", "topk"])
def test_the_module_encodes_and_decodes(layout):
    signals, W = problem(9)
    b = torch.ones(20, dtype=torch.float64)
    module = PursuitEncoder.from_decoder(W, b, n_nonzero=6, layout=layout)
    codes = encode(signals, W, n_nonzero=6, bias=b, layout="dense")
    fit = module.decode(module(signals))
    torch.testing.assert_close(fit, codes @ W + b)


def test_its_buffers_are_saved_moved_and_never_learnt():
    signals, W = problem(9)
    module = PursuitEncoder.from_decoder(W, torch.ones(20).double(), n_nonzero=4, layout="dense")
    assert list(module.parameters()) == []
    assert list(module.state_dict()) == ["W_dec", "b_dec"]
    assert module.W_dec.data_ptr() == W.data_ptr()
    expected = module(signals)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = PursuitEncoder(torch.ones(60, 20).double(), torch.zeros(20).double(), n_nonzero=4)
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(signals).to_dense(), expected)
    assert torch.equal(copy.deepcopy(module)(signals), expected)
    single = module.to(torch.float32)(signals.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single, expected.float(), rtol=1e-3, atol=1e-4)


def test_the_dictionary_is_prepared_once_and_again_after_a_change():
    signals, W = problem(9)
    module = PursuitEncoder.from_decoder(W, n_nonzero=4, layout="dense")
    module(signals)
    kept = module._cached[1]
    module(signals)
    assert module._cached[1] is kept
    W[:30] = W[30:].flip(0)  # in place, where the decoder is trained
    torch.testing.assert_close(module(signals), encode(signals, W, n_nonzero=4, layout="dense"))


def test_it_says_what_it_is_and_refuses_what_it_does_not_know():
    module = PursuitEncoder.from_decoder(torch.eye(3), n_nonzero=2, method="mp")
    assert repr(module) == "PursuitEncoder(3 atoms × 3, method='mp', n_nonzero=2)"
    assert module.b_dec is None
    with pytest.raises(InputError, match="nonzero: expected one of the options method"):
        PursuitEncoder(torch.eye(3), nonzero=2)


def test_another_view_of_the_same_memory_is_another_dictionary():
    signals, atoms = problem(10)
    module = PursuitEncoder(atoms, n_nonzero=2, layout="dense")
    assert module(signals).shape == (10, 60)
    module.W_dec = atoms[:30]
    torch.testing.assert_close(
        module(signals), encode(signals, atoms[:30], n_nonzero=2, layout="dense")
    )


def test_tensors_of_inference_mode_are_encoded_and_their_changes_seen():
    signals, atoms = problem(10)
    with torch.inference_mode():
        module = PursuitEncoder(atoms * 1, n_nonzero=2, layout="dense")
        assert module.W_dec.is_inference()
        torch.testing.assert_close(
            module(signals), encode(signals, atoms, n_nonzero=2, layout="dense")
        )
        module.W_dec.copy_(atoms.flip(1))
        changed = encode(signals, atoms.flip(1), n_nonzero=2, layout="dense")
        torch.testing.assert_close(module(signals), changed)


def test_a_bias_of_integers_makes_codes_float64():
    signals, atoms = problem(10, dtype=torch.float32)
    codes = encode(signals, atoms, n_nonzero=2, bias=torch.ones(20, dtype=torch.int64))
    assert codes.dtype == torch.float64


def test_a_bias_that_is_no_number_is_named_and_not_the_signals():
    signals, atoms = problem(10)
    bias = torch.zeros(20)
    bias[3] = torch.nan
    with pytest.raises(InputError, match=r"^bias: expected finite numbers, got nan at 3$"):
        encode(signals, atoms, n_nonzero=2, bias=bias)


def test_a_module_refuses_options_at_once_and_not_at_its_first_call():
    _, atoms = problem(1)
    with pytest.raises(InputError, match=r"^method: expected one of .*, got 'greedy'"):
        PursuitEncoder(atoms, method="greedy")
    with pytest.raises(InputError, match=r"^n_nonzero: "):
        PursuitEncoder(atoms, n_nonzero=0)
