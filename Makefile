# One entry for people and CI. Everything is made in .venv and build/; nothing outside of the clone is changed
# but Debian packages that tests and the base image need (installed with apt where this is root).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-quick check bench bench-scale faults hostile load sim image cluster-up cluster-down cluster-check clean lock vega

run: $(VENV)/.runtime
	$(BIN)/passhat images bootstrap
	$(BIN)/passhat images build suites/pybugs
	$(BIN)/passhat run deploy/demo.toml
	$(BIN)/passhat run deploy/demo-scripted.toml
	$(BIN)/passhat summary build/demo
	$(BIN)/passhat report build/demo --output build/demo.html
	@echo "The rows are Parquet files in build/demo/trials; the report is build/demo.html."

test: $(VENV)/.dev
	$(BIN)/passhat images bootstrap
	$(BIN)/python -m pytest

test-quick: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not docker and not ray and not browser and not slow" tests/unit

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/passhat images bootstrap
	$(BIN)/python -m tests.bench

# 100,000 trials through the real scheduler and store, and 64,000 cores simulated; ten minutes.
bench-scale: $(VENV)/.dev
	$(BIN)/python -m tests.bench.scale

faults: $(VENV)/.dev
	$(BIN)/passhat images bootstrap
	$(BIN)/python -m tests.faults

load: $(VENV)/.dev
	$(BIN)/passhat images bootstrap
	$(BIN)/python -m tests.bench load_bench

hostile: $(VENV)/.dev
	$(BIN)/passhat images bootstrap
	$(BIN)/python -m tests.hostile

# passhat:latest, the image of passhat itself, for deploy/.
image: $(VENV)/.runtime
	$(BIN)/python deploy/image/build.py

# Three Ray nodes as containers of this checkout, for tests; the results are in build/cluster/results.
cluster-up: $(VENV)/.dev
	$(BIN)/python -m tests.cluster up

cluster-down: $(VENV)/.dev
	$(BIN)/python -m tests.cluster down

cluster-check: $(VENV)/.dev
	$(BIN)/passhat images bootstrap
	$(BIN)/python -m pytest tests/cluster/three_nodes.py tests/cluster/losses.py tests/cluster/models_over_nodes.py tests/cluster/autoscaling.py

# Simulated coverage and size with known truth; build/coverage.json. Eleven minutes on 2 cores.
sim: $(VENV)/.dev
	$(BIN)/python -m tests.sim.coverage

clean:
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

lock:
	$(PYTHON) -m pip install --quiet --target build/uv uv
	build/uv/bin/uv pip compile pyproject.toml --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header -q -o requirements.lock
	build/uv/bin/uv pip compile pyproject.toml --group dev -c requirements.lock --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header -q -o requirements-dev.lock
	build/uv/bin/uv pip compile pyproject.toml --group image -c requirements.lock --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header -q -o deploy/image/requirements.lock

vega: $(VENV)/.dev
	$(VENV)/bin/python -m orchestrator.report.vega

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "passhat needs Python 3.11 or newer; this is " + sys.version.split()[0] + "; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: $(VENV)/bin/python requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-compile -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-compile -r requirements-dev.lock
	touch $@
