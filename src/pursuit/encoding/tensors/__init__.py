"""Tensors of torch: by the engine on the CPU, by matrix products where they are elsewhere.

Users meet this as `pursuit.torch`. Everything here needs the extra `torch`, and imports it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pursuit.atoms.cone import Cone
from pursuit.base.errors import InputError
from pursuit.base.validation import count, flag, non_negative, one_of, random_seed
from pursuit.encoding.encoder import Encoder
from pursuit.encoding.methods import EncodingMethod, find_method
from pursuit.encoding.tensors.codes import CodesTensor, TopK, of_codes, working_type
from pursuit.encoding.tensors.pursuits import pursue

LAYOUTS = ("csr", "dense", "topk")
MAX_BYTES = 2**28
"""Work memory on other devices than the CPU where none is named."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `pursuit.torch.encode` takes, checked as far as it needs no tensor."""

    method: str = "orthogonal"
    n_nonzero: int | None = None
    max_iter: int | None = None
    rtol: float | None = None
    atol: float | None = None
    rng: int | np.random.Generator | None = 0
    threads: int | None = None
    unit_atoms: bool = True
    nonnegative: bool = False
    forward_only: bool = False
    layout: str = "csr"
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", random_seed("rng", self.rng))
        one_of("layout", self.layout, LAYOUTS)
        count("max_bytes", self.max_bytes, minimum=1)
        for name in ("rtol", "atol"):
            if getattr(self, name) is not None:
                non_negative(name, getattr(self, name))
        for name in ("unit_atoms", "nonnegative", "forward_only"):
            flag(name, getattr(self, name))

    @property
    def one_sided(self) -> bool:
        """Whether coefficients are at least zero."""
        return self.nonnegative or self.forward_only

    @property
    def encoding_method(self) -> EncodingMethod:
        """The method by its name."""
        return find_method(self.method, self.one_sided, self.forward_only)

    def limits(self, shape: tuple[int, int]) -> tuple[int, int, int]:
        """Atoms and steps of a code, and the atoms that fit in any, over a dictionary."""
        has_target = self.rtol is not None or self.atol is not None
        counts = self.n_nonzero, self.max_iter
        return self.encoding_method.limits(shape, *counts, has_target)

    @property
    def of_encoder(self) -> dict[str, Any]:
        """Those that `pursuit.Encoder` takes."""
        names = ("method", "n_nonzero", "max_iter", "rtol", "atol", "rng", "threads")
        return {name: getattr(self, name) for name in (*names, "unit_atoms", "forward_only")}


def plain_tensor(name: str, value: object) -> Tensor:
    """`value` as a dense tensor of real numbers that has values, without its gradient."""
    if not isinstance(value, torch.Tensor):
        raise InputError(f"{name}: expected a tensor, got a {type(value).__name__}")
    if value.layout is not torch.strided or value.is_quantized or value.is_nested:
        raise InputError(f"{name}: expected a dense tensor, got {value.layout} of {value.dtype}")
    if value.device.type == "meta":
        raise InputError(f"{name}: expected a tensor with values, got one on the device meta")
    if value.is_complex():
        raise InputError(f"{name}: expected real numbers, got {value.dtype}")
    if value.numel() == 0:
        raise InputError(f"{name}: expected at least one entry, got shape {tuple(value.shape)}")
    return value.detach().resolve_neg()


def atoms_tensor(atoms: object) -> Tensor:
    """Atoms as rows, from a tensor or from a finite set of them."""
    if hasattr(atoms, "one_sided") and hasattr(atoms, "matrix"):
        atoms = torch.from_numpy(atoms.matrix)
    tensor = plain_tensor("atoms", atoms)
    if tensor.ndim != 2:
        raise InputError(f"atoms: expected 2 dimensions, got shape {tuple(tensor.shape)}")
    return tensor


def signal_rows(signals: object, atoms: Tensor) -> Tensor:
    """Signals with all their leading dimensions made one."""
    tensor, d = plain_tensor("signals", signals), atoms.shape[1]
    if tensor.ndim == 0 or tensor.shape[-1] != d:
        raise InputError(
            f"signals: expected a last dimension of {d}, the length of an atom, "
            f"got shape {tuple(tensor.shape)}"
        )
    check_device("signals", tensor, atoms)
    return tensor.reshape(-1, d)


def bias_row(bias: object, atoms: Tensor) -> Tensor | None:
    """What is taken off every signal."""
    if bias is None:
        return None
    tensor, d = plain_tensor("bias", bias), atoms.shape[1]
    if tensor.shape != (d,):
        raise InputError(f"bias: expected shape ({d},), got {tuple(tensor.shape)}")
    check_device("bias", tensor, atoms)
    odd = ~torch.isfinite(tensor if tensor.dtype == torch.float64 else tensor.float())
    if odd.any():
        where = int(odd.int().argmax())
        raise InputError(f"bias: expected finite numbers, got {tensor[where]} at {where}")
    return tensor


def check_device(name: str, tensor: Tensor, atoms: Tensor) -> None:
    """Nothing is copied from one device to another unless the user does it."""
    if tensor.device != atoms.device:
        raise InputError(
            f"{name}: expected a tensor on {atoms.device}, where the atoms are, got one on "
            f"{tensor.device}; move one of them with its to()"
        )


# One call, and a dictionary kept for several -------------------------------------------------


class TensorEncoder:
    """Atoms and options; on the CPU the engine's `Encoder` of them, ready for them."""

    def __init__(
        self, atoms: object, bias: object, options: Options, kind: type[Encoder] = Encoder
    ) -> None:
        self.atoms, self.options = atoms_tensor(atoms), options
        self.bias = bias_row(bias, self.atoms)
        self.engine: Encoder | None = None
        options.limits((self.atoms.shape[0], self.atoms.shape[1]))
        if self.atoms.device.type == "cpu":
            matrix = as_numbers(self.atoms, working_type(self.atoms)).numpy()
            over = Cone(matrix) if options.one_sided else matrix
            self.engine = kind(over, **options.of_encoder)

    def __call__(self, signals: Tensor) -> CodesTensor:
        """The codes of signals."""
        rows, lead = signal_rows(signals, self.atoms), tuple(signals.shape[:-1])
        if self.engine is None:
            return pursue(rows, self.atoms, self.bias, self.options, lead)
        dtype = working_type(rows, self.bias)
        x = as_numbers(rows, dtype)
        array = (x if self.bias is None else x - self.bias.to(dtype)).numpy()
        codes = self.engine(array, progress=False)
        most = self.options.n_nonzero
        width = None if most is None else min(most, len(self.atoms))
        return of_codes(codes, self.options.layout, lead, width)


def as_numbers(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """A tensor of float32 or float64 as it is, half precisions in float32."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.to(dtype)


class PursuitEncoder(nn.Module):
    """Codes of activations over a decoder, as a module: ``decode(encoder(x)) ≈ x``.

    The decoder's atoms `W_dec` and bias `b_dec` are buffers under these names: they are in
    ``state_dict()``, go along with ``to()``, and no gradient reaches them. On the CPU the
    dictionary is prepared at the first call and again when the buffers change.

    Parameters
    ----------
    W_dec
        The atoms, shape (n, d): one in each row. It is shared, not copied.
    b_dec
        Shape (d,), taken off every signal and put back by `decode`; None: nothing is.
    options
        Those of `pursuit.torch.encode`: method, n_nonzero, max_iter, rtol, atol, layout,
        nonnegative, forward_only, unit_atoms, rng, threads, max_bytes.

    Examples
    --------
    >>> import torch
    >>> from pursuit.torch import PursuitEncoder
    >>> encoder = PursuitEncoder.from_decoder(2 * torch.eye(3), torch.ones(3), n_nonzero=1)
    >>> encoder(torch.tensor([1.0, 5.0, 1.0])).to_dense().tolist()
    [[0.0, 2.0, 0.0]]
    """

    W_dec: Tensor
    b_dec: Tensor | None

    def __init__(self, W_dec: Tensor, b_dec: Tensor | None = None, **options: Any) -> None:
        super().__init__()
        self.options = options_from(options)
        atoms = atoms_tensor(W_dec)
        self.options.limits((atoms.shape[0], atoms.shape[1]))  # what is wrong is said at once
        self.register_buffer("W_dec", atoms)
        self.register_buffer("b_dec", bias_row(b_dec, atoms))
        self._cached: tuple[object, TensorEncoder] | None = None

    @classmethod
    def from_decoder(
        cls,
        W_dec: Tensor,
        b_dec: Tensor | None = None,
        *,
        n_nonzero: int | None = None,
        **options: Any,
    ) -> PursuitEncoder:
        """The encoder of a decoder x ≈ codes @ W_dec + b_dec, of at most n_nonzero atoms."""
        return cls(W_dec, b_dec, n_nonzero=n_nonzero, **options)

    def forward(self, x: Tensor) -> CodesTensor:
        """The codes of x, shape (…, d), in the layout of the options."""
        return self._encoder()(x)

    def decode(self, codes: CodesTensor) -> Tensor:
        """codes @ W_dec + b_dec; the leading dimensions are those of the codes."""
        if isinstance(codes, TopK):
            W = self.W_dec.to(codes.values.dtype)
            indices, weights = (part.reshape(-1, part.shape[-1]) for part in codes)
            sums = nn.functional.embedding_bag(indices, W, mode="sum", per_sample_weights=weights)
            fit = sums.reshape(*codes.values.shape[:-1], W.shape[1])
        else:
            fit = codes @ self.W_dec.to(codes.dtype)
        return fit if self.b_dec is None else fit + self.b_dec

    def _encoder(self) -> TensorEncoder:
        buffers = (self.W_dec, self.b_dec)
        now = tuple(map(_identity, buffers))
        if self._cached is None or self._cached[0] != now:
            self._cached = now, TensorEncoder(*buffers, self.options)
        return self._cached[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached": None}

    def extra_repr(self) -> str:
        changed = {k: v for k, v in asdict(self.options).items() if v != getattr(Options, k)}
        n, d = self.W_dec.shape
        return ", ".join([f"{n} atoms × {d}", *(f"{k}={v!r}" for k, v in changed.items())])


def _identity(buffer: Tensor | None) -> object:
    """What is another one when a buffer has changed.

    The version counts changes in place, which inference mode does not do: its tensors are taken
    to be different every time. The rest says whether it is the same view of the same memory.
    """
    if buffer is None:
        return None
    version = object() if buffer.is_inference() else buffer._version
    where = buffer.data_ptr(), buffer.shape, buffer.stride(), buffer.device
    return *where, buffer.dtype, version


def options_from(options: dict[str, Any]) -> Options:
    """Options by their names."""
    unknown = sorted(set(options) - set(Options.__dataclass_fields__))
    if unknown:
        known = ", ".join(Options.__dataclass_fields__)
        raise InputError(f"{unknown[0]}: expected one of the options {known}")
    return Options(**options)
