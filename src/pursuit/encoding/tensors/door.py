"""What tensors may be encoded, and with which options: decided once, at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pursuit.base.errors import InputError
from pursuit.base.validation import count, flag, non_negative, one_of
from pursuit.encoding.encoder import known_method, only_forward
from pursuit.encoding.limits import Limits, limits
from pursuit.encoding.offered import Offered

LAYOUTS = ("csr", "dense", "topk")
MAX_BYTES = 2**28
"""Work memory on other devices than the CPU where none is named."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `pursuit.torch.encode` may be told, checked as far as it needs no tensor."""

    method: str = "orthogonal"
    n_nonzero: int | None = None
    max_iter: int | None = None
    rtol: float | None = None
    atol: float | None = None
    seed: int = 0
    threads: int | None = None
    unit_atoms: bool = True
    nonnegative: bool = False
    forward_only: bool = False
    layout: str = "csr"
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
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
    def offered(self) -> Offered:
        """The method by its name."""
        method = known_method(self.method, self.one_sided)
        return only_forward(method, True) if self.forward_only else method

    def limits(self, shape: tuple[int, int]) -> Limits:
        """Atoms and steps of a code over a dictionary of a shape."""
        goal = self.rtol is not None or self.atol is not None
        return limits(self.offered, shape, self.n_nonzero, self.max_iter, goal)

    @property
    def of_encoder(self) -> dict[str, Any]:
        """Those that `pursuit.Encoder` is told."""
        names = ("method", "n_nonzero", "max_iter", "rtol", "atol", "seed", "threads")
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
    refuse_elsewhere("signals", tensor, atoms)
    return tensor.reshape(-1, d)


def bias_row(bias: object, atoms: Tensor) -> Tensor | None:
    """What is taken off every signal."""
    if bias is None:
        return None
    tensor, d = plain_tensor("bias", bias), atoms.shape[1]
    if tensor.shape != (d,):
        raise InputError(f"bias: expected shape ({d},), got {tuple(tensor.shape)}")
    refuse_elsewhere("bias", tensor, atoms)
    odd = ~torch.isfinite(tensor if tensor.dtype == torch.float64 else tensor.float())
    if odd.any():
        where = int(odd.int().argmax())
        raise InputError(f"bias: expected finite numbers, got {tensor[where]} at {where}")
    return tensor


def refuse_elsewhere(name: str, tensor: Tensor, atoms: Tensor) -> None:
    """Nothing is copied from one device to another unless the user does it."""
    if tensor.device != atoms.device:
        raise InputError(
            f"{name}: expected a tensor on {atoms.device}, where the atoms are, got one on "
            f"{tensor.device}; move one of them with its to()"
        )


def working_type(*tensors: Tensor | None) -> torch.dtype:
    """The type of codes: float64 as soon as one is float64 or of integers, else float32."""
    single = (torch.float32, torch.float16, torch.bfloat16)
    given = [tensor.dtype for tensor in tensors if tensor is not None]
    return torch.float32 if all(dtype in single for dtype in given) else torch.float64
