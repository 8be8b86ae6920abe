# `make help` lists the targets.  Everything runs from .venv, which `make .venv/ready` makes.
PYTHON ?= python3.11
ifeq ($(shell command -v $(PYTHON)),)
PYTHON := python3
endif
BIN := .venv/bin
export OMP_NUM_THREADS ?= 1

CPU_INDEX := https://download.pytorch.org/whl/cpu
PIP := pip install --quiet --disable-pip-version-check
OFFLINE = $(if $(wildcard wheels),--no-index --find-links wheels)
# PyTorch's CPU builds where their index can be had; elsewhere the plain index has to do.
FIND_CPU := -c "import signal, urllib.request as u; signal.alarm(4); u.urlopen('$(CPU_INDEX)/torch/', timeout=3)"
CPU_BUILDS = $$($(PYTHON) $(FIND_CPU) >/dev/null 2>&1 && echo --extra-index-url $(CPU_INDEX))

.PHONY: help demo test test-all test-pythons test-minimum soak coverage check format bench bench-peers papers-quick testbed docs golden screenshots lock wheels dist clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-zA-Z_.-]+:.*?## ' $(MAKEFILE_LIST) | awk -F':.*?## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.venv/ready: pyproject.toml constraints.txt setup.py $(wildcard simfl/training/kernels/native/*)
	@echo "installing into .venv: PyTorch and what simfl needs, a few minutes at the first time"
	$(PYTHON) -m venv .venv
	$(BIN)/$(PIP) $(OFFLINE) --constraint constraints.txt $(CPU_BUILDS) torch torchvision
	$(BIN)/$(PIP) $(OFFLINE) --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: .venv/ready ## simulate the quickstart and compare its four variants
	$(BIN)/simfl run scenarios/quickstart.yaml --overwrite

test: .venv/ready ## the default test suite (minutes)
	$(BIN)/pytest -n auto --dist worksteal

test-all: .venv/ready ## slow tests too
	$(BIN)/pytest -m ''

SOAK ?= 1
soak: .venv/ready ## the long form of tests/reliability, hours; SOAK=0.01: a hundredth of it
	SIMFL_SOAK=$(SOAK) $(BIN)/pytest -m '' tests/reliability

test-pythons: ## the default tests on Python 3.11 to 3.13, as far as they are here
	@for version in 3.11 3.12 3.13; do \
	  if ! python$$version -c '' 2>/dev/null; then echo "python$$version is not here: skipped"; continue; fi; \
	  echo "python$$version" && python$$version -m venv build/python$$version && \
	  build/python$$version/bin/$(PIP) --constraint constraints.txt $(CPU_BUILDS) torch torchvision && \
	  build/python$$version/bin/$(PIP) --constraint constraints.txt --editable '.[dev]' && \
	  build/python$$version/bin/python -m pytest -n auto --dist worksteal || exit 1; \
	done

# torchvision's too, which dev has: another would bring another PyTorch.
MINIMA := import re, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  wants = project["dependencies"] + [want for want in project["optional-dependencies"]["dev"] if "torch" in want]; \
  print("\n".join(re.sub(r">=([\d.]+).*", r"==\1.*", want) for want in wants))
test-minimum: ## the default tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv build/minimum
	$(PYTHON) -c '$(MINIMA)' > build/minimum.txt
	@if build/minimum/bin/$(PIP) $(CPU_BUILDS) --requirement build/minimum.txt; then \
	  build/minimum/bin/$(PIP) --requirement build/minimum.txt --editable '.[dev]' && \
	  build/minimum/bin/python -m pytest -n auto --dist worksteal; \
	else echo "the oldest versions can't be had from this index: skipped"; fi

coverage: .venv/ready ## the default tests, and which lines none of them reaches
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

lock: ## write constraints.txt anew: every version of a fresh environment, PyTorch's as they were
	$(PYTHON) -m venv --clear build/lock
	grep -E '^(torch|torchvision)==' constraints.txt > build/pins.txt
	build/lock/bin/$(PIP) --constraint build/pins.txt torch torchvision
	build/lock/bin/$(PIP) --constraint build/pins.txt --editable '.[dev]'
	build/lock/bin/pip freeze --exclude-editable | sed 's/+cpu$$//' > constraints.txt

BUILT_BY := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])
wheels: ## download the lock into wheels/; where that folder is, .venv is installed from it alone
	$(PYTHON) -m pip download --quiet --disable-pip-version-check --constraint constraints.txt \
	  $(CPU_BUILDS) --dest wheels torch torchvision $$($(PYTHON) -c '$(BUILT_BY)') '.[dev]'
	rm -f wheels/simfl-*

dist: .venv/ready ## wheel and source distribution, into dist/
	$(BIN)/python -c "from setuptools import build_meta as b; b.build_sdist('dist'); b.build_wheel('dist')"

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
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.opening

bench-peers: .venv/ready ## other simulators beside simfl, each in an environment of its own
	$(BIN)/python -m benchmarks.peers

papers-quick: .venv/ready ## a reduced form of every table of the papers, within 30 minutes; SIMFL_DATA: the data
	$(BIN)/simfl reproduce all --quick --quiet

testbed: .venv/ready ## real federations beside their simulations: docs/validation.md (Linux, root, 14 minutes)
	$(BIN)/python -m testbed --out testbed/results/validation.json
	$(BIN)/python -m testbed.tables testbed/results/validation.json docs/images/validation.png docs/validation.md

DOCS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")
docs: .venv/ready ## the documentation as a site, into build/site
	$(BIN)/python -m analysis.site build/pages
	$(PYTHON) -m venv build/mkdocs
	$(PYTHON) -c '$(DOCS)' > build/mkdocs.txt
	build/mkdocs/bin/$(PIP) $(OFFLINE) --requirement build/mkdocs.txt
	NO_MKDOCS_2_WARNING=1 build/mkdocs/bin/mkdocs build --strict

screenshots: .venv/ready ## the docs' pictures of the report (needs Chromium)
	$(BIN)/python -m analysis.screenshots

golden: .venv/ready ## rewrite the golden event logs; read the diff like code
	SIMFL_GOLDEN=write $(BIN)/pytest tests/runs/test_golden.py

clean: ## remove what was built and run
	rm -rf .venv build dist wheels .coverage* *.egg-info runs .pytest_cache .mypy_cache .ruff_cache
