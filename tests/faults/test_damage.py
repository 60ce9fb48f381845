"""One changed byte in anything that is kept on disk is found, and said in one sentence."""

from math import prod

import numpy as np
import pytest

from pursuit import Codes, Dictionary, InputError, SquaredDistance, encode, solve
from pursuit.encoding import folder as codes_folder
from pursuit.encoding import writer
from pursuit.encoding.folder import read_about
from pursuit.solving.checkpoint import State

RNG = np.random.default_rng(0)
ATOMS = RNG.standard_normal((20, 8))
SIGNALS = RNG.standard_normal((1100, 8))  # some blocks, the last one short
ARRAYS = ("indptr", "indices", "values", "residual_norms", "iterations", "statuses")
FILES = ("indices.npy", "values.npy", "residual_norms.npy", "iterations.npy", "statuses.npy")
EXPECTED = encode(SIGNALS, ATOMS, n_nonzero=2, threads=1)


def write(out, signals=SIGNALS, **options):
    return encode(signals, ATOMS, n_nonzero=2, threads=1, out=out, **options)


def refused(call, *names):
    """Whether a call ends in an input error of one sentence that has these names in it."""
    try:
        call()
    except InputError as error:
        text = str(error)
        assert "\n" not in text
        assert len(text) < 400
        for name in names:
            assert name in text
        return True
    return False


def everything(path):
    """Read all there is to read of a folder."""
    codes = Codes.open(path)
    return [getattr(codes, name) for name in ARRAYS]


def same(arrays):
    return all(np.array_equal(a, getattr(EXPECTED, n)) for a, n in zip(arrays, ARRAYS, strict=True))


def places(size, few):
    """Some bytes of a file: its first and its last ones, and others in between."""
    ends, between = (4, 12) if few else (30, 60)
    inner = np.random.default_rng(size).integers(0, size, between)
    return sorted({*range(min(size, ends)), *range(max(0, size - ends), size), *inner.tolist()})


def damaged(file, few=False):
    """Put one other bit, or another end, into a file, one after the other; then mend it."""
    whole = file.read_bytes()
    for place in places(len(whole), few):
        for bit in (1 << place % 8, 0xFF)[few:]:
            changed = bytearray(whole)
            changed[place] ^= bit
            file.write_bytes(changed)
            yield f"byte {place} ^ {bit}"
    for end in {0, 40, len(whole) // 2, len(whole) - 1}:
        file.write_bytes(whole[:end])
        yield f"cut at {end}"
    file.write_bytes(whole + b"\0")
    yield "a byte more"
    file.write_bytes(whole)


def test_blocks_that_changed_places_are_found(tmp_path):
    """Rows and records of the first two blocks, each whole, are swapped."""
    folder = tmp_path / "codes"
    write(folder)
    about = read_about(folder)
    assert about.signals >= 2 * about.block
    row_bytes = {
        f"{name}.npy": about.block * dtype.itemsize * prod(shape)
        for name, (dtype, shape) in about.columns.items()
    }
    row_bytes["finished"] = (folder / "finished").stat().st_size // about.blocks
    for name, size in row_bytes.items():
        whole = (folder / name).read_bytes()
        rows = about.blocks * size if name == "finished" else about.signals * size // about.block
        first = len(whole) - rows
        blocks = whole[first : first + size], whole[first + size : first + 2 * size]
        assert blocks[0] != blocks[1] or name in ("iterations.npy", "statuses.npy")
        (folder / name).write_bytes(
            whole[:first] + blocks[1] + blocks[0] + whole[first + 2 * size :]
        )
    assert refused(lambda: everything(folder), "finished")
    assert refused(lambda: Codes.open(folder, verify=True), "finished")


@pytest.mark.parametrize("name", ["about.json", "finished", *FILES])
def test_any_change_in_a_folder_of_codes_is_found_when_it_is_read(tmp_path, name):
    write(tmp_path / "codes")
    assert same(everything(tmp_path / "codes"))
    for change in damaged(tmp_path / "codes" / name):
        assert refused(lambda: everything(tmp_path / "codes"), name), change
        assert refused(lambda: Codes.open(tmp_path / "codes", verify=True), name), change
    assert same(everything(tmp_path / "codes"))


@pytest.mark.parametrize("name", FILES)
def test_no_way_to_read_codes_goes_past_the_checksums(tmp_path, name):
    write(tmp_path / "codes")
    file = tmp_path / "codes" / name
    whole = bytearray(file.read_bytes())
    whole[-1] ^= 4  # of the last signal
    file.write_bytes(whole)
    ways = {
        "item": lambda codes: codes[-1],
        "slice": lambda codes: codes[1000:],
        "numbers": lambda codes: codes[[3, len(SIGNALS) - 1]],
        "iteration": list,
        "product": lambda codes: codes @ ATOMS,
        "matrix": lambda codes: codes.matrix,
        "dense": np.asarray,
        "text": str,
        "parts": lambda codes: list(codes.parts()),
        "sizes": lambda codes: codes.sizes,
        "save": lambda codes: codes.save(tmp_path / "codes.npz"),
        "column": lambda codes: getattr(codes, name.removesuffix(".npy")),
    }
    for way, read in ways.items():
        assert refused(lambda read=read: read(Codes.open(tmp_path / "codes")), name), way
    # Reading is lazy: what was asked for is whole, and nothing else was looked at.
    codes = Codes.open(tmp_path / "codes")
    assert np.array_equal(codes[:500].values, EXPECTED[:500].values)
    assert codes[7].status is EXPECTED[7].status


def test_a_block_is_compared_once_and_only_when_it_is_read(tmp_path, monkeypatch):
    write(tmp_path / "codes")
    compared = []
    checksum = codes_folder.checksum
    monkeypatch.setattr(
        codes_folder, "checksum", lambda rows: compared.append(len(rows)) or checksum(rows)
    )
    codes = Codes.open(tmp_path / "codes")
    assert len(codes) == 1100
    assert compared == []
    block = read_about(tmp_path / "codes").block
    last = len(SIGNALS) % block
    codes[5], codes[6], codes[:100]
    assert compared == [block] * 5
    codes[-1]
    assert compared == [block] * 5 + [last] * 5
    codes.matrix, codes.sizes, codes.residual_norms
    assert sum(compared) == 5 * len(SIGNALS)


def begun(out, signals):
    """A folder whose run was stopped after two of its blocks."""

    def failing(self, signals):
        self._commit()
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        keep = writer.Writer.keep
        patch.setattr(writer.Writer, "finish", failing)
        patch.setattr(
            writer.Writer, "keep", lambda self, n, *rest: keep(self, n, *rest) if n < 2 else None
        )
        with pytest.raises(KeyboardInterrupt):
            write(out, signals())
    return out


@pytest.mark.parametrize("signals", [lambda: SIGNALS, lambda: iter([SIGNALS])], ids=["array", "it"])
@pytest.mark.parametrize("name", ["about.json", "finished", *FILES])
def test_any_change_in_a_run_that_was_stopped_is_found_or_written_over(tmp_path, name, signals):
    """Rows of a block that was not finished are of no use to anybody."""
    out = begun(tmp_path / "codes", signals)
    kept = {file.name: file.read_bytes() for file in out.iterdir()}
    found = 0
    for change in damaged(out / name, few=True):
        changed = (out / name).read_bytes()
        if refused(lambda: write(out, signals(), resume=True), name):
            found += 1
            assert (out / name).read_bytes() == changed, change
        else:
            assert same(everything(out)), change
        for file, content in kept.items():
            (out / file).write_bytes(content)
    assert found > 3
    assert same([getattr(write(out, signals(), resume=True), name) for name in ARRAYS])


def test_a_damaged_run_can_be_encoded_again_as_the_sentence_says(tmp_path):
    out = begun(tmp_path / "codes", lambda: SIGNALS)
    changed = bytearray((out / "values.npy").read_bytes())
    changed[1000] ^= 1
    (out / "values.npy").write_bytes(changed)
    with pytest.raises(InputError, match=r"block 0, .*; without the file finished, resume"):
        write(out, resume=True)
    (out / "finished").unlink()
    assert same([getattr(write(out, resume=True), name) for name in ARRAYS])


def test_any_change_in_saved_codes_is_found(tmp_path):
    EXPECTED.save(tmp_path / "codes.npz")
    assert same([getattr(Codes.load(tmp_path / "codes.npz"), name) for name in ARRAYS])
    for change in damaged(tmp_path / "codes.npz"):
        assert refused(lambda: Codes.load(tmp_path / "codes.npz"), "codes.npz"), change


def test_any_change_in_a_checkpoint_is_found_and_nothing_is_resumed(tmp_path):
    f, atoms, path = SquaredDistance(SIGNALS[0]), Dictionary(ATOMS), tmp_path / "state"
    solve(f, atoms, "accelerated-matching-pursuit", max_iter=5, checkpoint=path)
    for change in damaged(path):
        assert refused(lambda: solve(f, atoms, resume=path), "resume: ", "state"), change
        assert refused(lambda: State.load(path), "state"), change
