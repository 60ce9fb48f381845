"""``python -m pursuit`` is the command line."""

from pursuit.cli import main

main()
