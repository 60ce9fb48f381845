"""Pursuit in place of the encoder of an autoencoder."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from pursuit.base.errors import InputError
from pursuit.encoding.tensors.calls import TensorEncoder
from pursuit.encoding.tensors.door import Options, atoms_tensor, bias_row
from pursuit.encoding.tensors.layouts import CodesTensor, TopK


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
        nonnegative, forward_only, unit_atoms, seed, threads, max_bytes.

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
        self.options = known_options(options)
        atoms = atoms_tensor(W_dec)
        self.options.limits((atoms.shape[0], atoms.shape[1]))  # what is wrong is said at once
        self.register_buffer("W_dec", atoms)
        self.register_buffer("b_dec", bias_row(b_dec, atoms))
        self._kept: tuple[object, TensorEncoder] | None = None

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
        now = tuple(map(_seen_as, buffers))
        if self._kept is None or self._kept[0] != now:
            self._kept = now, TensorEncoder(*buffers, self.options)
        return self._kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    def extra_repr(self) -> str:
        changed = {k: v for k, v in asdict(self.options).items() if v != getattr(Options, k)}
        n, d = self.W_dec.shape
        return ", ".join([f"{n} atoms × {d}", *(f"{k}={v!r}" for k, v in changed.items())])


def _seen_as(buffer: Tensor | None) -> object:
    """What is another one when a buffer has changed.

    The version counts changes in place, which inference mode does not do: its tensors are taken
    to be different every time. The rest says whether it is the same view of the same memory.
    """
    if buffer is None:
        return None
    version = object() if buffer.is_inference() else buffer._version
    where = buffer.data_ptr(), buffer.shape, buffer.stride(), buffer.device
    return *where, buffer.dtype, version


def known_options(options: dict[str, Any]) -> Options:
    """Options by their names."""
    unknown = sorted(set(options) - set(Options.__dataclass_fields__))
    if unknown:
        known = ", ".join(Options.__dataclass_fields__)
        raise InputError(f"{unknown[0]}: expected one of the options {known}")
    return Options(**options)
