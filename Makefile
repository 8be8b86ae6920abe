# `make help` lists the targets.  Everything runs from .venv, which `make .venv/ready` makes.
PYTHON ?= python3.11
ifeq ($(shell command -v $(PYTHON)),)
PYTHON := python3
endif
BIN := .venv/bin
export OMP_NUM_THREADS ?= 1

.PHONY: help demo test test-all check format bench bench-peers golden screenshots clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-zA-Z_.-]+:.*?## ' $(MAKEFILE_LIST) | awk -F':.*?## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch torchvision
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: .venv/ready ## simulate the quickstart and compare its four variants
	$(BIN)/simfl run scenarios/quickstart.yaml --overwrite

test: .venv/ready ## the default test suite (minutes)
	$(BIN)/pytest -n auto

test-all: .venv/ready ## slow tests too
	$(BIN)/pytest -m ''

check: .venv/ready ## format, lint, types and the floors of the architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready ## format and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/ready ## the benchmarks of docs/performance.md, side by side in one run
	$(BIN)/python -m benchmarks.training --rounds 7
	$(BIN)/python -m benchmarks.parts
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.scale

bench-peers: .venv/ready ## other simulators beside simfl, each in an environment of its own
	$(BIN)/python -m benchmarks.peers

screenshots: .venv/ready ## the README's pictures of the report (needs Chromium)
	$(BIN)/python analysis/screenshots.py

golden: .venv/ready ## rewrite the golden event logs; read the diff like code
	SIMFL_GOLDEN=write $(BIN)/pytest tests/runs/test_golden.py

clean: ## remove what was built and run
	rm -rf .venv build *.egg-info runs .pytest_cache .mypy_cache .ruff_cache
