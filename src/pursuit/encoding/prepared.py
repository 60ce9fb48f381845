"""A dictionary in one precision, ready for blocks of signals from any thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pursuit.base.cores import thread_count
from pursuit.base.progress import Silent
from pursuit.base.threads import for_each_block, new_halt
from pursuit.base.validation import Array
from pursuit.encoding.job import Chunk, Job
from pursuit.kernels.layouts import Piece

BlockEncoder = Callable[[Chunk], Piece]


class Prepared:
    """What the blocks of all calls share, and the threads' own rooms that nobody uses just now."""

    def __init__(self, job: Job, threads: int | None) -> None:
        # A process that was forked since may use fewer than this one, if nobody has said how many.
        self.job, self._asked = job, threads
        self._started = job.method.start(job, thread_count(threads))
        self._idle: deque[BlockEncoder] = deque()

    def each(
        self,
        total: int,
        do: Callable[[BlockEncoder, int], object],
        halt: Array,
        bar: Silent | None = None,
    ) -> None:
        """do(encoder, 0) … do(encoder, total − 1), each thread with an encoder of its own."""
        taken: list[BlockEncoder] = []

        def start() -> Callable[[int], object]:
            encoder = self._take()
            taken.append(encoder)
            return lambda place: do(encoder, place)

        threads = 1 if self._started.alone else thread_count(self._asked)
        for_each_block(total, start, threads, bar, halt=halt, brief=self.job.brief)
        self._idle.extend(taken)

    def _take(self) -> BlockEncoder:
        try:
            return self._idle.pop()
        except IndexError:
            return self._started.make()

    def run(self, rows: Array, first: int = 0, bar: Silent | None = None) -> list[Piece]:
        """The codes of all blocks of an array, in order; its first block has the number `first`."""
        block, halt = self.job.plan.block, new_halt()
        blocks = -(-len(rows) // block)
        pieces: list[Piece | None] = [None] * blocks

        def chunk(place: int) -> Chunk:
            return Chunk(rows[place * block : (place + 1) * block], first + place, halt)

        def one(encoder: BlockEncoder, place: int) -> None:
            pieces[place] = encoder(chunk(place))

        if self._started.whole is None:
            self.each(blocks, one, halt, bar)
            return [piece for piece in pieces if piece is not None]
        whole = self._started.whole(len(rows))
        self.each(blocks, lambda encoder, k: whole.fill(k, encoder, chunk(k)), halt, bar)
        return [whole.piece()]
