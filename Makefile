# Every target makes its own virtual environment from nothing but Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Coverage is judged by `coverage report`, when both parts of it are there.
MEASURED := --cov --cov-report= --cov-fail-under=0
# Coverage cannot see into compiled kernels: these tests run once more with the compiler off, where dividing by 0 warns.
INTERPRETED := tests/testing/test_conformance.py tests/kernels/test_kernels.py tests/comparisons/test_leader_betting.py -k 'the_reference_agrees or test_kernels or those_of_the_slow_reference or failed_is_asked or wealth_is_more' -W ignore::RuntimeWarning

.PHONY: demo test coverage bench faults attack figure1 lint format clean
.DEFAULT_GOAL := demo

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(STAMP)  ## the main job, on something real; writes demo/
	$(BIN)/bestarm demo

test: lint  ## lint and the whole suite
	$(BIN)/python -m pytest -n 2

coverage: $(STAMP)  ## branches of src that the quicker tests reach, compiled kernels included; CI runs it after the suite
	$(BIN)/python -m pytest -n 2 -m 'not long' $(MEASURED)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(MEASURED) --cov-append $(INTERPRETED)
	$(BIN)/coverage report

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## speed, as ratios in one run
	$(BIN)/python benchmarks/speed.py

faults: $(STAMP)  ## do the tests notice faults that are planted? takes some ten minutes
	$(BIN)/python benchmarks/planted_faults.py

# What "make attack" runs: a hundredth of everything takes some minutes, SCALE=1 all of it.
SCALE ?= 0.01
attack: $(STAMP)  ## kills, signals, disk faults, hostile files, lines and calls: does bestarm hold?
	$(BIN)/python benchmarks/faults.py all --scale $(SCALE)

figure1: $(STAMP)  ## Figure 1 of the paper, into figures/
	$(BIN)/bestarm reproduce figure1 --output figures

clean:
	rm -rf .venv figures demo .coverage
