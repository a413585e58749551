# Everything from a fresh clone: `make demo` and `make test` set up what they need in .venv.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo test check lint types imports tests docs bench slow clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    install, then five minutes with the built-in corpus"
	@echo "make test    install with the tools for development, then the quick tests"
	@echo "make check   all that must hold: lint, types, imports, tests, docs"
	@echo "make slow    the tests that take minutes"
	@echo "make bench   measure this machine's speed; SAVE=--save keeps the results"
	@echo "make docs    build the documentation into docs/_build"
	@echo "make clean   remove the environment and what was built"

.venv/core: pyproject.toml constraints.txt
	@echo "Installing into .venv (a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(INSTALL) torch
	@$(INSTALL) --editable .
	@touch $@

.venv/dev: .venv/core
	@echo "Installing the tools for development ..."
	@$(INSTALL) --editable ".[dev]"
	@touch $@

demo: .venv/core
	@$(BIN)/dragoman demo

test: tests

check: lint types imports tests docs

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev
	$(BIN)/mypy

imports: .venv/dev
	$(BIN)/lint-imports

tests: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2

slow: .venv/dev
	$(BIN)/pytest -m slow

docs: .venv/dev
	$(BIN)/sphinx-build -q -n -W --keep-going docs docs/_build

bench: .venv/dev
	@short=; for script in $(filter-out benchmarks/record.py,$(wildcard benchmarks/*.py)); do \
	    echo "== $$script"; $(BIN)/python $$script $(SAVE) || short="$$short $$script"; \
	done; test -z "$$short" || { echo "below what is wanted, or failed:$$short"; exit 1; }

clean:
	rm -rf .venv docs/_build build dist
