# The one list of commands. `make help` prints it; CI runs the same targets.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/pytest -q -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup run test unit lint format toolchain bench bench-kwok coverage-diff e2e ingredients soak prove corruptions schema golden lock clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with the scaletest command in it

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "scaletest needs Python 3.11 or newer; run: make setup PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: setup ## set up and run the main job: dev-50 from install to verdict
	$(BIN)/scaletest run profiles/dev-50.yaml

test: setup lint unit ## set up, lint, and run every test

unit: setup ## run the tests without the linters; those on real clusters one after the other
	$(PYTEST) -m "not real"
	$(BIN)/pytest -q -m real -p no:randomly

lint: setup ## ruff, mypy strict, import walls, dependency check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache | tail -n 4
	$(BIN)/deptry . 2>&1 | tail -n 1

format: setup ## rewrite the sources in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

toolchain: setup ## build kwok, Kubernetes, etcd and Prometheus from pinned Go modules, once (needs Go; 12 minutes)
	$(BIN)/scaletest toolchain install

bench: setup ## print speed and memory figures against their bars
	$(BIN)/python tests/bench/plan_speed.py
	$(BIN)/python tests/bench/evidence_speed.py
	$(BIN)/python tests/bench/run_speed.py
	$(BIN)/python tests/bench/decide_speed.py
	$(BIN)/python tests/bench/load_speed.py
	$(BIN)/python tests/bench/cluster_speed.py

e2e: setup toolchain ## dev-50 on real clusters, from install to verdict (6 minutes)
	$(BIN)/scaletest run profiles/dev-50.yaml --substrate kwok

bench-kwok: setup toolchain ## 2,500 Pods through a real scheduler, beside kubectl
	$(BIN)/python tests/bench/kwok_speed.py

coverage-diff: setup toolchain ## smoke in both worlds, and which statements of engine and load ran in one of them only
	$(BIN)/python tests/bench/world_coverage.py

soak: setup ## dev-50 on 200 seeds, 24 virtual hours of it, and an engine that never acts on every profile (an hour and a half)
	$(BIN)/python tests/bench/soak.py

prove: setup ## every rule away in every proving world, claims over five seeds; writes docs/proving-matrix.md (6 minutes)
	$(BIN)/scaletest prove --full --markdown docs/proving-matrix.md

ingredients: setup ## which ingredient of a world unmasks which defect: the tables of docs/fidelity.md (20 minutes)
	$(BIN)/python tests/bench/ingredients.py

corruptions: setup ## damage evidence in two thousand ways and print what the judge made of it
	$(BIN)/pytest -q -p no:randomly tests/integration/judge

schema: setup ## regenerate profiles/schema and the field reference from the typed models
	$(BIN)/scaletest schema --write profiles/schema --reference docs/profile-reference.md

golden: setup ## accept the current output as the expected output
	$(BIN)/pytest -q tests/golden --snapshot-update

lock: ## renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile --universal --generate-hashes --python-version 3.11 --group dev --no-header -q pyproject.toml -o requirements.lock

clean: ## remove what the other targets made
	rm -rf $(VENV) .cache .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
