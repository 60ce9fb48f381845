"""Codes of tensors: the engine beside the operations of torch that other devices run.

CPU time on one thread, in ratios of one interleaved run. The third contestant is the pursuit that
autoencoders ship: dense accumulators and one product a step.

    python benchmarks/torch_codes.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

try:
    import torch
except ImportError:
    raise SystemExit("torch is not installed: python -m pip install 'pursuit[torch]'") from None

import pursuit.torch
from pursuit.encoding.tensors import Options
from pursuit.encoding.tensors.pursuits import pursue


@dataclass(frozen=True)
class Case:
    """A decoder of n atoms × d, m signals, k atoms a code."""

    n: int
    d: int
    m: int
    k: int
    dtype: torch.dtype

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(0)
        atoms = torch.randn(self.n, self.d, generator=generator, dtype=self.dtype)
        atoms /= atoms.norm(dim=1, keepdim=True)
        weights = torch.rand(self.m, self.k, generator=generator, dtype=self.dtype)
        places = torch.randint(self.n, (self.m, self.k), generator=generator)
        signals = (weights[..., None] * atoms[places]).sum(dim=1)
        noise = torch.randn(self.m, self.d, generator=generator, dtype=self.dtype)
        return signals + 0.05 * noise, atoms


CASES = [
    Case(4096, 256, 256, 32, torch.float32),
    Case(4096, 256, 2048, 32, torch.float32),
    Case(1024, 128, 2048, 16, torch.float64),
]
WAYS = [("orthogonal", {}), ("matching-pursuit", {}), ("matching-pursuit", {"forward_only": True})]


def relu_pursuit(signals: torch.Tensor, atoms: torch.Tensor, k: int) -> torch.Tensor:
    """Relu-correlations, steps forward, dense accumulators."""
    codes, rest = signals.new_zeros(len(signals), len(atoms)), signals.clone()
    for _ in range(k):
        value, j = (rest @ atoms.T).relu().max(dim=1, keepdim=True)
        codes.scatter_add_(1, j, value)
        rest = rest - value * atoms[j[:, 0]]
    return codes


def contestants(case: Case, method: str, how: dict[str, bool]) -> dict[str, Callable[[], object]]:
    signals, atoms = case.tensors()
    rules = {"max_iter": case.k, "layout": "csr", **how}
    module = pursuit.torch.PursuitEncoder(atoms, method=method, threads=1, **rules)
    options = Options(method=method, **rules)
    runs: dict[str, Callable[[], object]] = {
        "engine": lambda: pursuit.torch.encode(signals, atoms, method, threads=1, **rules),
        "prepared": lambda: module(signals),
        "torch": lambda: pursue(signals, atoms, None, options, (case.m,)),
    }
    if how:
        runs["relu loop"] = lambda: relu_pursuit(signals, atoms, case.k)
    return runs


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def same_supports(runs: dict[str, Callable[[], object]]) -> float:
    """The share of signals for which all use the same atoms."""
    used = [run().to_dense() != 0 for run in runs.values()]  # type: ignore[attr-defined]
    equal = torch.stack([(one == used[0]).all(dim=1) for one in used])
    return float(equal.all(dim=0).double().mean())


def compete(case: Case, method: str, how: dict[str, bool], rounds: int) -> None:
    runs = contestants(case, method, how)
    same = same_supports(runs)
    times = {name: np.empty(rounds) for name in runs}
    for i in range(rounds):
        for name, run in runs.items():
            times[name][i] = cpu_seconds(run)
    name = ", ".join([method, *how])
    kind = str(case.dtype).removeprefix("torch.")
    print(f"\n{name}: {case.m} signals, {case.n} × {case.d} {kind}, k = {case.k}")
    print(f"  same atoms for {same:.1%} of the signals")
    for other in list(runs)[1:]:
        ratio = times[other] / times["engine"]
        low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75])
        print(f"  {other:>9} / engine  {middle:6.2f}  ({low:.2f} … {high:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each contestant")
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    for case in CASES:
        for method, how in WAYS:
            compete(case, method, how, rounds)


if __name__ == "__main__":
    main()
