# The commands of the book. "make" alone lists them.

PYTHON ?= $(shell for found in python3.13 python3.12 python3.11 python3 python; do \
	$$found -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null \
	&& echo $$found && break; done)
BIN := .venv/bin
INSTALL := $(BIN)/python -m uv pip install --python $(BIN)/python
SITE := _build/html
ALONE := tests/widgets/test_live_in_jupyterlab.py

# Compiled Python is kept, even where the machine asks for none: dozens of processes import the same.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help book lint check quick test whole notebooks lab pdf picture readme counts golden bench clean

help:
	@echo "make book       build the pages into $(SITE)"
	@echo "make lint       style, types, imports and TypeScript"
	@echo "make check      the same and the quick tests"
	@echo "make quick      the quick tests alone"
	@echo "make test       install what the tests need and run them all"
	@echo "make whole      run what make test only samples, all that Firefox can, pages in WebKit"
	@echo "make notebooks  write one notebook per chapter into notebooks/"
	@echo "make lab        write the notebooks and open them in JupyterLab"
	@echo "make pdf        print the book into one PDF, _build/book.pdf"
	@echo "make picture    take the screenshots in README.md"
	@echo "make readme     write the ladder in README.md from the records"
	@echo "make counts     compile and count the kernels, for pages and machines without NVRTC"
	@echo "make golden     write the simulator's golden results of launches that are new or have changed"
	@echo "make bench      time the widgets, and every page as a phone loads it"
	@echo "make clean      remove what was built; .venv stays"

book: .venv/.book
	@$(BIN)/python -m sgemm_lab.bundles
	@$(BIN)/python -m sgemm_lab.book.build
	@echo
	@echo "The book is built. Open file://$(CURDIR)/$(SITE)/index.html"

# Tests that need neither a browser, nor a long simulation, nor the machine code of every kernel.
LONG := tests/cuda/test_compiler.py::test_every_kernel_compiles_for_every_target_without_spills \
	tests/cuda/test_main_loop.py::test_what_travels_is_current
ORDER := test_names_are_in_order_and_each_chapter_has_three_to_five_with_a_kernel_among_them
QUICK := $(addprefix --deselect ,$(LONG)) \
	tests/test_*.py tests/cuda tests/cli tests/records tests/measuring tests/formulas tests/checking \
	tests/simulator/test_ptx.py tests/simulator/test_fma.py tests/simulator/test_warp_requests.py \
	tests/exercises/test_exercises.py::$(ORDER) tests/book/test_chapter_sources.py \
	tests/book/test_numerals.py

# All npm packages. An installation by a job would take them from the jobs beside it.
NPM = $(BIN)/python -c "from sgemm_lab import npm; npm.fetch(checks=True)"

lint: .venv/.test
	@echo "== ruff" && $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "== mypy" && $(BIN)/mypy
	@echo "== imports" && $(BIN)/lint-imports --no-logo
	@echo "== typescript" && $(BIN)/python tests/typescript.py

# Most of what lint does takes one core, so the tests run beside it.
check: .venv/.test
	@$(NPM)
	@$(MAKE) --no-print-directory -j 2 lint quick

quick:
	@echo "== quick tests" && $(BIN)/pytest -n 2 --dist worksteal $(QUICK) \
		-m "not bench and not whole and not browser"

# The book without a word, for the tests, some of which are installed meanwhile.
.PHONY: quiet-book
quiet-book: .venv/.book
	@echo "== book" && $(BIN)/python -m sgemm_lab.book.build -q

# Widgets in JupyterLab, for the tests: they need no book.
.PHONY: test-jupyterlab
test-jupyterlab: .venv/.test
	@echo "== pytest $(ALONE)" && $(BIN)/pytest $(ALONE)

# Three workers keep two cores busy: a test in a browser waits a third of its time.
test: .venv/.book
	@$(NPM)
	@$(BIN)/python -m sgemm_lab.bundles
	@$(MAKE) --no-print-directory -j 3 quiet-book test-jupyterlab lint
	@echo "== pytest" && SGEMM_LAB_BOOK=built $(BIN)/pytest -n 3 --dist worksteal --ignore $(ALONE)

whole: book .venv/.test
	@$(BIN)/python tests/browser.py --webkit
	@echo "== what make test samples" && SGEMM_LAB_BOOK=built $(BIN)/pytest -n 2 --dist worksteal -m "whole and not bench"
	@echo "== in Firefox" && SGEMM_LAB_BOOK=built $(BIN)/pytest -n 2 --dist worksteal --in firefox tests/book tests/widgets

notebooks: .venv/.book
	@$(BIN)/python -m sgemm_lab.book.notebooks

lab: notebooks .venv/.test
	@$(BIN)/python -m sgemm_lab.bundles
	@$(BIN)/jupyter lab notebooks

pdf: book .venv/.test
	@$(BIN)/python -m sgemm_lab.book.pdf

picture: book .venv/.test
	@PYTHONPATH=tests $(BIN)/python tests/book/readme_picture.py

readme: .venv/.book
	@$(BIN)/python -m sgemm_lab.book.readme

counts: .venv/.book
	@$(BIN)/python -m sgemm_lab.bundles
	@$(BIN)/python -m sgemm_lab.cuda.shipped_ptx
	@$(BIN)/python -m sgemm_lab.cuda.shipped_loops
	@$(BIN)/python -m sgemm_lab.models.count_all

# GROUPS="traces orders" names some groups, ALL=1 writes results of unchanged launches too.
golden: .venv/.test
	@$(BIN)/python -m sgemm_lab.bundles
	@PYTHONPATH=tests:tests/samples:tests/simulator $(BIN)/python tests/golden/golden.py \
		$(addprefix --group ,$(GROUPS)) $(if $(ALL),--all)

bench: .venv/.test
	@$(BIN)/python -m sgemm_lab.bundles
	@$(BIN)/pytest -m bench -s tests/cli tests/widgets
	@$(BIN)/python benchmarks/lighthouse/run.py

clean:
	rm -rf _build node_modules notebooks dist .pytest_cache .mypy_cache .ruff_cache

.venv/bin/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "The book needs Python 3.11, 3.12 or 3.13, and none was found. Install one," \
			"or name it: make book PYTHON=/path/to/python3.12" >&2; exit 1; fi
	@echo "Making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "Python could not make .venv. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

# Installs many times as fast as pip.
.venv/.uv: .venv/bin/python
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet uv==0.13.9
	@touch $@

.venv/.book: .venv/.uv requirements.txt pyproject.toml
	@echo "Installing what the book needs (about 370 MB; half a minute or more)"
	@$(INSTALL) -r requirements.txt
	@touch $@

.venv/.test: .venv/.book requirements-test.txt requirements-left-out.txt
	@echo "Installing what the tests need"
	@$(INSTALL) --quiet -r requirements-test.txt --excludes requirements-left-out.txt
	@$(BIN)/python tests/browser.py
	@touch $@
