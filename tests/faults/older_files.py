"""Files as version 0.1.0 wrote them: the same arrays, and no checksums."""

import json

import numpy as np

from pursuit.encoding.marks import RECORD


def as_version_0_1_0(folder):
    """Turn a folder of codes into one of version 0.1.0."""
    file = folder / "about.json"
    about = json.loads(file.read_text())["pursuit codes"]
    file.write_text(json.dumps({"pursuit codes": {**about, "format": 1}}, indent=1))
    marks = np.frombuffer((folder / "finished").read_bytes(), RECORD)
    (folder / "finished").write_bytes((marks["rows"] > 0).astype(np.uint8).tobytes())
    return folder


def saved_as_version_0_1_0(codes, path):
    """Save codes as version 0.1.0 did."""
    about = {"format": 1, "n": codes.n_atoms, "method": codes.method, "plan": codes.plan}
    header = np.frombuffer(json.dumps({"pursuit codes": about}).encode(), np.uint8)
    names = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")
    np.savez(path, header=header, **{name: getattr(codes, name) for name in names})
    return path
