"""`pursuit constants`: the table of a dictionary in a file."""

import json

import numpy as np
import pytest
from scipy.io import savemat
from typer.testing import CliRunner

from pursuit import Dictionary, geometry
from pursuit.cli import app
from pursuit.files import data

SHOWN = ["radius", "diameter", "mDW", "δ̂²", "1/r", "ν′", "ν"]


def run(*arguments):
    result = CliRunner().invoke(app, ["constants", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def machine(*arguments):
    document = json.loads(run(*arguments, "--json"))
    return document, {row["constant"]: row for row in document["constants"]}


@pytest.fixture
def Z():
    return np.random.default_rng(0).standard_normal((7, 4)) * np.arange(1, 8)[:, None]


def test_every_format_gives_the_same_numbers(tmp_path, Z):
    np.save(tmp_path / "a.npy", Z)
    np.savez(tmp_path / "a.npz", atoms=Z, other=np.ones((2, 2)))
    savemat(tmp_path / "a.mat", {"atoms": Z.T})
    np.savetxt(tmp_path / "a.csv", Z, delimiter=",")
    documents = [
        machine(tmp_path / "a.npy"),
        machine(tmp_path / "a.npz", "--variable", "atoms"),
        machine(tmp_path / "a.mat", "--columns"),
        machine(tmp_path / "a.csv"),
    ]
    for document, rows in documents:
        assert (document["atoms"], document["shape"], document["rank"]) == (7, [4], 4)
        assert list(rows) == SHOWN
        for name, row in rows.items():
            assert row["value"] == pytest.approx(documents[0][1][name]["value"], rel=1e-12)


def test_numbers_are_those_of_the_library(tmp_path, Z):
    np.save(tmp_path / "a.npy", Z)
    for options, atoms in (([], Dictionary(Z)), (["--unit"], Dictionary(Z).unit().atoms)):
        _, rows = machine(tmp_path / "a.npy", *options)
        assert rows["δ̂²"]["value"] == pytest.approx(geometry.sampling_quality(atoms))
        assert rows["ν"]["value"] == pytest.approx(geometry.nu(atoms))
        assert rows["mDW"]["lower"] == pytest.approx(geometry.directional_width(atoms).lower)
        assert rows["ν′"]["kind"] == "exact"
        assert rows["ν′"]["serves"] == "Theorem 9"


def test_the_table_shows_every_constant_with_its_interval_and_kind(tmp_path):
    Z = np.random.default_rng(1).standard_normal((60, 20))
    np.save(tmp_path / "a.npy", Z)
    shown = run(tmp_path / "a.npy")
    assert all(symbol in shown for symbol in SHOWN)
    assert "rank 20" in shown
    assert "upper bound" in shown
    assert "lower bound" in shown
    nu = geometry.nu(Dictionary(Z))
    assert f"[{nu.lower:#.6g}, {nu.upper:#.6g}]" in shown


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    result = CliRunner().invoke(app, ["constants", str(tmp_path / "none.npy")])
    assert result.exit_code != 0
    assert "none.npy" in str(result.exception)


def test_the_six_unit_atoms_of_urban(tmp_path):
    """There the best sampling is the uniform one: ν′ = ν = r = 6, exactly."""
    path = data.find("urban77/urban77.npz")
    if path is None:
        pytest.skip("the Urban data (urban77/urban77.npz) is not there; see $PURSUIT_DATA")
    with np.load(path) as file:
        np.save(tmp_path / "urban.npy", file["pixels"][:, file["h2nmf_indices"]].T)
    document, rows = machine(tmp_path / "urban.npy", "--unit")
    assert document["rank"] == 6
    assert rows["δ̂²"]["value"] == pytest.approx(1 / 6, rel=1e-9)
    assert rows["ν′"]["value"] == pytest.approx(6, rel=1e-9)
    assert rows["ν"]["upper"] == pytest.approx(6, rel=1e-9)
    assert 0.005 < rows["mDW"]["lower"] <= rows["mDW"]["upper"] < 0.007


@pytest.mark.parametrize("size", [1e80, 1e-80])
def test_atoms_out_of_range_are_one_sentence(tmp_path, pursuit, Z, size):
    np.save(tmp_path / "a.npy", size * Z)
    code, _, error = pursuit("constants", tmp_path / "a.npy")
    assert code != 0
    assert "must be zero or have its largest magnitude from 1e-70 to 1e+70" in error
    assert len(error.strip().splitlines()) <= 3


def test_a_file_in_single_precision_keeps_its_rank_and_its_kinds(tmp_path):
    rng = np.random.default_rng(2)
    Z = (1 + 1e-5 * rng.standard_normal((30, 20))).astype(np.float32)
    np.save(tmp_path / "a.npy", Z)
    document, rows = machine(tmp_path / "a.npy", "--unit")
    assert document["rank"] == 20
    assert rows["ν′"]["value"] >= 20
    assert rows["mDW"]["kind"] == "lower bound"
