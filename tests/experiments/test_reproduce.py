"""The command `pursuit reproduce`."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

from pursuit import InputError
from pursuit.cli import app
from pursuit.commands import reproduce as command
from pursuit.experiments.curves import READINGS, competitors

NAMES = ("toy", "toy-other-atoms", "toy-appendix", "sensitivity", "urban", "urban-appendix")
FILES = {"index.html", "curves.json", "verdicts.md"} | {
    f"{name}{ending}" for name in NAMES for ending in (".png", ".svg")
}
SMALL = ["--seeds", "2", "--iterations", "60"]


def call(*arguments):
    """The command's output; an error raised on purpose passes through, as `main` expects it to."""
    result = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    if isinstance(result.exception, Exception):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("scene") / "pixels.npy"
    np.save(path, rng.uniform(0, 1, (300, 7)) @ rng.uniform(0, 1, (7, 12)))
    return path


def test_all_writes_every_file_and_ends_by_saying_where_they_are(tmp_path, scene):
    out = tmp_path / "new" / "folder"
    result = call("all", "--out", out, "--data", scene, *SMALL)
    assert {path.name for path in out.iterdir()} == FILES
    lines = result.output.splitlines()
    assert len(lines) <= 20
    assert all(len(line) <= 80 for line in lines[:-2])  # the last two end with paths
    for claim in ("Alg. 4 below MP", "Alg. 3 below random pursuit", "MP below random pursuit"):
        assert any(line.startswith(claim) for line in lines)
    assert lines[-1] == f"The page to look at: {out / 'index.html'}"
    assert len(json.loads((out / "curves.json").read_bytes())["panels"]) == 13
    assert (out / "urban.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (out / "urban.svg").read_text(encoding="utf-8")


def test_the_json_holds_every_curve_and_the_same_seed_gives_the_same_bytes(tmp_path, scene):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        call("urban", "--out", tmp_path / name, "--data", scene, "--seed", seed, *SMALL)
    one, two, three = ((tmp_path / name / "curves.json").read_bytes() for name in "abc")
    assert one == two != three
    document = json.loads(one)
    for panel in document["panels"]:
        assert set(panel["curves"]) == set(competitors(READINGS[panel["reading"]]))
        for curve in panel["curves"].values():
            assert {len(run) for run in curve["losses"]} == {len(panel["iterations"])}
    verdicts = (tmp_path / "a" / "verdicts.md").read_text(encoding="utf-8")
    for finding in document["verdicts"]:
        assert finding["evidence"] in verdicts


def test_one_experiment_alone_leaves_the_other_out(tmp_path, scene):
    call("urban", "--out", tmp_path, "--data", scene, "--iterations", 20)
    assert {path.name for path in tmp_path.iterdir()} == {
        name for name in FILES if not name.startswith(("toy", "sensitivity"))
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "EXPERIMENT: expected one of toy, urban, all, got 'nonsense'"),
        (["toy", "--seeds", "0"], "--seeds: expected an integer of at least 1, got 0"),
        (["toy", "--iterations", "-5"], "--iterations: expected an integer of at least 1, got -5"),
        (["toy", "--seed", "-1"], "--seed: expected an integer of at least 0, got -1"),
        (["urban", "--data", "missing.npz"], "missing.npz: there is no such file"),
    ],
)
def test_wrong_arguments_give_one_sentence_and_leave_no_folder_behind(
    tmp_path, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        call(*arguments, "--out", "out")
    assert str(caught.value) == sentence
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_refused_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("mine")
    monkeypatch.setattr(command, "_toy", lambda *_: pytest.fail("work began"))
    with pytest.raises(InputError, match="--out: cannot write to the folder"):
        call("toy", "--out", tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("name", ["index.html", "verdicts.md", "urban.svg"])
def test_results_are_written_over_where_that_is_meant_alone(tmp_path, scene, monkeypatch, name):
    (tmp_path / name).write_text("mine")
    with monkeypatch.context() as patch:
        patch.setattr(command, "_urban", lambda *_: pytest.fail("work began"))
        with pytest.raises(InputError, match=f"--out: .*{name} is there already; --force writes"):
            call("urban", "--out", tmp_path, "--data", scene)
    assert (tmp_path / name).read_text() == "mine"
    call("urban", "--out", tmp_path, "--data", scene, "--iterations", 20, "--force")
    assert (tmp_path / name).read_text() != "mine"


def test_a_failure_while_writing_leaves_what_was_there_and_nothing_half_written(
    tmp_path, monkeypatch
):
    call("toy", "--out", tmp_path, *SMALL)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self, *arguments, **options):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    with pytest.raises(InputError, match="No space left"):
        call("toy", "--out", tmp_path, "--seed", 9, "--force", *SMALL)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
