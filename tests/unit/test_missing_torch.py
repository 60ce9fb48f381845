"""Without torch: one line that names the extra, where tensors are asked for and not before."""

import pickle
import subprocess
import sys

import pytest

from pursuit.base.errors import MissingExtra

ABSENT = "import sys; sys.modules['torch'] = None\n"
LINE = "MissingExtra: encoding tensors needs the 'torch' extra: python -m pip install"


@pytest.mark.parametrize(
    "code",
    [
        "import pursuit; pursuit.torch.encode([[1.0]], [[1.0]])",
        "from pursuit.torch import PursuitEncoder",
        "import pursuit.torch; pursuit.torch.TopK",
    ],
)
def test_one_line_names_the_extra(code):
    run = subprocess.run([sys.executable, "-c", ABSENT + code], capture_output=True, text=True)
    assert LINE in run.stderr.splitlines()[-1]


def test_the_module_itself_can_be_imported():
    code = ABSENT + "import pursuit.torch; print(dir(pursuit.torch))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['PursuitEncoder', 'TopK', 'encode']"


def test_a_missing_extra_is_said_across_processes():
    error = MissingExtra("dask", "a lazy array")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert type(again) is MissingExtra
