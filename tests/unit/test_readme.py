"""The README's first examples."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_python_examples_of_the_readme_run_one_after_the_other(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 2
    scope = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), scope)
    printed = capsys.readouterr().out
    assert "10,000 signals over 256 atoms" in printed
    assert "CONVERGED" in printed


def test_every_page_that_the_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text())
    assert links
    missing = [link for link in links if not (README.parent / link).is_file()]
    assert missing == []
