"""A run before its first iteration."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pursuit.methods import Method
from pursuit.rules.momentum import Stepper
from pursuit.rules.run import Run
from pursuit.solving.column_stretch import ColumnStretch, PairStretch
from pursuit.solving.compiled import Compiled, Stretch
from pursuit.solving.ends import WATCH, Reasons, Watched
from pursuit.solving.gap import GapTest
from pursuit.solving.interrupted import Keeper
from pursuit.solving.local_stretch import LocalStretch
from pursuit.solving.loop import Loop
from pursuit.solving.observing import Observer
from pursuit.solving.path import Recorder
from pursuit.solving.penalised import begin
from pursuit.solving.posing import Posed
from pursuit.solving.running import Running
from pursuit.solving.stopping import Stopping


@dataclass(frozen=True)
class Beginning:
    """Starts the rules of a method on a problem: each call prepares the same run anew."""

    posed: Posed
    rules: Method
    stop: Stopping
    every: int | None
    gram_bytes: int | None = None

    def __call__(self) -> Loop:
        began = time.perf_counter()
        posed, rules, stop = self.posed, self.rules, self.stop
        run = Run(posed.problem, posed.seed)
        alone = rules.momentum.alone
        x = rules.advance.point(posed.problem, posed.start, self.gram_bytes, alone)
        offset = begin(x, posed.weights)
        stepper = rules.momentum.start(run, rules.advance, x)
        watched = run.remember("driver", Watched.of(stepper.x))
        recorder = Recorder() if rules.advance.keeps_path else None
        running = Running(run, stepper, posed.verify, posed.mark, offset, recorder)
        stretch = self._stretch(run, stepper, watched) if offset is None else None
        beat = None if stretch is None else stretch.beat
        gap = GapTest.of(posed.verify.problem, rules, stop.gap)
        reasons = Reasons(running, watched, stop, posed.gradient, gap, beat)
        observer = Observer(running, self.every or max(1, stop.max_iter // 1000, beat or 1))
        keeper = Keeper(running, time.perf_counter() - began)
        return Loop(running, reasons, observer, keeper, stop, stretch)

    def _stretch(self, run: Run, stepper: Stepper, watched: Watched) -> Compiled | None:
        """What makes many iterations at a time, if the kernels know the rules."""
        rules, stop = self.rules, self.stop
        if stepper.column_pair is not None:
            return PairStretch(run, stepper)
        if (columns := ColumnStretch.of(run, rules, stepper, stop, watched)) is not None:
            return columns
        if LocalStretch.suits(rules, stepper):
            return LocalStretch(run, rules, stepper, stop, watched)
        if Stretch.suits(rules, stepper):
            return Stretch(run, rules, stepper, stop, watched, WATCH)
        return None
