# `make run` shows slotwise at work, `make test` checks it. Both create .venv first if it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUNS := $(VENV)/.runs
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
APT = DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20
define MAKE_VENV
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slotwise needs Python 3.11 or newer, this is " + sys.version)'
@echo "creating .venv, once"
@$(PYTHON) -m venv $(VENV)
endef

.PHONY: run test check browser tools node-packages unit statistics test-browser test-postgres test-spark soak bench choosing figures paper docs package image clean help

help:
	@echo "make run         run the service with a small shop and simulated visitors until Ctrl-C"
	@echo "make test        check style, types and import layers, then run every test (up to twelve minutes on two quiet cores)"
	@echo "make check       check style, types and import layers only"
	@echo "make statistics  run the slow statistical tests"
	@echo "make test-spark  count logs on Spark: with two threads, then on a cluster of two workers (needs Java)"
	@echo "make test-browser  run every test that needs Chromium (up to ten minutes)"
	@echo "make test-postgres  test nodes behind PgBouncer, which this installs where it may, and a failover"
	@echo "make soak        test the service with hundreds of crashes, days of virtual time, a million events (up to two hours)"
	@echo "make bench       run the benchmarks; most report ratios to a yardstick in the same process"
	@echo "make choosing    measure policies on visitors of several click models, and update docs/choosing.md (up to ten minutes)"
	@echo "make figures     redraw the figures of the documentation"
	@echo "make docs        build the documentation site into out/site; it works offline"
	@echo "make package     build the sdist and the wheel, and try both in a fresh environment (up to ten minutes)"
	@echo "make image       build the container image and try it; needs root on Debian, or buildah, mmdebstrap, podman and runc (up to 20 minutes)"
	@echo "make paper       reproduce the paper (up to an hour on two cores) and update docs/paper.md"

# .runs: the service is installed, and nothing that only other commands need (450 MB on disk);
# .ready: every extra and the tools for tests and development are installed too (2 GB)
$(RUNS): pyproject.toml constraints.txt
	$(MAKE_VENV)
	@echo "installing the service into .venv, once: NumPy, SciPy, numba, Starlette, uvicorn and what they need (450 MB)"
	@$(BIN)/python $(PIP_INSTALL) --no-compile --editable '.[service]'  # Python compiles the few modules that it imports
	@touch $(RUNS)

$(READY): pyproject.toml clients/python/pyproject.toml constraints.txt
	$(MAKE_VENV)
	@echo "installing every extra and the development tools into .venv, once: DuckDB, Altair, Spark, pytest and others (2 GB)"
	@$(BIN)/python $(PIP_INSTALL) --editable '.[dev]' --editable clients/python
	@touch $(RUNS) $(READY)

run: $(RUNS)
	@$(BIN)/slotwise demo

test: check unit

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Some tests click in a real browser. Where this may install packages, it installs chromium; elsewhere they are skipped.
browser:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		{ echo "installing chromium, for the tests that click in a browser"; \
		($(APT) update; $(APT) install -y --no-install-recommends chromium) >/dev/null 2>&1; } || true

# Some tests run example sites in Node. Where npm is installed, this installs what they need (60 MB); elsewhere they are skipped.
SITES := examples/sites
node-packages:
	@! command -v npm >/dev/null || [ $(SITES)/node_modules/.package-lock.json -nt $(SITES)/package.json ] || \
		{ echo "installing Express, React, TypeScript and OpenTelemetry, for the tests of the JavaScript client"; \
		cd $(SITES) && npm install --no-package-lock --no-audit --no-fund --silent; } >&2 || true

# Tests of deploy/ use promtool and caddy. Without them, two Debian packages are unpacked into .venv, and nothing is installed.
TOOLS := $(VENV)/tools
tools: $(READY)
	@for pair in promtool:prometheus caddy:caddy; do \
		command -v $${pair%:*} >/dev/null || [ -e $(TOOLS)/usr/bin/$${pair%:*} ] || ! command -v apt-get >/dev/null || \
		{ echo "unpacking $${pair%:*}, for the tests of deploy/"; mkdir -p $(TOOLS); \
		(cd $(TOOLS) && timeout 120 apt-get -qq download $${pair#*:} && dpkg -x $${pair#*:}_*.deb . && rm $${pair#*:}_*.deb) >/dev/null 2>&1; } || true; \
	done

# Three processes keep two cores busy, because a test also waits for processes that it starts, for timeouts and for the disk: with
# two, a run of 12 minutes used 18 of 24 minutes of the cores. tests/worker_groups.py groups the tests.
# Tests start about 140 processes, so Python keeps the bytecode of the sources even where it is told not to.
unit: $(READY) browser tools node-packages
	PATH="$$PATH:$(CURDIR)/$(TOOLS)/usr/bin" PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -m "not statistics and not cluster and not soak and not browser" -n 3

statistics: $(READY)
	$(BIN)/pytest -m statistics -s

test-browser: $(READY) browser node-packages
	$(BIN)/pytest tests/browser -n 2

# PgBouncer is a Debian package. Where this may not install it, its test is skipped.
test-postgres: $(READY)
	@command -v pgbouncer >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		{ echo "installing pgbouncer"; ($(APT) update; $(APT) install -y --no-install-recommends pgbouncer) >/dev/null 2>&1; } || true
	$(BIN)/pytest -s tests/service/store/test_pgbouncer.py tests/service/test_postgres_failover.py

test-spark: $(READY)
	$(BIN)/pytest tests/logs/test_spark.py tests/logs/test_spark_cluster.py

soak: $(READY)
	$(BIN)/pytest -m soak -s tests/service tests/clients

bench: $(READY)
	$(BIN)/python -m benchmarks

# docs/choosing.md: policies on visitors of several click models
choosing: $(READY)
	$(BIN)/python -m benchmarks.choosing

figures: $(READY)
	$(BIN)/python -m benchmarks.figures
	$(BIN)/python -m benchmarks.screenshots

docs: $(READY)
	$(BIN)/python -m sphinx -q -W --keep-going -d out/doctrees docs out/site
	@echo "the documentation site: file://$(CURDIR)/out/site/index.html"

# `make paper PAPER=--quick` is a short trial; the page says so
PAPER ?=
PAPER_OUT := out/paper$(PAPER:--%=-%)
paper: $(READY)
	$(BIN)/slotwise reproduce $(PAPER)
	rm -f docs/figures/fig-*.svg docs/figures/tab-*.svg docs/figures/claim-*.svg
	cp $(PAPER_OUT)/paper.md docs/paper.md
	for figure in $$(sed -n 's/^!.*](figures\/\(.*\))$$/\1/p' docs/paper.md); do cp $(PAPER_OUT)/figures/$$figure docs/figures/; done

# what users of `pip install` get: an sdist, a wheel built from it, and both at work in a fresh environment
PACKAGE := build/package
package: $(READY)
	rm -rf dist $(PACKAGE)
	$(BIN)/python -m build
	$(PYTHON) -m venv $(PACKAGE)/venv
	$(PACKAGE)/venv/bin/python $(PIP_INSTALL) "$$(echo dist/slotwise-*.whl)[service]"
	cd $(PACKAGE) && venv/bin/slotwise policies && venv/bin/slotwise simulate --rounds 1000 --runs 2
	cd $(PACKAGE) && venv/bin/slotwise demo --headless --rounds 500 --port 0
	mkdir $(PACKAGE)/sdist && tar --extract --strip-components 1 --directory $(PACKAGE)/sdist --file dist/slotwise-*.tar.gz
	cd $(PACKAGE)/sdist && PYTHONPATH=src ../../../$(BIN)/pytest tests/docs tests/clickmodels tests/test_names.py tests/test_package.py
	$(BIN)/python -m build --outdir dist clients/python
	$(PYTHON) -m venv $(PACKAGE)/client
	$(PACKAGE)/client/bin/python $(PIP_INSTALL) dist/slotwise_client-*.whl
	$(PACKAGE)/client/bin/python -c 'from slotwise_client import Client; print(Client("http://127.0.0.1:1").recommend("shop"))'
	rm -rf $(PACKAGE)

# `make image BASE=python:3.12-slim` chooses the base. The image is not part of `make test`.
image:
	$(PYTHON) deploy/try_image.py $(if $(BASE),--base $(BASE))

clean:
	rm -rf $(VENV) $(SITES)/node_modules out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
