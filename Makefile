# The same recipes serve a person, the pre-commit hooks and .ci/run.
# PYTHON is the environment of the checkout, or else the interpreter on PATH.

ifeq ($(origin PYTHON), undefined)
PYTHON := $(shell if [ -x .venv/bin/python ]; then echo .venv/bin/python; else command -v python || command -v python3; fi)
endif
PYTEST := $(PYTHON) -m pytest

.DEFAULT_GOAL := help
.PHONY: help fmt lint types layers test test-fast test-ray test-all schema bench check

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

fmt:  ## format, and mend what ruff can mend
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:  ## formatting and style
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:  ## both strict type checkers
	$(PYTHON) -m pyright --pythonpath "$$(command -v $(PYTHON))"
	$(PYTHON) -m mypy

layers:  ## the import contracts
	PYTHONPATH=src $(PYTHON) -c 'from importlinter.cli import lint_imports_command as main; main()' --no-logo

test:  ## all but the slow tests
	$(PYTEST)

test-fast:  ## seconds: no cluster, nothing slow
	$(PYTEST) -m "not ray and not slow"

test-ray:  ## only what needs a cluster
	$(PYTEST) -m "ray and not slow"

test-all:  ## every test, property tests at length
	$(PYTEST) -m "" --hypothesis-profile=long -p randomly

schema:  ## write the JSON Schema of fleet files anew
	PYTHONPATH=src $(PYTHON) -m amrita_fleet.runtime.fleet_file.json_schema > schema.tmp
	mv schema.tmp runtime/fleet_file/fleet-file.schema.json

bench:  ## print the measurements of benchmarks/
	@set -e; for script in $(wildcard benchmarks/[a-z]*.py); do echo "== $$script"; $(PYTHON) "$$script"; done

check: lint types layers test-all  ## everything, slow tests included; within 25 minutes
