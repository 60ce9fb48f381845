"""The example of docs/sound.md runs, and what it says is so."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "sound.md"


def test_the_example_of_the_page_on_sounds_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), scope)
    assert "Book of" in capsys.readouterr().out
    assert scope["book"].snr(scope["sound"]) >= 20
    assert abs(scope["clicks"].time[0] - 1.5) <= 0.001
    assert (tmp_path / "book.npz").exists()
