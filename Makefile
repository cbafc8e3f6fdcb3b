# Everything a developer does with this project. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
STEP = @printf '== %s\n'

.PHONY: help up test check bench crds manifests docs clean format

REAL := tests/kube tests/registry tests/downloader tests/local tests/deploy tests/walks tests/cluster
# Every other folder with tests, so that a new one is run without being named here.
VALUES := $(filter-out $(REAL) tests/bench,$(shell find tests -mindepth 2 -name 'test_*.py' | cut -d/ -f1,2 | sort -u))

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.venv/.synced: pyproject.toml uv.lock scripts/setup
	@scripts/setup

up: .venv/.synced ## run AIM Engine on a local cluster on this machine
	@$(BIN)/aim up

check: .venv/.synced ## format, lint, types, imports and the tests of pure values
	$(STEP) 'format and lint'
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	$(STEP) 'types'
	@$(BIN)/pyright --warnings
	$(STEP) 'imports'
	@$(BIN)/lint-imports --no-cache
	$(STEP) 'tests of values'
	@$(BIN)/pytest -q -n 2 $(VALUES)

test: check ## check, then every other test, on a real Kubernetes API server
	$(STEP) 'tests on the real parts (the first run builds Kubernetes, which takes some minutes)'
	@$(BIN)/pytest -q -n 4 --dist loadgroup $(REAL)

bench: .venv/.synced ## measure speed and memory; the figures are in docs/performance.md
	@$(BIN)/python -m tests.bench

crds: .venv/.synced ## write the CRDs (deploy/crds and the chart) and docs/reference/api.md from the types in src/aim_engine/api
	@$(BIN)/aim crds --directory deploy/crds
	@$(BIN)/aim crds --directory deploy/helm/aim-engine/files/crds
	@$(BIN)/python -m scripts.api_reference

manifests: crds ## render deploy/install.yaml from the chart (the first run builds Helm)
	@$(BIN)/python -m scripts.install_manifest

docs: .venv/.synced ## build the documentation; a broken link fails
	@$(BIN)/mkdocs build --strict --quiet
	@printf 'the documentation is in site/\n'

format: .venv/.synced ## format the code and mend what the linter can mend
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

clean: ## remove what the targets above made inside this folder
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache site dist
