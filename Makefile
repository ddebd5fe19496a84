# Two commands are all that is needed: `make reproduce` and `make test`.
PYTHON ?= python3
JOBS ?= 2
PORT ?= 5000
TORCH = 2.13.0
BIN = .venv/bin
UV = $(BIN)/uv pip install -q --system-certs --python $(BIN)/python
PIP = $(BIN)/pip install -q --no-deps --no-compile
# uv takes a fraction of pip's time. Where it fails, pip may know better: it has settings of its own, such as a mirror.
locked = $(UV) --no-deps --require-hashes -r $(1) || $(PIP) --require-hashes -r $(1)
EVERY = setup $(patsubst %,$(BIN)/.%,cluster onnx serve docs test)
UNCLONED = error: this folder has no .git, which DVC needs; clone the repository in place of a source archive, or run: git init
# DVC starts `python`, which has to be the environment's. No tool may send usage data.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true
export DVC_NO_ANALYTICS := true
export RAY_USAGE_STATS_ENABLED := 0
export NO_MKDOCS_2_WARNING := true
# Packages come without bytecode. Whoever imports one first writes it, else each of 30 processes compiles it again.
unexport PYTHONDONTWRITEBYTECODE

reproduce: export MTBERT_TABLES := later

.PHONY: reproduce cloned experiments official glue report browser test test-all check bench mlflow docs setup lock licences clean

# JOBS counts where it was given; else two train at a time, or as many as GPUs or a cluster have room for.
reproduce: cloned setup $(if $(ADDRESS),$(BIN)/.cluster)  ## run the pipeline, JOBS trainings side by side, and print tables; VARIANTS=all; ADDRESS= of a Ray cluster, with GPUS=0.25 each, STORAGE= for checkpoints
	@$(BIN)/mtbert grid $(if $(filter file,$(origin JOBS)),,--jobs $(JOBS)) \
	  $(if $(VARIANTS),--variants "$(VARIANTS)") $(if $(ADDRESS),--address "$(ADDRESS)") $(if $(GPUS),--gpus $(GPUS)) \
	  $(if $(STORAGE),--storage "$(STORAGE)")
	@$(BIN)/mtbert tables

cloned:
	@git rev-parse --git-dir > /dev/null 2>&1 || { echo "$(UNCLONED)" >&2; exit 1; }

experiments: setup  ## what was changed in each experiment of `dvc exp run`, and what came of it
	@echo "A variant's column is its dev score: the mean over tasks; of a variant of one task, the score on that task"
	@$(BIN)/dvc exp show --only-changed --drop '.*/|^(build|data|models|papers|src|stages|variants|params.yaml|Created|State|Executor)$$'

official: setup  ## download the corpora into data/official, for dvc exp run -S data_dir=data/official
	$(BIN)/python stages/download.py data/official

glue: setup  ## download GLUE into data/glue, for mtbert study data/glue
	$(BIN)/python stages/download.py data/glue data/glue/downloads.yaml

report: setup  ## the report from the runs that are in build, nothing trained; EVIDENCE=reports/laptop/evidence from that alone
	$(BIN)/mtbert report $(if $(EVIDENCE),--evidence "$(EVIDENCE)")

browser:  ## what the tests of the page need: Chromium and its driver, from Debian's packages where these can be had
	@command -v chromium chromium-browser google-chrome >/dev/null && command -v chromedriver >/dev/null \
	|| { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] \
	  && apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium chromium-driver; } \
	|| echo "Chromium or its driver is not installed, and the tests of the page need both; on Debian and Ubuntu:" \
	  "sudo apt-get install chromium chromium-driver"

test: check  ## form, types, imports, then the tests of each part
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -q tests/reference tests/contracts tests/unit

test-all: test browser  ## then the whole: exports, the pipeline, every page as it is typed, the report in a browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -q tests/exports tests/pipeline tests/browser

check: $(EVERY)  ## form, types, the direction of imports, known faults of the packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python .ci/audit.py requirements/*.lock

bench: $(EVERY)  ## speed beside others: benchmarks/README.md; the machine should have nothing else to do
	$(BIN)/python benchmarks/steps.py --record benchmarks

mlflow: setup  ## compare runs in a browser, at the page that is printed; PORT=5001 for another port
	@$(BIN)/mtbert mlflow --port $(PORT)

docs: $(BIN)/.docs  ## the documentation as a site, with a reference made of the docstrings
	$(BIN)/mkdocs build --strict
	@echo "build/site/index.html; with search: $(BIN)/mkdocs serve"

setup: $(BIN)/.run  ## install what the pipeline and `mtbert` need; `make setup-onnx` adds what export to ONNX needs, setup-serve what serving needs

setup-%: $(BIN)/.%
	@:

# uv finds the build of PyTorch that fits the machine. Where there is no NVIDIA GPU, pip is asked first: its settings may
# name a place that holds the CPU build.
$(BIN)/.run: requirements/run.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mtbert needs Python 3.11 or newer: make PYTHON=...")'
	@$(PYTHON) -m venv .venv
	@echo "Installing PyTorch and $$(grep -c == $<) packages into .venv: 1.8 GB, about a minute"
	@$(PIP) --require-hashes -r requirements/uv.lock
	@$(call locked,$<)
	@{ ! command -v nvidia-smi && $(PIP) torch==$(TORCH)+cpu; } 2>/dev/null \
	|| $(UV) --torch-backend auto torch==$(TORCH)
	@$(UV) --no-deps --no-build-isolation --editable .
	@touch $@

# What only some commands need is installed when such a command is first called.
$(BIN)/.%: requirements/%.lock $(BIN)/.run
	@echo "Installing $$(grep -c == $<) packages for $*"
	@$(call locked,$<)
	@touch $@

lock: $(EVERY)  ## pin what is installed, with the digests of its files
	$(BIN)/python .ci/lock.py requirements

licences: $(EVERY)  ## list the licence of every package
	$(BIN)/pip-licenses --from=mixed --format=csv --with-system --output-file=licences.csv \
	  --packages torch $$(sed -n 's/==.*//p' requirements/*.lock)

clean:  ## remove the environment and all that the pipeline can make again; mlflow.db stays
	rm -rf .venv build .dvc/cache .dvc/tmp
