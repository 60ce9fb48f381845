"""Codes as tensors: compressed rows, dense, or the atoms of each signal in the order of choice."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from pursuit.base.validation import Array
from pursuit.encoding.codes import Codes

INT32 = 2**31 - 1


class TopK(NamedTuple):
    """Codes by their atoms: `indices` (…, k), in the order in which they were chosen, and `values`.

    Places that a code does not need have the value 0 and the index 0: add, do not write, when
    codes are spread out (`scatter_add_`, `torch.nn.functional.embedding_bag`).
    """

    indices: Tensor
    values: Tensor


CodesTensor: TypeAlias = Tensor | TopK


class Filled(NamedTuple):
    """Codes of some signals (b, width) in the order of choice; `used`: which places they fill."""

    indices: Tensor
    values: Tensor
    used: Tensor


class CodeBuffers(Protocol):
    """Takes the codes of signals, some at a time, and gives those of all."""

    def keep(self, first: int, filled: Filled) -> None:
        """The codes of signals from number `first` on."""

    def result(self) -> CodesTensor:
        """All codes."""


# From the engine: its arrays, and no copies of them ---------------------------------------------


def of_codes(codes: Codes, layout: str, lead: tuple[int, ...], width: int | None) -> CodesTensor:
    """Codes of the engine in a layout; `lead` are the leading dimensions of the signals."""
    if layout == "csr":
        return _compressed_codes(codes)
    if layout == "dense":
        return torch.from_numpy(codes.toarray()).reshape(*lead, codes.n_atoms)
    indices, values = _in_places(codes, codes.sizes.max() if width is None else width)
    shape = (*lead, values.shape[1])
    return TopK(torch.from_numpy(indices).reshape(shape), torch.from_numpy(values).reshape(shape))


def _compressed_codes(codes: Codes) -> Tensor:
    m = codes.matrix
    start, column, value = map(torch.from_numpy, (m.indptr, m.indices, m.data))
    return _sparse(start, column, value, m.shape)


def _sparse(start: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """Compressed rows; torch warns that they are young, which those who ask for them know."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*Sparse", UserWarning)
        return torch.sparse_csr_tensor(start, column, value, size=shape)


def _in_places(codes: Codes, width: int) -> tuple[Array, Array]:
    used = np.arange(width) < codes.sizes[:, None]
    indices, values = np.zeros(used.shape, np.int64), np.zeros(used.shape, codes.dtype)
    indices[used], values[used] = codes.indices, codes.values
    return indices, values


# From a device: written where it stays, a chunk at a time ----------------------------------------


class Compressed:
    """Rows one after another, the atoms of each in increasing order."""

    def __init__(self, shape: tuple[int, int], width: int, like: Tensor) -> None:
        m, n = shape
        kind = torch.int32 if max(n, m * width) <= INT32 else torch.int64
        self.shape, self.entries = shape, 0
        self.start = torch.zeros(m + 1, dtype=kind, device=like.device)
        self.column = torch.empty(m * width, dtype=kind, device=like.device)
        self.value = like.new_empty(m * width)

    def keep(self, first: int, filled: Filled) -> None:
        last = torch.where(filled.used, filled.indices, self.shape[1])
        column, order = last.sort(dim=1)
        used = filled.used.gather(1, order)
        column, value = column[used], filled.values.gather(1, order)[used]
        here = slice(self.entries, self.entries + len(value))
        self.column[here], self.value[here] = column.to(self.column.dtype), value
        ends = used.sum(dim=1).cumsum(0) + self.entries
        self.start[first + 1 : first + 1 + len(used)] = ends.to(self.start.dtype)
        self.entries += len(value)

    def result(self) -> CodesTensor:
        parts = self.start, self.column[: self.entries], self.value[: self.entries]
        return _sparse(*parts, self.shape)


class DenseRows:
    """All coefficients."""

    def __init__(self, lead: tuple[int, ...], n: int, like: Tensor) -> None:
        self.lead, m = lead, int(np.prod(lead))
        self.value = like.new_zeros((m, n))

    def keep(self, first: int, filled: Filled) -> None:
        rows = self.value[first : first + len(filled.values)]
        rows.scatter_add_(1, filled.indices, filled.values)

    def result(self) -> CodesTensor:
        return self.value.reshape(*self.lead, self.value.shape[1])


class Places:
    """The atoms of each signal in the order of choice."""

    def __init__(self, lead: tuple[int, ...], width: int, cut: bool, like: Tensor) -> None:
        self.lead, self.cut, shape = lead, cut, (int(np.prod(lead)), width)
        self.index = torch.zeros(shape, dtype=torch.int64, device=like.device)
        self.value, self.widest = like.new_zeros(shape), 0

    def keep(self, first: int, filled: Filled) -> None:
        here = slice(first, first + len(filled.values))
        self.index[here], self.value[here] = filled.indices, filled.values
        if self.cut:
            self.widest = max(self.widest, int(filled.used.sum(dim=1).max()))

    def result(self) -> CodesTensor:
        width = self.widest if self.cut else self.value.shape[1]
        shape = (*self.lead, width)
        return TopK(self.index[:, :width].reshape(shape), self.value[:, :width].reshape(shape))


def code_buffers(
    layout: str, lead: tuple[int, ...], n: int, width: int, cut: bool, like: Tensor
) -> CodeBuffers:
    """Room for codes of up to `width` atoms; `cut`: top k is as wide as the widest code."""
    make: dict[str, Callable[[], CodeBuffers]] = {
        "csr": lambda: Compressed((int(np.prod(lead)), n), width, like),
        "dense": lambda: DenseRows(lead, n, like),
        "topk": lambda: Places(lead, width, cut, like),
    }
    return make[layout]()


def working_type(*tensors: Tensor | None) -> torch.dtype:
    """The type of codes: float64 as soon as one is float64 or of integers, else float32."""
    single = (torch.float32, torch.float16, torch.bfloat16)
    given = [tensor.dtype for tensor in tensors if tensor is not None]
    return torch.float32 if all(dtype in single for dtype in given) else torch.float64
