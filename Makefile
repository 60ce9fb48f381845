# Everything a fresh machine with Python 3.11+, pip and make needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
# The tests run one process a core; threads of BLAS inside each would only fight.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

.PHONY: help demo test test-cpus test-torch test-oldest check fuzz bench docs dist clean

help:            ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/'

# One stamp per set of extras; it is made anew when the dependencies change.
$(VENV)/.made-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: $(VENV)/.made-plot,report    ## reproduce the paper's experiments
	$(BIN)/pursuit reproduce all --out reproduction --force

test: $(VENV)/.made-test           ## run the tests
	$(PYTEST)

# As on other CPUs, as far as this one can be told to be them: what rounds differently there.
test-cpus: $(VENV)/.made-test      ## run the tests as on other CPUs (CPUS="nehalem zen" ARGS="-x")
	$(BIN)/python tools/test_cpus.py $(CPUS) -- -n auto $(ARGS)

# torch is in no other target: its default wheel is half a gigabyte, and gigabytes with CUDA.
test-torch: $(VENV)/.made-test     ## run the tests of tensors, where a CPU build of torch resolves
	@if $(BIN)/python tools/cpu_torch.py; then $(PYTEST) tests/tensors; fi

# What the oldest packages say about their own dependencies of today is not ours to mend.
test-oldest: $(OLDEST)/.made       ## run the tests with the oldest versions that are supported
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n auto \
		-W ignore::DeprecationWarning

$(OLDEST)/.made: pyproject.toml
	$(PYTHON) -m venv --clear $(OLDEST)
	$(PYTHON) tools/oldest.py test > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(OLDEST)/constraints.txt --editable ".[test]"
	@touch $@

check: $(VENV)/.made-test,check    ## tests, linter, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

fuzz: $(VENV)/.made-test           ## random calls, each checked independently (FUZZ="--help")
	$(BIN)/python tools/fuzz $(FUZZ)

bench: $(VENV)/.made-bench         ## side by side with other libraries
	$(BIN)/python benchmarks/encode.py
	$(BIN)/python benchmarks/unmix.py

# With --quiet mkdocs would count no warning.
docs: $(VENV)/.made-docs           ## build the pages into site/, gallery and all; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python tools/links.py site
	$(BIN)/python tools/widths.py site
	@echo "with a search: $(BIN)/python -m http.server --directory site"

dist: $(VENV)/.made-dist           ## wheel and sdist, checked, and tried in a clean environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) tools/clean_install.py dist/*.whl

clean:           ## remove what the other commands made
	rm -rf $(VENV) $(OLDEST) .cpus site dist .gallery reproduction .pytest_cache .mypy_cache .ruff_cache .hypothesis
