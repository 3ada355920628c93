# `make demo`, `make chat`, `make serve`, `make unit` and `make test` do all the set-up on a fresh machine. PYTHON names another
# interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MCP_CHECKS := build/mcp_checks
AI_SDK := tests/server/proxy/clients/ai_sdk
LITELLM := build/litellm
DROPINS := build/dropins
CHECKS = $(MAKE) --no-print-directory
STRANDS := build/strands
TRAIN := build/train
TOOLS := build/tools
LOWEST := build/lowest

# Install a package of Debian's, which takes Debian and its root user.
apt_install = { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq \
       && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes $(1) > /dev/null; }

# Save bytecode even where PYTHONDONTWRITEBYTECODE is set: each process would spend seconds on compiling the tests.
# Without threads of its own, numpy is loaded twice as fast in each process.
unit test: export PYTHONDONTWRITEBYTECODE =
unit test: export OPENBLAS_NUM_THREADS = 1

.PHONY: demo chat serve unit test ready check docs conformance dropins browser system-browsers proxies clients train \
  vendor wheel lowest packaging clean

demo: $(VENV)/installed
	@$(BIN)/everthread demo

chat: $(VENV)/installed
	@$(BIN)/everthread chat

serve: $(VENV)/installed-server
	@$(BIN)/everthread serve --open

# One worker more than there are cores, because many tests wait; at most six, because each of them may start a Postgres
# server.
WORKERS = $$($(BIN)/python -c 'import os; print(min((os.cpu_count() or 1) + 1, 6))')

# The tests that need neither Postgres, a browser nor another process, nor a third of a second of processor time. They
# take about a minute on two cores.
unit: $(VENV)/installed-unit
	$(BIN)/pytest -m unit -p no:schemathesis --hypothesis-profile unit --dist worksteal --numprocesses $(WORKERS)

# All tests. Those of a file run in one worker, and the files in the order of tests/conftest.py. The checks run beside
# them, because they keep one core busy at most, and say afterwards what they found.
test:
	@$(CHECKS) --jobs 3 ready
	@mkdir -p build
	@$(CHECKS) check docs > build/checks.txt 2>&1 & checks=$$!; \
	$(BIN)/pytest --dist loadfile --no-loadscope-reorder --numprocesses $(WORKERS); tests=$$?; \
	wait $$checks; checks=$$?; cat build/checks.txt; exit $$((tests | checks))

# What all tests need, fetched at the same time.
ready: $(VENV)/installed-test browser proxies $(AI_SDK)/node_modules

check: $(VENV)/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Build the documentation as a site, in site/. A broken link or reference is an error.
docs: $(VENV)/installed-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Fetch the libraries of the page again, in the versions that vendor.json lists. It needs npm.
vendor: $(VENV)/installed-server
	$(BIN)/python -m everthread.server.vendor

# The official checks of MCP, which need npm. They are not part of `make test`.
conformance: $(VENV)/installed-unit $(MCP_CHECKS)/installed
	$(BIN)/python tests/mcp/conformance.py $(MCP_CHECKS)/node_modules/.bin

# The tests of LangGraph's SQLite store and of the Agents SDK's SQLite session with ours, from their sources, which PyPI
# has, and the tests of our store for Strands, which needs an older mcp, and so an environment of its own. They are not
# part of `make test`.
dropins: $(VENV)/installed-test $(DROPINS)/fetched $(STRANDS)/installed
	$(BIN)/python tests/compat/langgraph_suite.py $(DROPINS)
	$(BIN)/python tests/compat/openai_agents_suite.py $(DROPINS)
	$(STRANDS)/bin/python -m pytest tests/compat/test_strands.py tests/test_docs.py -k strands

# The tests of the clients with litellm as well, which needs an older openai, and so an environment of its own.
clients: $(VENV)/installed-test $(AI_SDK)/node_modules $(LITELLM)/installed
	$(BIN)/pytest -m '' tests/server/proxy/test_clients.py tests/server/proxy/test_connect_page.py

# The tests of training and exporting, which need torch, and so an environment of its own.
train: $(TRAIN)/installed
	$(TRAIN)/bin/python -m pytest tests/training tests/embedders/test_export.py tests/cli/test_train.py

# Build the distributions into dist/, and check the wheel in a clean environment.
wheel: $(TOOLS)/installed
	rm -rf dist
	$(TOOLS)/bin/python -m build --outdir dist
	$(TOOLS)/bin/twine check --strict dist/*
	$(TOOLS)/bin/python tests/check_wheel.py dist/everthread-*.whl

# The tests, except the longest ones, with the lowest versions of all libraries that pyproject.toml allows. The usage texts
# of an older click differ from those in docs/cli.md.
lowest: $(LOWEST)/installed
	$(LOWEST)/bin/pytest -m 'not (browser or fuzzing or hardship or litellm or process or slow)' -p no:schemathesis \
	  --hypothesis-profile unit --dist worksteal --numprocesses 2 \
	  --deselect tests/test_docs.py::test_the_reference_of_the_command_line_is_up_to_date

# Check the units of systemd, and build and check the image with podman, Docker or buildah. TOOL chooses one of them,
# BASE another base.
packaging:
	mkdir -p build/unit
	for unit in everthread.service everthread-backup.service everthread-backup.timer; do \
	  sed 's|/opt/everthread/bin/everthread|/bin/true|' deploy/$$unit > build/unit/$$unit; done
	systemd-analyze verify build/unit/everthread.service build/unit/everthread-backup.timer
	systemd-analyze security --offline=true --threshold=15 --no-pager build/unit/everthread.service \
	  > build/unit/security.txt || { cat build/unit/security.txt; exit 1; }
	$(PYTHON) tests/check_image.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Everthread needs Python 3.11 or later, this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11")'
	@echo 'Making a Python environment in $(VENV) …'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python pyproject.toml
	@echo 'Installing Everthread into $(VENV): about a minute, 260 MB …'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[llm]'
	@echo 'Installed.'
	@touch $@

$(VENV)/installed-server: $(BIN)/python pyproject.toml
	@echo 'Installing Everthread into $(VENV): about a minute, 270 MB …'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[server]'
	@echo 'Installed.'
	@touch $@ $(VENV)/installed

$(VENV)/installed-unit: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[unit]'
	@touch $@ $(VENV)/installed $(VENV)/installed-server

# pip would compile all modules on one core. The few that can't be compiled are never imported.
$(VENV)/installed-test: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[test]'
	@$(BIN)/python -m compileall -q --workers 0 $(VENV)/lib > /dev/null || true
	@touch $@ $(VENV)/installed $(VENV)/installed-server $(VENV)/installed-unit

$(DROPINS)/fetched: Makefile
	@rm -rf $(DROPINS) && mkdir -p $(DROPINS)
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
	  --dest $(DROPINS) langgraph-checkpoint-sqlite==3.1.2 openai-agents==0.24.0
	for source in $(DROPINS)/*.tar.gz; do tar --extract --gzip --directory $(DROPINS) --file $$source || exit 1; done
	@touch $@

# The Inspector needs Node 22.19 or later, which npm has as a package.
$(MCP_CHECKS)/installed: Makefile
	@mkdir -p $(MCP_CHECKS)
	npm install --silent --no-audit --no-fund --prefix $(MCP_CHECKS) \
	  @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 \
	  $$(node -p 'parseInt(process.versions.node) < 24 ? `node-linux-$${process.arch}@24` : ""')
	@touch $@

# The tests of the page need Chromium: the shell for machines without a screen, from Debian, else the system's Chromium,
# else one installed here from Debian or by Playwright. They take Firefox from Debian as well; a test is skipped without
# it.
browser: system-browsers $(VENV)/installed-test
	@{ command -v chromium-headless-shell || command -v chromium || command -v chromium-browser \
	    || command -v google-chrome; } > /dev/null \
	  || $(BIN)/playwright install --only-shell chromium \
	  || { echo "The tests of the page need a Chromium: apt install chromium, or $(BIN)/playwright install chromium"; exit 1; }

system-browsers:
	@{ command -v chromium-headless-shell > /dev/null || $(call apt_install,chromium-headless-shell); } 2> /dev/null \
	  || { command -v chromium || command -v chromium-browser || command -v google-chrome; } > /dev/null \
	  || $(call apt_install,chromium) || true
	@{ command -v firefox-esr || command -v firefox; } > /dev/null || $(call apt_install,firefox-esr) \
	  || echo "Without Firefox a test of the page is skipped: apt install firefox-esr"

# The tests of several servers with one database put nginx and HAProxy before them, from Debian; they are skipped without.
# With this run level Debian doesn't start a proxy that it installs. The browsers come first, because apt works alone.
proxies: system-browsers
	@PATH="$$PATH:/usr/sbin"; { command -v nginx && command -v haproxy; } > /dev/null \
	  || { export RUNLEVEL=1; $(call apt_install,nginx-light haproxy); } \
	  || echo "Without nginx and HAProxy some tests are skipped: apt install nginx-light haproxy"

# The AI SDK, a client in JavaScript. Without npm its tests are skipped.
$(AI_SDK)/node_modules: $(AI_SDK)/package-lock.json
	@if command -v npm > /dev/null; then npm ci --prefix $(AI_SDK) --silent --no-audit --no-fund && touch $@; fi

$(LITELLM)/installed:
	$(PYTHON) -m venv $(LITELLM)
	$(LITELLM)/bin/python -m pip install --quiet --disable-pip-version-check litellm
	@touch $@

$(STRANDS)/installed: pyproject.toml
	$(PYTHON) -m venv $(STRANDS)
	$(STRANDS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[strands]' hypothesis pytest
	@touch $@

# torch comes first: with the other packages pip may choose one with gigabytes of CUDA.
$(TRAIN)/installed: pyproject.toml
	$(PYTHON) -m venv $(TRAIN)
	$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[train]' hypothesis pytest
	@touch $@

$(TOOLS)/installed: Makefile
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check build twine uv
	@touch $@

$(LOWEST)/installed: $(TOOLS)/installed pyproject.toml
	$(TOOLS)/bin/uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	$(TOOLS)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) $(AI_SDK)/node_modules .mypy_cache .ruff_cache .pytest_cache build dist site
