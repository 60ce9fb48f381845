"""Threads by default: all processes of a pool together never have more than there are cores."""

import math
import multiprocessing
import os

import pytest

from pursuit.base import cores
from pursuit.base.cores import thread_count


@pytest.fixture(autouse=True)
def nobody_asked(monkeypatch):
    for name in ("PURSUIT_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    cores.quota.cache_clear()
    yield
    cores.quota.cache_clear()


def default(_=None):
    return thread_count(None)


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Files as the system shows them to a process: (what it is in, {path: text})."""

    def write(belongs, files):
        (tmp_path / "self").write_text(belongs)
        for path, text in files.items():
            file = tmp_path / "groups" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        monkeypatch.setattr(cores, "GROUPS_OF_PROCESS", tmp_path / "self")
        monkeypatch.setattr(cores, "CGROUPS", tmp_path / "groups")

    return write


@pytest.mark.parametrize(
    ("belongs", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, 0.5),
        ("0::/not/shown\n", {"cpu.max": "300000 100000"}, 3),
        ("4:cpu,cpuacct:/x\n", {"cpu,cpuacct/x/cpu.cfs_quota_us": "-1"}, math.inf),
        (
            "1:name=systemd:/\n4:cpu,cpuacct:/\n",
            {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"},
            2,
        ),
        ("0::/\n", {"cpu.max": "junk"}, math.inf),
        ("0::/\n", {}, math.inf),
    ],
)
def test_the_quota_of_a_container_is_read(groups, belongs, files, expected):
    groups(belongs, files)
    assert cores.quota() == expected


def test_a_quota_limits_the_threads(groups, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    groups("0::/\n", {"cpu.max": "250000 100000"})
    assert thread_count(None) == 3
    assert thread_count(8) == 8  # who asks is served


def test_without_such_files_every_core_of_the_affinity_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "GROUPS_OF_PROCESS", tmp_path / "missing")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 7}, raising=False)
    assert thread_count(None) == 3


@pytest.mark.parametrize(
    ("text", "expected"), [("2", 2), ("3,2", 3), ("99", 16), ("junk", 16), ("0", 16)]
)
def test_what_is_said_to_openmp_is_heard(monkeypatch, text, expected):
    monkeypatch.setattr(cores, "cores", lambda: 16)
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert thread_count(None) == expected
    monkeypatch.setenv("PURSUIT_THREADS", "5")
    assert thread_count(None) == 5


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_processes_of_a_pool_have_one_thread_each(way):
    with multiprocessing.get_context(way).Pool(2) as pool:
        assert pool.map(default, range(2)) == [1, 1]


def test_processes_of_loky_share_the_cores():
    joblib = pytest.importorskip("joblib")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(default)() for _ in range(4))
    assert max(found) * 2 <= max(2, cores.cores())
