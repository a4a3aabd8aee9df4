# Two commands for a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
# Each makes .venv here and installs what it needs, once, and again when pyproject.toml changes.

.PHONY: demo test check slow docs clean help

VENV := .venv
BIN := $(VENV)/bin

# The first interpreter that is new enough; `make PYTHON=/path/to/python demo` names another.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$name; break; }; done)
PIP := $(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check

help:
	@echo "make demo    simulate, fit and draw; writes demo/mpca.png"
	@echo "make test    the tests"
	@echo "make check   style, types, and which package may import which"
	@echo "make slow    the tests that take many seconds each"
	@echo "make docs    write the pages of docs/reference that are made from the code anew"
	@echo "make clean   remove .venv, caches and what the demo wrote"

demo: $(VENV)/installed
	$(BIN)/python -m fedmpca demo --out demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m slow

docs: $(VENV)/installed-dev
	$(BIN)/python docs/reference/make_command_line.py
	$(BIN)/python docs/reference/make_what_each_party_sees.py

clean:
	rm -rf $(VENV) demo build dist benchmarks/out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +
	rm -rf src/fedmpca.egg-info

# Stamps say what is there: an environment that was only half made is made again, one that works is kept.

$(VENV)/made:
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "fedmpca needs Python 3.11 or newer, and '$(or $(PYTHON),python3)' is missing or older:" \
			"install one, or name it as in 'make PYTHON=/opt/python3.12/bin/python3 demo'." >&2; exit 1; }
	@$(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
		|| "$(PYTHON)" -m venv --clear $(VENV) \
		|| { echo "No environment could be made. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml
	@echo "Installing fedmpca and what it runs on into $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/made pyproject.toml
	@echo "Installing fedmpca and what its tests need into $(VENV) ..."
	@$(PIP) --editable '.[dev]'
	@touch $(VENV)/installed $@
