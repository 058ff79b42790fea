# Attention from Scratch. `make` alone lists what there is. Needs a POSIX shell and Python 3.11-3.13.

.DEFAULT_GOAL := help
.PHONY: help lab test check deep nightly quick lint notebooks exercises slips claims site bench bench-grading class format models lock release clean

VENV := .venv/bin/python
# Every test and notebook run keeps a learner's progress of its own, in a temporary folder.
ISOLATED := $(VENV) scripts/isolated.py
# Several processes with one thread each: what is tested is small, and more threads than cores wait
# for each other. They keep compiled modules: without these, every process that a test starts compiles
# the course again.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(ISOLATED) $(VENV) -m pytest -n auto --maxprocesses 4
NBVAL := $(PYTEST) -q --dist loadfile -p scripts.nbval_home --nbval-current-env \
	--nbval-cell-timeout=300 --nbval-sanitize-with tests/sanitize.cfg --ignore-glob='*.bak-*'

# $(call set_up,lab) finds a Python that fits and brings .venv up to date; seconds if it is already.
set_up = @py=$$(PYTHON="$(PYTHON)" sh scripts/find_python.sh) && \
	CPU="$(CPU)" "$$py" scripts/set_up.py $(1)

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'Options: CPU=1 (torch without CUDA, for Linux), PYTHON=python3.12, LAB_FLAGS="--no-browser"'

lab:  ## set up what is missing, then open the course in JupyterLab
	$(call set_up,lab)
	@-$(VENV) -m scripts.translate_notebooks
	@echo "Opening JupyterLab. To stop it, press Ctrl-C twice here."
	@exec env JUPYTERLAB_WORKSPACES_DIR="$${JUPYTERLAB_WORKSPACES_DIR:-.venv/workspaces}" \
		$(VENV) -m jupyterlab --notebook-dir=. $(LAB_FLAGS) notebooks/00_start_here.ipynb

test:  ## set up what is missing, then run every test (some minutes)
	$(call set_up,test)
	@$(MAKE) --no-print-directory lint
	$(ISOLATED) $(VENV) -m mypy
	$(PYTEST) tests -m "not nightly"
	$(NBVAL) --nbval notebooks solutions
	@echo "All tests passed."

check: test  ## the same as make test: what CI runs

deep:  ## test tasks with 20 seeds, mutants and pairs (TASKS="attention mask": these alone), then MUTANTS=20 of the modules (MODULES=attn_lib/masks.py)
	$(call set_up,test)
	$(PYTEST) tests/checks/test_tasks.py --deep=$(or $(DEEP),always) $(if $(TASKS),--task="$(TASKS)")
	$(if $(TASKS),,env OMP_NUM_THREADS=1 $(ISOLATED) $(VENV) -m tests.mutation --count $(or $(MUTANTS),20) $(MODULES))

nightly:  ## the tests that repeat others exhaustively, and the untouched exercises (an hour)
	$(call set_up,test)
	$(PYTEST) tests -m nightly
	$(NBVAL) --nbval-lax exercises
	ATTN_LANGUAGE=zh $(VENV) -m scripts.translate_notebooks
	$(NBVAL) --nbval zh/notebooks/01_single_head.ipynb

quick:  ## formatting, lint and the quick tests (under 2 minutes)
	$(call set_up,test)
	@$(MAKE) --no-print-directory lint
	$(PYTEST) tests -m "not browser and not slow and not nightly"

lint:
	$(VENV) -m ruff format --check
	$(VENV) -m ruff check

format:  ## format the code, notebooks included, and fix what lint can fix
	$(call set_up,test)
	$(VENV) -m ruff check --fix
	$(VENV) -m ruff format

notebooks:  ## run the lessons and solutions and store their outputs
	$(call set_up,test)
	$(VENV) scripts/run_notebooks.py notebooks solutions

exercises:  ## generate the exercises from the solutions
	$(call set_up,test)
	$(VENV) scripts/make_exercises.py

slips:  ## write the table of mistakes from the rows of the checks
	$(call set_up,test)
	$(VENV) -m scripts.make_slips

claims:  ## try what the lessons conclude on other seeds, steps and learning rates (hours; goes on where it was; LESSONS="08 09")
	$(call set_up,test)
	$(ISOLATED) $(VENV) -m tests.claims $(LESSONS)

site:  ## build the website into _site
	$(call set_up,test)
	$(VENV) -m sphinx -W --keep-going -c site . _site

bench:  ## measure how quick the library, the checks and the language model are
	$(call set_up,test)
	$(ISOLATED) $(VENV) scripts/bench.py
	$(ISOLATED) $(VENV) scripts/bench_llama.py

bench-grading:  ## measure how quick grading is, beside nbgrader alone
	$(call set_up,test)
	$(ISOLATED) $(VENV) -m scripts.bench_grading

class:  ## grade a simulated class of 200, hostile learners among them, and compare every result
	$(call set_up,test)
	$(ISOLATED) $(VENV) -m tests.grading.simulated_class

models:  ## fetch the pretrained weights, if they are missing
	$(call set_up,models)

# Without what only torch needs: the build without CUDA needs less of it.
EXPORT := uv export --quiet --no-hashes --no-annotate --prune torch

lock:  ## lock the versions after a change in pyproject.toml, with uv (UPGRADE=1: newer ones)
	uv lock $(if $(UPGRADE),--upgrade)
	$(EXPORT) --no-default-groups --group lab --output-file requirements.txt >/dev/null
	$(EXPORT) --only-group dev --output-file requirements-dev.txt >/dev/null

release:  ## build what a release hands out into dist/, and check it (RELEASE="--again --install": twice, and try the wheel)
	$(call set_up,test)
	$(VENV) -m scripts.make_release $(RELEASE)

clean:  ## remove what builds and tests leave behind; keeps .venv and everything of yours
	rm -rf _site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
