"""The example of docs/sound.md runs, and what it says is so."""

from pathlib import Path

import page_examples

PAGE = Path(__file__).parents[2] / "docs" / "sound.md"


def test_the_example_of_the_page_on_sounds_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((_, shown),) = page_examples.examples(PAGE)
    assert shown.startswith("Book of")
    scope = page_examples.run(PAGE)
    assert scope["book"].snr(scope["sound"]) >= 20
    assert abs(scope["clicks"].time[0] - 1.5) <= 0.001
    assert (tmp_path / "book.npz").exists()
