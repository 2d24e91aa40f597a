# `make demo` and `make test` need Python 3.11 or newer and nothing else.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
OUT ?= build/demo
PYTEST_ARGS ?= -n 2 --dist loadgroup

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq -c constraints.txt
MAKEFLAGS += --no-print-directory
# Commands say what they do themselves, so that the last line of `make demo` is the demo's own.
.SILENT:
.PHONY: demo test test-slow lint format clean

## Train on dates, export, verify and run through ONNX Runtime; the last line is one JSON object.
demo: $(STAMP)
	$(BIN)/python -m tools.demo --out $(OUT)

## Every test that is not marked slow.
test: $(STAMP)
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

## The rest: training to a bar, whole exports.
test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

lint: $(BIN)/ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

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

$(BIN)/ruff: constraints.txt | $(BIN)/python
	$(PIP) ruff
	touch $(BIN)/ruff
