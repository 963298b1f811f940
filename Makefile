# make demo | test | test-long | check | test-vm | test-train | bench | soak | fuzz | map-check | mutants | syscalls | clean: each sets up what it needs first, and only once.

PYTHON ?= python3
MINUTES ?= 10
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Whole files to three workers, in the order of tests/conftest.py: on two cores, since many tests wait.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: setup demo test test-long check test-vm test-train bench soak fuzz map-check mutants syscalls clean lock

setup: $(VENV)/.installed
	@scripts/setup-host
	@$(BIN)/casemate image build cad
	@$(BIN)/casemate image build python

demo: setup
	$(BIN)/python -m casemate.cli demo examples --out out
	@scripts/demo-generate $(BIN)/python out/generated

test: setup
	@scripts/install-peers crun:crun runc:runc
	$(PYTEST)

# What `make test` has no time for.
test-long: setup
	$(PYTEST) -m long

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@scripts/install-peers crun:crun runc:runc
	$(PYTEST)

# In a virtual machine with cgroup v2; as root. Under emulation it is slow, which is why it is not part of `test`.
test-vm: setup
	@scripts/test-vm

# The reward in TRL's own trainer; installs torch, some gigabytes, into an environment of its own.
test-train: setup .venv-train/.installed
	.venv-train/bin/python -m pytest --rootdir train -c train/pytest.ini train

bench: setup
	@scripts/install-peers
	$(BIN)/casemate bench --out bench/RESULTS.md

# A tenant's jobs beside another's attacks, for MINUTES: how many were wrong, and how long they took.
soak: setup
	PYTHONPATH=tests $(BIN)/python -m escape.test_beside $(MINUTES)

# For so many minutes; what is found is kept in fuzz/corpus/.
fuzz: setup $(VENV)/.fuzzing
	PYTHONPATH=tests $(BIN)/python -m fuzz.run $(MINUTES)

# A thousand scripts twice, without a cache; every byte must be the same. Goes on where it was broken off.
map-check: setup
	PYTHONPATH=tests $(BIN)/python -m batch.twice out/map-check

# Each guard taken out singly: a test must fail. Takes hours, and goes on where it was broken off; ONLY='step: mount:'.
mutants: setup
	PYTHONPATH=tests $(BIN)/python -m mutants.run $(if $(ONLY),--only $(ONLY))

# What the jobs of the tests ask of the kernel; needs strace.
syscalls: setup
	$(BIN)/casemate syscalls trace cad tests/data/syscalls/cad examples tests/data/honest tests/data/results \
		tests/data/errors tests/data/hazards/s*.py tests/data/hazards/t*.py --record tests/data/syscalls/recorded/cad.json
	$(BIN)/casemate syscalls trace python tests/data/syscalls/python --record tests/data/syscalls/recorded/python.json
	$(BIN)/casemate syscalls trace strict tests/data/syscalls/strict --record tests/data/syscalls/recorded/strict.json

clean:
	rm -rf $(VENV) .venv-train .lock-venv .fuzz .mutants out dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests fuzz examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "casemate needs Python 3.11 or newer: make PYTHON=python3.11")'
	@rm -f $@
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes --only-binary=:all: -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation --no-index --editable .
	@touch $@

.venv-train/.installed: requirements/train.txt pyproject.toml
	@rm -f $@
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --only-binary=:all: -r requirements/train.txt
	.venv-train/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --no-index --editable .
	@touch $@

$(VENV)/.fuzzing: requirements/fuzz.txt $(VENV)/.installed
	$(PIP) install --require-hashes --only-binary=:all: -r requirements/fuzz.txt
	@touch $@

# Renews the hash-locked requirement files from their .in files; the lists of wanted versions are the .in files.
LOCK = .lock-venv/bin/uv pip compile --quiet --upgrade --no-config --no-header --no-annotate --universal \
	--generate-hashes --python-version 3.11

lock:
	$(PYTHON) -m venv .lock-venv
	.lock-venv/bin/python -m pip install --quiet uv
	$(LOCK) requirements/runtime.in -o requirements/runtime.txt
	$(LOCK) requirements/dev.in -o requirements/dev.txt
	$(LOCK) requirements/fuzz.in -o requirements/fuzz.txt
	$(LOCK) requirements/train.in -o requirements/train.txt
	$(LOCK) --no-deps images/cad.in -o images/cad.txt
	$(LOCK) --no-deps images/python.in -o images/python.txt
