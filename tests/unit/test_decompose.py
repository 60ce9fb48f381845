"""Sounds taken apart: what is found where, books, and the way back."""

from dataclasses import replace

import numpy as np
import pytest

from pursuit import Book, Gabor, InputError, SquaredDistance, decompose, plots, solve
from pursuit.base.archive import save_archive
from pursuit.decomposing.book import COLUMNS, facts
from pursuit.decomposing.book_files import BOOK
from pursuit.decomposing.pictures import density

RATE = 8000
CLICK = 1.5
T = np.arange(2 * RATE) / RATE


def scene():
    """A chirp from 500 to 2,500 Hz, tones of 800 and 3,000 Hz that begin and end, a click."""
    chirp = 0.3 * np.cos(2 * np.pi * (500 * T + 500 * T**2))
    low = 0.5 * np.cos(2 * np.pi * 800 * T) * ((T > 0.5) & (T < 1.2))
    high = 0.4 * np.cos(2 * np.pi * 3000 * T) * ((T > 0.2) & (T < 1.8))
    click = 4.0 * (np.arange(len(T)) == int(CLICK * RATE))
    return {"chirp": chirp, "low": low, "high": high, "click": click}


def soft(length=1200):
    """Something that fades at both ends."""
    t = np.arange(length)
    return np.exp(-(((t - length / 2) / (length / 6)) ** 2)) * np.cos(0.3 * t + 2e-4 * t**2)


@pytest.fixture(scope="module")
def found():
    noise = 0.01 * np.random.default_rng(1).standard_normal(len(T))
    signal = sum(scene().values()) + noise
    return signal, decompose(signal, RATE, 20)


def parts(book):
    """The atoms of each thing: those nearer to it than they are wide, and a little more."""
    click = (np.abs(book.time - CLICK) < 0.004) & (book.scale <= 128)
    wide = 30 + RATE / book.scale  # hertz
    return {
        "click": click,
        "chirp": ~click & (np.abs(book.frequency - 500 - 1000 * book.time) < wide),
        "low": ~click & (np.abs(book.frequency - 800) < wide) & (np.abs(book.time - 0.85) < 0.45),
        "high": ~click & (np.abs(book.frequency - 3000) < wide),
    }


def test_a_chirp_two_tones_and_a_click_are_found_where_they_are(found):
    _, book = found
    near = parts(book)
    everything = np.any(list(near.values()), axis=0)
    assert book.energy[everything].sum() >= 0.99 * book.energy.sum()
    for name, wave in scene().items():
        fit = book[near[name]].rebuild()
        assert fit @ wave >= 0.9 * np.sqrt((fit @ fit) * (wave @ wave)), name
    for name, pitch in (("low", 800), ("high", 3000)):
        longest = book[near[name]][0]
        assert longest.scale[0] == 8192
        assert abs(longest.frequency[0] - pitch) <= 0.5 * RATE / 8192, name
    first = book[near["click"]][0]
    assert abs(first.time[0] - CLICK) * RATE <= 8


def test_the_picture_has_its_energy_where_the_book_has_it(found):
    _, book = found
    picture, top = density(book)
    rows, columns = picture.shape
    frequency = (np.arange(rows) + 0.5) * top / rows
    time = (np.arange(columns) + 0.5) * 2 / columns
    # The brightest frequency of a column is the chirp's, where it is alone.
    alone = picture[:, (time > 0.05) & (time < 0.15)]
    assert np.abs(frequency[alone.argmax(0)] - 500 - 1000 * 0.1).max() <= 80
    column = picture[:, int(CLICK / 2 * columns)]
    assert (column[(frequency > 100) & (frequency < 3500)] > 1e-6 * picture.max()).all()
    figure = book.plot()
    assert [ax.get_ylabel() for ax in figure.axes] == ["signal", "frequency (Hz)", "dB"]
    assert figure.axes[1].get_ylim() == (0.0, pytest.approx(top))


def test_what_a_book_rebuilds_and_the_residual_of_the_run_are_the_signal():
    signal = soft() + 0.2
    book = decompose(signal, 100.0, 25, scales=(32, 128))
    padded = np.pad(signal, 16)
    run = solve(
        SquaredDistance(padded), Gabor(len(padded), (32, 128)), rtol=10 ** (-25 / 20), tol=0
    )
    residual = (padded - run.x)[16:-16]
    assert np.abs(book.rebuild() + residual - signal).max() <= 1e-10 * np.abs(signal).max()
    assert len(book) == run.iterations
    assert book.reached == pytest.approx(book.snr(signal))


@pytest.mark.parametrize("snr", [3, 20, 41.5])
def test_the_ratio_asked_for_is_reached_with_the_last_atom_needed(snr):
    signal = soft()
    book = decompose(signal, 1.0, snr, scales=(32, 64, 256))
    assert book.snr(signal) >= snr
    assert book[:-1].snr(signal) < snr


def test_the_ends_of_a_signal_are_reached():
    """Noise has energy at its very ends, where no window would be large."""
    noise = np.random.default_rng(0).standard_normal(300)
    book = decompose(noise, 1.0, 40, scales=(16, 32), max_atoms=5000)
    assert book.snr(noise) >= 40


@pytest.mark.parametrize("unit", [2.0**-200, 2.0**200])
def test_the_unit_of_a_signal_changes_its_amplitudes_alone(unit):
    plain, other = (decompose(soft(300) * scale, 1.0, 15) for scale in (1.0, unit))
    assert np.array_equal(other.amplitude, plain.amplitude * unit)
    for name in COLUMNS[:-1]:
        assert np.array_equal(getattr(other, name), getattr(plain, name))
    assert other.reached == plain.reached


def test_a_book_of_some_atoms_is_a_book(found):
    signal, book = found
    low = book[book.frequency < 500]
    assert 0 < len(low) < len(book)
    assert (low.frequency < 500).all()
    rest = book[book.frequency >= 500]
    assert np.allclose(low.rebuild() + rest.rebuild(), book.rebuild(), atol=1e-12)
    assert np.array_equal(book[3].amplitude, book.amplitude[3:4])
    assert len(book[:10]) == 10
    assert low.reached == ()
    with pytest.raises(InputError, match="book: expected a mask"):
        book[np.ones(3, bool)]
    with pytest.raises(InputError, match="signal: expected shape"):
        book.snr(signal[1:])


def test_what_selects_no_row_of_atoms_is_refused(found):
    _, book = found
    for which in (None, True, np.zeros((2, 2), int), len(book)):
        with pytest.raises(InputError, match="book: expected a mask"):
            book[which]
    assert len(book[np.array(1)]) == len(book[-1]) == 1
    assert len(book[[]]) == len(book[:0]) == 0


def test_a_book_is_gone_through_atom_by_atom(found):
    _, book = found
    assert [one.amplitude[0] for one in book[:7]] == book.amplitude[:7].tolist()


def test_a_book_prints_its_first_atoms(found):
    _, book = found
    lines = repr(book).splitlines()
    assert lines[0].startswith(f"Book of {len(book)} atoms for 2 s at 8000 Hz, 20.0")
    assert lines[-1] == f"   … and {len(book) - 5} more"
    assert lines[1].split() == ["frequency", "time", "scale", "phase", "amplitude"]
    assert repr(book[:0]) == "Book of 0 atoms for 2 s at 8000 Hz"


def test_a_book_of_several_channels_says_whose_an_atom_is():
    book = decompose([soft(), soft()[::-1]], 100.0, 5, scales=(64,), shared=True)
    titles, *rows = (line.split() for line in repr(book).splitlines()[1:5])
    assert titles == ["channel", "frequency", "time", "scale", "phase", "amplitude"]
    assert [row[0] for row in rows] == ["0", "1", "0"]
    assert ">channel</th>" in book._repr_html_()


def test_columns_of_any_width_stay_apart():
    book = decompose(soft(), 1e300, 5, scales=(64,))
    assert len(repr(book).splitlines()[2].split()) == 5
    assert "1048576" in repr(replace(book, scale=np.full(len(book), 2**20)))


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_a_saved_book_is_the_same_to_the_last_bit(tmp_path, ending):
    rows = np.array([soft(), soft()[::-1] * 0.5])
    book = decompose(rows, 100.0, 10, scales=(64,))
    book.save(tmp_path / f"b.{ending}")
    again = Book.load(tmp_path / f"b.{ending}")
    for name in COLUMNS:
        assert np.array_equal(getattr(book, name), getattr(again, name)), name
        assert getattr(book, name).dtype == getattr(again, name).dtype
    assert (again.rate, again.length, again.channels) == (100.0, 1200, 2)
    assert again.reached == book.reached
    assert np.array_equal(book.rebuild(), again.rebuild())
    book[:0].save(tmp_path / f"none.{ending}")
    assert len(Book.load(tmp_path / f"none.{ending}")) == 0


def test_a_damaged_book_is_refused_in_a_sentence(tmp_path):
    book = decompose(soft(), 100.0, 10, scales=(64,))
    file = tmp_path / "b.npz"
    book.save(file)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(InputError, match="is damaged: its checksum is not that"):
        Book.load(file)
    table = tmp_path / "b.csv"
    book.save(table)
    table.write_text(table.read_text().replace("amplitude", "size"))
    with pytest.raises(InputError, match="is not a book that `save` wrote"):
        Book.load(table)
    table.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="is not a book"):
        Book.load(table)
    with pytest.raises(InputError, match=r"expected a file that ends in \.npz or \.csv"):
        book.save(tmp_path / "b.txt")


ROWS = ["0,0,9,1,64.5,0,1", "0,0,9,1,1e19,0,1", "0,0,9,1,1000000000000,0,1", "0,0,9,1e300,64,0,1"]


def kept_row(path, row):
    """A book in a file, of one row that nobody has looked at."""
    book, columns = decompose(soft(), 100.0, 10, scales=(64,))[:0], row.split(",")
    listed = {name: np.array([float(v)]) for name, v in zip(COLUMNS, columns, strict=True)}
    save_archive(path, BOOK, facts(book), listed)
    return path


@pytest.mark.parametrize("row", ROWS)
def test_a_row_that_is_no_atom_of_the_signal_is_refused(tmp_path, row):
    with pytest.raises(InputError, match=r"book: .* is (damaged, its columns|not a book \()"):
        Book.load(kept_row(tmp_path / "b.npz", row))


@pytest.mark.parametrize("values", [[1 + 1j], [[1.0]], ["1"], [b"1"], 1.0])
def test_a_column_that_is_none_is_refused(tmp_path, values):
    book = decompose(soft(), 100.0, 10, scales=(64,))[:0]
    listed = {name: np.ones(1) for name in COLUMNS}
    listed["amplitude"] = np.array(values)
    save_archive(tmp_path / "b.npz", BOOK, facts(book), listed)
    with pytest.raises(InputError, match=r"book: .* is not a book \(amplitude "):
        Book.load(tmp_path / "b.npz")


def test_an_atom_far_above_half_the_rate_is_not_drawn(tmp_path):
    book = Book.load(kept_row(tmp_path / "b.npz", "0,0,1e300,1,64,0,1"))
    assert len(book) == 1
    assert not density(book)[0].any()


def test_any_change_in_a_book_in_a_table_is_found(tmp_path):
    table = tmp_path / "b.csv"
    book = decompose(soft(), 100.0, 4, scales=(64,))
    book.save(table)
    text = table.read_text()
    first, titles, *rows = text.splitlines()
    changed = [text[:k] + chr(ord(text[k]) ^ 1) + text[k + 1 :] for k in range(len(text))]
    changed += [text[:k] for k in range(len(text) - 1)]
    changed += ["\n".join([first, titles, *some]) for some in (rows[1:], rows * 2, rows[::-1])]
    changed += [text + rows[0], text.replace('"checksum"', '"other"'), ""]
    changed += [f"# pursuit book {value}\n{titles}\n" for value in ("3", "[]", "null", "{}")]
    for other in changed:
        table.write_text(other)
        try:
            found = Book.load(table)
        except InputError:
            continue
        assert other.splitlines() == text.splitlines()  # the end of a line is of another kind
        assert all(np.array_equal(getattr(found, n), getattr(book, n)) for n in COLUMNS)


def test_a_table_whose_lines_end_as_on_windows_is_the_same_book(tmp_path):
    table = tmp_path / "b.csv"
    book = decompose(soft(), 100.0, 4, scales=(64,))
    book.save(table)
    table.write_bytes(table.read_bytes().replace(b"\n", b"\r\n"))
    assert np.array_equal(Book.load(table).rebuild(), book.rebuild())


BAD = np.full(500, np.nan)
WRONG = [
    ((np.zeros(500), 1.0), {}, "signal must have a sample that is not zero"),
    (
        (np.array([soft(), 0 * soft()]), 1.0),
        {},
        "signal must have a sample that is not zero, got zeros alone in channel 1",
    ),
    (
        (np.array([soft(), 1e-80 * soft()]), 1.0),
        {},
        "signal must be zero or have its largest magnitude from 1e-70 to 1e+70, got",
    ),
    ((BAD, 1.0), {}, "signal: expected finite numbers, got nan at (0,)"),
    ((soft(50), 1.0), {}, "signal: 50 samples are shorter than a window; expected at least 64"),
    ((soft(500), 1.0), {"scales": (64, 512)}, "signal: 500 samples are shorter than a window"),
    ((soft(500)[:, None], 1.0), {}, "signal: expected channels as rows, got 500 channels"),
    ((np.zeros((500, 2)), 1.0), {}, "signal: expected channels as rows, got 500 channels"),
    ((np.ones((2, 2, 2)), 1.0), {}, "signal: expected samples, or channels as rows"),
    ((soft(), 0.0), {}, "rate: expected a positive number"),
    ((soft(), 1.0, -3), {}, "snr: expected a positive number"),
    ((soft(), 1.0, 300), {}, "snr: expected at most 200 dB"),
    ((soft(), 1.0), {"max_atoms": 0}, "max_atoms: expected an integer of at least 1"),
    ((soft(), 1.0), {"scales": (100,)}, "scales: expected powers of two"),
    ((soft(), 1.0), {"hop": 1}, "hop: expected 1/4, 1/8 or 1/16"),
    ((soft(), 1.0), {"resume": True}, "resume: expected a checkpoint"),
]


@pytest.mark.parametrize(("arguments", "options", "words"), WRONG, ids=lambda v: str(v)[:20])
def test_what_cannot_be_taken_apart_is_refused_in_a_sentence(arguments, options, words):
    with pytest.raises(InputError) as error:
        decompose(*arguments, **options)
    assert str(error.value).startswith(words)


def test_an_atom_fades_out_within_what_is_drawn():
    picture, _ = density(decompose(soft(), 100.0, 1, scales=(256,), max_atoms=1))
    edges = np.diff(np.pad(picture > 0, 1).astype(int), axis=1) != 0
    beside = np.maximum(picture, np.pad(picture, ((0, 0), (1, 0)))[:, :-1])
    assert beside[edges[1:-1, :-1]].max() <= 1e-5 * picture.max()


def test_channels_are_drawn_one_below_the_other():
    ax = plots.waveform(np.array([[1.0, -1.0], [50.0, 20.0]]), 2.0)
    first, second = (line.get_ydata() for line in ax.get_lines())
    low, high = ax.get_ylim()
    assert high <= first.min() <= first.max() < second.min() <= second.max() <= low


def test_axes_of_ones_own_are_drawn_on():
    ax = plots.figure(3, 3).subplots()
    assert plots.waveform(np.ones((1, 5)), 5.0, ax) is ax
    assert plots.time_frequency(np.ones((4, 5)), 1.0, 2.0, ax) is ax


def test_decompose_warns_of_the_limit_and_of_the_snr_reached():
    noise = np.random.default_rng(0).standard_normal(600)
    with pytest.warns(UserWarning, match=r"snr=60 dB was not reached, got ") as caught:
        book = decompose(noise, 100.0, 60)
    (warning,) = caught
    assert f"got {book.reached[0]:.4g} dB: maximum number of atoms" in str(warning.message)
    assert "(max_atoms=600, one for each sample)" in str(warning.message)
    # A number of atoms that was asked for is no surprise.
    assert len(decompose(np.array([soft(600), noise]), 100.0, 20, max_atoms=5)) == 10
