# Two commands are all that is needed: `make reproduce` and `make test`.
PYTHON ?= python3
JOBS ?= 2
TORCH = 2.13.0
BIN = .venv/bin
# DVC starts `python`, which has to be the environment's. No tool may send usage data.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true
export DVC_NO_ANALYTICS := true

.PHONY: reproduce test check mlflow setup clean

reproduce: $(BIN)/.ready  ## set up, run the pipeline, print the result table
	dvc repro
	@python -m mtbert.reporting build

test: check  ## set up, check the code's form, run the tests
	python -m pytest -n $(JOBS) --dist loadfile -q

check: $(BIN)/.ready  ## form, types and the direction of imports
	ruff check
	ruff format --check
	basedpyright
	lint-imports

mlflow: $(BIN)/.ready  ## compare runs in a browser: http://127.0.0.1:5000
	MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false mlflow ui --workers 1 \
	  --backend-store-uri sqlite:///mlflow.db --default-artifact-root ./mlartifacts

setup: $(BIN)/.ready

# Where there is no NVIDIA GPU, PyTorch's CPU build: a local version that pip finds where its own settings name a place
# that holds it, else through uv, which knows PyTorch's own places. Without this, Linux gets gigabytes of CUDA.
$(BIN)/.ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("mtbert needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; set PYTHON=") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	if [ "$$(uname)" != Linux ] || command -v nvidia-smi >/dev/null; then python -m pip install -q torch==$(TORCH); \
	else python -m pip install -q torch==$(TORCH)+cpu 2>/dev/null \
	  || { python -m pip install -q uv && uv pip install -q --python $(BIN)/python --torch-backend cpu torch==$(TORCH); }; fi
	python -m pip install -q -r requirements.lock
	python -m pip install -q --no-deps --editable .
	touch $@

clean:  ## remove the environment and everything that the pipeline can make again
	rm -rf .venv build .dvc/cache .dvc/tmp
