# Everything that is done twice. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-dev
RUN_STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo up test test-oldest fuzz check format docs bench bench-peers browser pin clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

# What runs needs less than what develops it: a demonstration installs no framework and no tool.
$(RUN_STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]'
	@touch $@

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(RUN_STAMP)

install: $(STAMP) ## Make .venv and install everything, pinned

demo: $(RUN_STAMP) ## Run agents, the receiver and the dashboards; Ctrl-C ends all
	@$(BIN)/turnout demo

up: $(RUN_STAMP) ## Run the receiver and the dashboards over ./turnout-lake
	@$(BIN)/turnout up

test: $(STAMP) ## Run the tests
	@$(BIN)/pytest

test-oldest: ## Run the recorder's tests against the oldest opentelemetry that is supported
	@PYTHON=$(PYTHON) .ci/test-oldest

fuzz: $(STAMP) ## Fuzz what the receiver reads (needs: pip install atheris; FUZZ_SECONDS=60)
	@$(BIN)/python tests/fuzz/fuzz_bodies.py -max_total_time=$(or $(FUZZ_SECONDS),60)

check: $(STAMP) ## Format, lint, types, import layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pyright
	@$(BIN)/lint-imports

format: $(STAMP) ## Format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(STAMP) ## Write docs/cli.md from the help of the commands
	@$(BIN)/python -m turnout.cli.reference > docs/cli.md

bench: $(STAMP) ## Measure; one JSON line a figure (ONLY=name for one)
	@$(BIN)/python tests/benchmarks/bench.py $(if $(ONLY),--only $(ONLY))

bench-peers: $(STAMP) ## Install Phoenix and MLflow below build/peers, to be measured beside
	@$(BIN)/python tests/benchmarks/peers.py

browser: ## Install the browser that the page tests drive (Debian)
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium >/dev/null)

pin: $(STAMP) ## Write constraints.txt from what is installed
	@$(BIN)/python -m pip freeze --disable-pip-version-check --exclude-editable | grep -v '@' > constraints.txt

clean: ## Remove what was made here
	@rm -rf $(VENV) .venv-otel139 .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist build
