# Everything a fresh clone needs: Python 3.11 or newer with pip, and make.
#
#   make demo          set up, then watch three teams share a pretend cluster on this machine
#   make test          set up, then lint, type-check and run every test
#   make quick         tests that matter for what was changed, within a minute
#   make setup         set up only; leaves .venv/bin/ganglion
#   make portal        build the portal, which `ganglion up` serves then; needs an npm registry
#   make portal-dev    serve the portal from its sources, in front of a server on this machine
#   make screenshots   take the pictures of README from the portal, in Chromium
#   make soak          drawn tests at length, published figures again; TRACES=DIR has their traces
#   make check         lint, types, architecture, start-up budget of the command line
#   make docs          build the documentation as a site, out/docs/index.html
#   make bench         quick benchmarks; TRACES=DIR adds the published traces
#   make sbom          write what is installed, with hashes and licences, to out/sbom.cdx.json
#   make requirements  compile requirements/*.txt again
#   make clean         remove what these commands made

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test quick soak check lint style ruff types pytest docs bench sbom requirements \
	clean portal portal-dev portal-tested screenshots

VENV := .venv
BIN := $(VENV)/bin
SEED ?= 20260101
TRACES ?=
UPGRADE ?=

# The first of these that runs and is new enough; override with `make PYTHON=/path/to/python3`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; \
	done)

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

help:
	@sed -n 's/^#   //p' Makefile

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Ganglion needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && \
		$(PYTHON) -m pip --python $(VENV)/bin/python install --quiet pip; }

$(VENV)/.runtime: pyproject.toml requirements/runtime.txt | $(BIN)/python
	@echo "Installing Ganglion and its requirements"
	@$(PIP) install --require-hashes -r requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/test.txt requirements/check.txt requirements/docs.txt $(VENV)/.runtime
	@echo "Installing the tools of tests and checks"
	@$(PIP) install --require-hashes -r requirements/test.txt -r requirements/check.txt -r requirements/docs.txt
	@touch $@

setup: $(VENV)/.runtime

$(VENV)/.node: requirements/portal.txt $(VENV)/.runtime
	@echo "Installing Node.js, which builds the portal"
	@$(PIP) install --require-hashes -r requirements/portal.txt
	@touch $@

portal: $(VENV)/.node
	$(BIN)/python -m tools.portal build

portal-dev: $(VENV)/.node
	$(BIN)/python -m tools.portal dev

screenshots: portal
	$(BIN)/python -m benchmarks.portal.screenshots

# Where Node.js or its packages cannot be had, it says so, and its tests are skipped.
portal-tested: $(VENV)/.dev
	@$(MAKE) --no-print-directory $(VENV)/.node || true
	@$(BIN)/python -m tools.portal test --if-possible

demo: setup
	@$(BIN)/ganglion demo

lint: style
	$(BIN)/python -m tools.archlint

# Tests check all that archlint does.
style: ruff types

ruff: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/python -m tools.checkout.kept types .mypy_cache $(BIN)/mypy

check: style
	$(BIN)/pytest tests/architecture
	$(BIN)/python tools/import_budget.py

# Types are checked beside the tests, which wait for a part of their time.
test: ruff portal-tested
	$(BIN)/python tools/import_budget.py
	@$(MAKE) --no-print-directory --jobs 2 types pytest

pytest: $(VENV)/.dev
	HYPOTHESIS_STORAGE_DIRECTORY=$(HOME)/.cache/ganglion/hypothesis HYPOTHESIS_PROFILE=ci \
		$(BIN)/pytest -n auto --maxprocesses 4 --dist loadgroup --hypothesis-seed=$(SEED)

# BASE: where the branch began.
BASE ?= main

quick: $(VENV)/.dev
	@$(BIN)/python -m tools.quick --base $(BASE)

# Nightly: another seed every time (SEED_OF_NIGHT=N repeats one), an hour of faults on a real API
# server, and every published figure.
SEED_OF_NIGHT ?= $(shell date +%Y%m%d)

soak: $(VENV)/.dev
	$(BIN)/python -m tests.controlplane.build --minor 1.37
	GANGLION_SOAK=20 HYPOTHESIS_PROFILE=ci $(BIN)/pytest -n auto --maxprocesses 4 --dist loadgroup --hypothesis-seed=$(SEED_OF_NIGHT)
	$(BIN)/python -m tests.soak --seed $(SEED_OF_NIGHT)
	$(BIN)/python -m tools.soak $(if $(TRACES),--traces $(TRACES))

# A warning fails, so a broken link does, too.
docs: $(VENV)/.dev
	$(BIN)/sphinx-build --quiet --fail-on-warning --doctree-dir out/doctrees docs out/docs
	@echo "out/docs/index.html"

# $(call traced,FOLDER) names the folder of one source, where TRACES is given.
traced = $(if $(TRACES),--traces $(TRACES)/$(1))

bench: setup
	@mkdir -p out
	$(BIN)/python -m benchmarks decisions --json out/decisions.json
	$(BIN)/python -m benchmarks pack-openb $(call traced,openb) --json out/pack-openb.json
	$(BIN)/python -m benchmarks jct-muri $(call traced,philly_muri) --json out/jct-muri.json
	$(BIN)/python -m benchmarks jct-itp $(call traced,itp_elasticflow) --json out/jct-itp.json

sbom: setup
	@mkdir -p out
	$(BIN)/python -m tools.licences --sbom out/sbom.cdx.json

requirements: | $(BIN)/python
	@test -x $(BIN)/uv || $(PIP) install uv
	for name in runtime test check docs jupyter portal mlflow; do \
		case $$name in \
			runtime) from="pyproject.toml --all-extras --group build" ;; \
			mlflow) from="--group mlflow" ;; \
			docs) from="--group docs -c requirements/runtime.txt -c requirements/test.txt -c requirements/check.txt" ;; \
			*) from="--group $$name -c requirements/runtime.txt" ;; \
		esac; \
		$(BIN)/uv pip compile $$from $(UPGRADE) --universal --python-version 3.11 --generate-hashes \
			--no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet \
			-o requirements/$$name.txt; \
	done

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		portal/node_modules src/ganglion/server/portal/static
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
