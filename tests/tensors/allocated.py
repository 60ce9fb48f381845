"""What torch allocates while something runs."""

import gc

import torch


def peak_bytes(call):
    """The most bytes that torch's CPU allocator had given out at once; what `call` gives."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profiler:
        result = call()
    events = profiler.profiler.kineto_results.events()
    changes = [(e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]"]
    del profiler, events
    gc.collect()  # a profiler is a cycle of some hundred megabytes
    held = most = 0
    for _, change in sorted(changes, key=lambda one: one[0]):
        held += change
        most = max(most, held)
    return most, result
