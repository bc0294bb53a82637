# `make run` shows slotwise at work, `make test` checks it. Both create .venv first if it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUNS := $(VENV)/.runs
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
APT = DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20
define MAKE_VENV
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slotwise needs Python 3.11 or newer, this is " + sys.version)'
@echo "creating .venv: this happens once, takes a minute and needs the package index"
$(PYTHON) -m venv $(VENV)
endef

.PHONY: run test check browser unit statistics test-spark soak bench figures paper clean help

help:
	@echo "make run         run the service with a small shop and simulated visitors until Ctrl-C"
	@echo "make test        check style, types and import layers, then run every test (about seven minutes)"
	@echo "make check       check style, types and import layers only"
	@echo "make statistics  run the slow statistical tests"
	@echo "make test-spark  count logs on Spark: with two threads, then on a cluster of two workers (needs Java)"
	@echo "make soak        test the service with hundreds of crashes, days of virtual time, a million events (about an hour)"
	@echo "make bench       run the benchmarks; most report ratios to a yardstick in the same process"
	@echo "make figures     redraw the figures of the documentation"
	@echo "make paper       reproduce the paper (half an hour on two cores) and update docs/paper.md"

# .runs: slotwise can run (1 GB on disk); .ready: the tools for tests and development are installed too (1.6 GB)
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

# One test clicks in a real browser. Where this may install packages, it installs chromium; elsewhere the test is skipped.
browser:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		{ echo "installing chromium, for the test that clicks in a browser"; \
		($(APT) update; $(APT) install -y --no-install-recommends chromium) >/dev/null 2>&1; } || true

# Two processes: most of the time goes to compilation, which uses one core.
unit: $(READY) browser
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

# `make paper PAPER=--quick` is a short trial; the page says so
PAPER ?=
PAPER_OUT := out/paper$(PAPER:--%=-%)
paper: $(READY)
	$(BIN)/slotwise reproduce $(PAPER)
	rm -f docs/figures/fig-*.svg docs/figures/tab-*.svg docs/figures/claim-*.svg
	cp $(PAPER_OUT)/paper.md docs/paper.md
	for figure in $$(sed -n 's/^!.*](figures\/\(.*\))$$/\1/p' docs/paper.md); do cp $(PAPER_OUT)/figures/$$figure docs/figures/; done

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
