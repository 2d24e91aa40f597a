# `make demo` and `make test` need Python 3.11 or newer and nothing else.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
OUT ?= build/demo
PYTEST_ARGS ?= -n 2 --dist loadgroup --durations=15 --durations-min=5

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq -c constraints.txt
MAKEFLAGS += --no-print-directory
# Commands say what they do themselves, so that the last line of `make demo` is the demo's own.
.SILENT:
# Hundreds of processes of the tests import the same modules, which are compiled once.
test test-slow test-release test-arithmetic: export PYTHONDONTWRITEBYTECODE =
# The dearer tests run in parts, each in processes of its own: what is compiled is kept until a process ends, and with all
# of it in one process there were nine gigabytes. PARTS=laws runs one of them alone.
PARTS ?= laws exports runs tools trainings others
laws := tests/test_contracts.py
exports := tests/serving tests/gallery tests/hub
runs := tests/runs tests/tasks tests/reproduce
tools := tests/tools tests/pages
trainings := tests/training tests/recipes
others := tests $(addprefix --ignore=,$(laws) $(exports) $(runs) $(tools) $(trainings))
.PHONY: demo test test-slow test-release test-arithmetic docs tables lint format clean

## Train on dates, export, verify and run through ONNX Runtime; the last line is one JSON object.
demo: $(STAMP)
	$(BIN)/python examples/demo.py --out $(OUT)

## The quick tests: all that are not marked as slow (`tests/tiers.py`).
test: $(STAMP)
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

## The dearer ones: training to a bar, whole exports. Of large families of cases a part is run, and all at a release.
test-slow: $(STAMP)
	failed=0; $(foreach part,$(PARTS),$(BIN)/python -m pytest -m "slow and not release" $(PYTEST_ARGS) $($(part)) \
		|| failed=1;) exit $$failed

## The rest of those families, and what takes long; `tests/release.txt` says when each part passed last.
test-release: $(STAMP)
	failed=0; $(foreach part,$(PARTS),$(BIN)/python -m pytest -m "release" $(PYTEST_ARGS) $($(part)) \
		&& $(call note,$(part)) || failed=1;) exit $$failed
note = { sed -i '/^$(1): /d' tests/release.txt; \
	echo "$(1): passed at $$(date -u '+%Y-%m-%d %H:%M') UTC, on commit $$(git rev-parse --short HEAD)" >> tests/release.txt; }

## The quick tests of numbers once more, in another processor's arithmetic: other kernels, other orders of summation.
NUMBERS := $(addprefix tests/,attention depth training/test_loop.py serving/export/test_parity.py test_contracts.py \
	test_gradients.py pages/test_python.py)
test-arithmetic: export TF_ENABLE_ONEDNN_OPTS = 0
test-arithmetic: export XLA_FLAGS = --xla_cpu_max_isa=SSE4_2
test-arithmetic: export OPENBLAS_CORETYPE = Nehalem
test-arithmetic: $(STAMP)
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS) $(NUMBERS)

## The site, into build/site: pages, the API from the docstrings, and a search, all of which work without a network.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(BIN)/mkdocs
	$(BIN)/python -m mkdocs build --quiet
	echo "build/site/index.html"

## What follows from the tables of recipes: the page of settings, the schema for editors, and which mixes are built.
tables: $(STAMP)
	$(BIN)/python docs/settings.py
	$(BIN)/python docs/mixes.py
	$(BIN)/python docs/recipe_schema.py

## Style, who imports whom, and the types of what users call: pyproject.toml has the contracts and the list of files.
lint: $(BIN)/ruff $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m mypy

format: $(BIN)/ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	test -n "$(PYTHON)" || { echo "seqzoo needs Python 3.11 or newer; found none" >&2; exit 1; }
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
		"seqzoo needs Python 3.11 or newer; found " + sys.version.split()[0] + \
		". Name one with: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	echo "installing into $(VENV) (about 1 GB; a few minutes the first time)" >&2
	$(PIP) -e '.[tensorflow,jax,test]'
	touch $(STAMP)

$(BIN)/mkdocs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[docs]'
	touch $(BIN)/mkdocs

$(BIN)/ruff: constraints.txt | $(BIN)/python
	$(PIP) ruff import-linter
	touch $(BIN)/ruff
