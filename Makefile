# Two commands matter: `make demo` and `make test`. Both make the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

VLLM := .venv-vllm
RSI_VLLM ?= $(CURDIR)/$(VLLM)/bin/vllm

.PHONY: demo test test-slow test-vllm vllm-env bench check clean

demo: $(READY)
	$(BIN)/rsi assets pull
	$(BIN)/rsi demo

test: $(READY)
	$(BIN)/rsi assets pull
	$(BIN)/ruff check rsi flows dashboards tests
	$(BIN)/marimo check --strict dashboards/failures.py dashboards/label.py dashboards/nights.py dashboards/lineage.py
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile

test-slow: $(READY)
	$(BIN)/rsi assets pull
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile -m 'slow or hypothesis' --hypothesis-profile long

# Needs `make vllm-env`, or RSI_VLLM=/path/to/bin/vllm; skips without a vLLM program.
test-vllm: $(READY)
	$(BIN)/rsi assets pull
	RSI_VLLM=$(RSI_VLLM) $(BIN)/pytest -m vllm tests/vllm

vllm-env: $(VLLM)/.ready

$(VLLM)/.ready: tools/vllm/requirements.txt tools/vllm/platform/pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement tools/vllm/requirements.txt
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps ./tools/vllm/platform
	touch $(VLLM)/.ready

bench: $(READY)
	$(BIN)/python -m tests.benchmarks.bench_traces
	$(BIN)/python -m tests.benchmarks.bench_receiver
	$(BIN)/python -m tests.benchmarks.bench_redaction
	$(BIN)/python -m tests.benchmarks.bench_screens
	$(BIN)/python -m tests.benchmarks.bench_discover
	$(BIN)/python -m tests.benchmarks.bench_ledger
	$(BIN)/python -m tests.benchmarks.bench_worlds
	$(BIN)/python -m tests.benchmarks.bench_worlds --environment chains
	$(BIN)/python -m tests.benchmarks.bench_grpo
	$(BIN)/python -m tests.benchmarks.bench_prefix
	$(BIN)/python -m tests.benchmarks.bench_rehearsal

check: $(READY)
	$(BIN)/ruff check rsi flows dashboards tests
	$(BIN)/marimo check --strict dashboards/failures.py dashboards/label.py dashboards/nights.py dashboards/lineage.py
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[all,dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) $(VLLM) .rsi
