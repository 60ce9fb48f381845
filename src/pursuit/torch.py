"""Tensors of torch in, tensors out: codes over a decoder, as a function and as a module.

Needs the extra `torch`; importing this module does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pursuit.base.errors import MissingExtra
from pursuit.encoding.encoder import OneCall

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from pursuit.encoding.tensors import PursuitEncoder as PursuitEncoder
    from pursuit.encoding.tensors.codes import CodesTensor
    from pursuit.encoding.tensors.codes import TopK as TopK

__all__ = ["PursuitEncoder", "TopK", "encode"]
_HOME = ("PursuitEncoder", "TopK")


def encode(
    signals: Tensor,
    atoms: Tensor | object,
    method: str = "orthogonal",
    *,
    n_nonzero: int | None = None,
    max_iter: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    bias: Tensor | None = None,
    layout: str = "csr",
    nonnegative: bool = False,
    forward_only: bool = False,
    unit_atoms: bool = True,
    rng: int | np.random.Generator | None = 0,
    threads: int | None = None,
    max_bytes: int | None = None,
) -> CodesTensor:
    """Sparse codes of tensors: ``codes @ atoms + bias ≈ signals``.

    On the CPU it is `pursuit.encode`, which reads the memory of float32 and float64 tensors
    without a copy. Where tensors are elsewhere, orthogonal and matching pursuit run there, in
    operations of torch. Nothing is copied from one device to another, and
    gradients are left behind.

    Parameters
    ----------
    signals
        Shape (…, d).
    atoms
        Shape (n, d), an atom in each row, on the device of the signals; on the CPU also a
        `Dictionary` or a `Cone`.
    method, n_nonzero, max_iter, rtol, atol, unit_atoms, rng, threads
        Those of `pursuit.encode`.
    bias
        Shape (d,), taken off every signal first, in one copy of them.
    layout
        ``"csr"``: a sparse tensor of m rows, those of all leading dimensions one after another.
        ``"dense"``: shape (…, n). ``"topk"``: `TopK`, the atoms of each code in the order of
        their choice, (…, n_nonzero), or as wide as the widest code where no number is given.
    nonnegative
        Coefficients of at least zero, as over a `Cone`.
    forward_only
        That of `pursuit.encode`: what matching-pursuit autoencoders do. Coefficients are then at
        least zero.
    max_bytes
        Other devices than the CPU: the most work memory beside signals, atoms and codes; 256 MiB
        by default.

    Returns
    -------
    Tensor or TopK
        float64 if signals, atoms or bias are float64 or of integers, else float32: half
        precisions are computed in float32, and stay so.

    Examples
    --------
    >>> import torch
    >>> from pursuit.torch import encode
    >>> encode(torch.tensor([0.0, 6.0]), torch.eye(2) * 3, n_nonzero=1, layout="dense").tolist()
    [0.0, 2.0]
    """
    tensors = _tensors()
    options = tensors.Options(
        method=method,
        n_nonzero=n_nonzero,
        max_iter=max_iter,
        rtol=rtol,
        atol=atol,
        rng=rng,
        threads=threads,
        unit_atoms=unit_atoms,
        nonnegative=nonnegative or getattr(atoms, "one_sided", False),
        forward_only=forward_only,
        layout=layout,
        max_bytes=tensors.MAX_BYTES if max_bytes is None else max_bytes,
    )
    codes: CodesTensor = tensors.TensorEncoder(atoms, bias, options, OneCall)(signals)
    return codes


def _tensors() -> Any:
    """Return the package that needs torch."""
    try:
        import_module("torch")
    except ImportError:
        raise MissingExtra("torch", "encoding tensors") from None
    return import_module("pursuit.encoding.tensors")


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_tensors(), name)


def __dir__() -> list[str]:
    return sorted(__all__)
