# Everything a newcomer needs: `make run` to see it work, `make test` to check it. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUNS := $(VENV)/.runs
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
define MAKE_VENV
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slotwise needs Python 3.11 or newer, this is " + sys.version)'
@echo "setting up .venv, once: this takes a minute and needs the package index"
$(PYTHON) -m venv $(VENV)
endef

.PHONY: run test check unit statistics test-spark soak bench figures paper clean help

help:
	@echo "make run         run the service with a small shop and simulated visitors, and watch it learn, until Ctrl-C"
	@echo "make test        set up, check the style, the types and the layers, run every test"
	@echo "make check       style, types and layers alone"
	@echo "make statistics  the slow statistical checks, many runs each"
	@echo "make test-spark  logs counted on Spark: two threads, then a cluster of two workers (needs Java)"
	@echo "make soak        hundreds of crashes, days of virtual time, a million events (about an hour)"
	@echo "make bench       the benchmarks, as ratios to a yardstick in the same run"
	@echo "make figures     draw the figures of the documentation anew"
	@echo "make paper       rerun the paper (half an hour on two cores) and put what came out into docs/paper.md"

# what it takes to run (1 GB), and with it what it takes to test and develop (1.6 GB)
$(RUNS): pyproject.toml constraints.txt
	$(MAKE_VENV)
	$(INSTALL) .
	touch $(RUNS)

$(READY): pyproject.toml constraints.txt
	$(MAKE_VENV)
	$(INSTALL) '.[dev,diagnostics]'
	touch $(RUNS) $(READY)

run: $(RUNS)
	$(BIN)/slotwise demo

test: check unit

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# two processes, since most of the time goes to compiling, which uses one core
unit: $(READY)
	$(BIN)/pytest -m "not statistics and not cluster and not soak" -n 2 --dist loadfile

statistics: $(READY)
	$(BIN)/pytest -m statistics -s

test-spark: $(READY)
	$(BIN)/pytest tests/logs/test_spark.py tests/logs/test_spark_cluster.py

soak: $(READY)
	$(BIN)/pytest -m soak -s tests/service

bench: $(READY)
	$(BIN)/python -m benchmarks

figures: $(READY)
	$(BIN)/python -m benchmarks.figures

# PAPER=--quick tries it; the page then says so
PAPER ?=
PAPER_OUT := out/paper$(PAPER:--%=-%)
paper: $(READY)
	$(BIN)/slotwise reproduce $(PAPER)
	rm -f docs/figures/fig-*.svg docs/figures/tab-*.svg docs/figures/claim-*.svg
	cp $(PAPER_OUT)/paper.md docs/paper.md
	for figure in $$(sed -n 's/^!.*](figures\/\(.*\))$$/\1/p' docs/paper.md); do cp $(PAPER_OUT)/figures/$$figure docs/figures/; done

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
