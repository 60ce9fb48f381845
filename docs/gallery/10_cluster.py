"""A cluster run

Signals in chunks, workers, and the same bits as on one machine. A small cluster lives in this
process; `Client("tcp://HOST:8786")` is one of any size. The picture shows which worker encoded
which chunk, and when.
"""

import dask.array as da
import numpy as np
from distributed import Client

from pursuit import encode, plots

atoms = np.random.default_rng(0).standard_normal((512, 64))
signals = da.random.default_rng(1).standard_normal((48_000, 64), chunks=(4_000, 64))
encode(signals[:10].compute(), atoms, n_nonzero=16)  # what is compiled is compiled once, here

local = {"processes": False, "dashboard_address": ":0"}
with Client(n_workers=3, threads_per_worker=1, **local) as client:
    client.get_task_stream()  # from now on the scheduler remembers
    codes = encode(signals, atoms, n_nonzero=16).compute()
    tasks = client.get_task_stream()
print(codes)

alone = encode(signals.compute(), atoms, n_nonzero=16)
same = np.array_equal(codes.values, alone.values) and np.array_equal(codes.indices, alone.indices)
print(f"bit for bit what one machine gives: {same}")

spans = [(t["worker"], s["start"], s["stop"]) for t in tasks for s in t["startstops"]]
begin = min(start for _, start, _ in spans)
workers = sorted({worker for worker, _, _ in spans})
figure = plots.shown(9, 2.4)
ax = figure.subplots()
for worker, start, stop in spans:
    if stop - start > 0.01:  # a chunk encoded; the rest is book-keeping
        k = workers.index(worker)
        ax.barh(k, stop - start, left=start - begin, edgecolor="white", color=plots.COLOURS[k])
ax.set(xlabel="seconds", yticks=range(len(workers)))
ax.set_yticklabels([f"worker {k + 1}" for k in range(len(workers))])
figure.savefig("cluster.png", dpi=130)
