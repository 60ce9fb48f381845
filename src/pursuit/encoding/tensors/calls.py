"""One call, and a dictionary kept for several."""

from __future__ import annotations

import torch
from torch import Tensor

from pursuit.atoms.cone import Cone
from pursuit.encoding.encoder import Encoder
from pursuit.encoding.tensors.devices import pursue
from pursuit.encoding.tensors.door import (
    Options,
    atoms_tensor,
    bias_row,
    signal_rows,
    working_type,
)
from pursuit.encoding.tensors.layouts import CodesTensor, of_codes


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
