# Everything a newcomer needs; each target sets up what it uses.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint clean

demo: $(VENV)/installed           ## install, train and prune a network by seven methods, print the tables
	$(BIN)/mobench run suite=compression

test: $(VENV)/tested              ## install with everything the tests need, and run all checks
	$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered tests

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/tested: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build *.egg-info
