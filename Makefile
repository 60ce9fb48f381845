# Everything a fresh machine with Python 3.11+, pip and make needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The tests run one process a core; threads of BLAS inside each would only fight.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

.PHONY: help demo test check bench clean

help:            ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/'

# One stamp per set of extras; it is made anew when the dependencies change.
$(VENV)/.made-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: $(VENV)/.made-plot,report    ## reproduce the paper's experiments
	$(BIN)/pursuit reproduce all --out reproduction

test: $(VENV)/.made-test           ## run the tests
	$(PYTEST)

check: $(VENV)/.made-test,check    ## tests, linter, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

bench: $(VENV)/.made-bench         ## side by side with other libraries
	$(BIN)/python benchmarks/encode.py
	$(BIN)/python benchmarks/unmix.py

clean:           ## remove what the other commands made
	rm -rf $(VENV) reproduction .pytest_cache .mypy_cache .ruff_cache .hypothesis
