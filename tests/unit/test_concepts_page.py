"""The example of docs/concepts.md runs, and says what the page says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "concepts.md"


def test_the_example_of_the_page_prints_what_it_says(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    promised = re.findall(r"print\(.*?\)  # (.*)$", example, re.MULTILINE)
    assert len(printed) == len(promised) == 3
    for line, words in zip(printed, promised, strict=True):
        assert re.match(re.escape(words.partition(":")[0]).replace("…", ".*"), line), line
