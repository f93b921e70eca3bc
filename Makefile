# Everything a newcomer needs; each target sets up what it uses.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo site results test quick-test coverage faults peers lint browser slurm clean

demo: $(VENV)/installed           ## install, train and prune a small network by every method of the suite, print the tables
	$(BIN)/mobench run suite=compression profile=digits device=cpu

SHIPPED := leaderboard/submissions
# What came of repeating shipped runs: `make verdicts`.
VERDICTS := leaderboard/verdicts.json
site: $(VENV)/installed           ## install, build the leaderboard from the results that ship (and your own), and say where it is
	$(BIN)/mobench leaderboard build submissions=$(SHIPPED) verdicts=$(VERDICTS)

.PHONY: screenshot
screenshot: $(VENV)/tested         ## the README's picture of the built site: docs/leaderboard.webp
	$(BIN)/python -m tests.leaderboard.screenshot site=site out=docs/leaderboard.webp

# Resumable: what is stored already is not run again. Exit code 1 says that runs failed, which is a result of their methods.
# suites/reference.yaml lists the suites; CIFAR lists profiles of `compression` on real data, run where data.root=DIR has it.
BY    ?= The mobench maintainers
CIFAR ?= cifar-cpu
REFER := $(BIN)/mobench submit reference=yes by="$(BY)" out=$(SHIPPED)
results: $(VENV)/installed        ## make all shipped results anew: an estimate of time, the runs, the bundles; data.root=DIR adds CIFAR-10
	$(BIN)/mobench run suite=reference device=cpu --dry-run
	$(BIN)/mobench run suite=reference device=cpu || [ $$? = 1 ]
	$(REFER) suite=reference
ifdef data.root
	for profile in $(CIFAR); do \
	$(BIN)/mobench run suite=compression profile=$$profile data.root="$(data.root)" --dry-run && \
	{ $(BIN)/mobench run suite=compression profile=$$profile data.root="$(data.root)" || [ $$? = 1 ]; } && \
	$(REFER) suite=compression profile=$$profile || exit; done
endif
	$(BIN)/mobench leaderboard verify budget=0

.PHONY: verdicts
BUDGET ?= 120
verdicts: $(VENV)/installed       ## repeat shipped runs, BUDGET=120 seconds of each bundle, for what the site says of them; data.root=DIR adds CIFAR-10
	$(BIN)/mobench leaderboard verify budget=$(BUDGET) verdicts=$(VERDICTS) $(if $(data.root),data.root="$(data.root)")

# Three workers keep two cores busy, since some tests wait for a cluster or a signal. Neighbours stay together, so that
# what they share is made once; a worker that has nothing left takes from the one that has most.
SIDE_BY_SIDE := -n 3 --dist worksteal

# Tests start hundreds of processes, each of which would compile the project's files anew.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/tested              ## install with everything the tests need, and run all checks
	$(MAKE) --no-print-directory lint
	-$(MAKE) --no-print-directory browser
	-$(MAKE) --no-print-directory slurm
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) tests

# What takes long: real clusters, kills, browsers and trained networks.
SLOW := tests/faults tests/slurm tests/leaderboard tests/running tests/problems/compression
quick-test: export PYTHONDONTWRITEBYTECODE =
quick-test: $(VENV)/tested        ## the tests of a daily loop, a few minutes: all but $(SLOW)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) tests $(addprefix --ignore=,$(SLOW))

coverage: $(VENV)/tested          ## all tests once more, with the lines that none of them reaches
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) --cov --cov-report=term-missing:skip-covered tests

faults: $(VENV)/tested            ## 200 kills of drivers and workers, compared with undisturbed runs
	$(BIN)/python -m pytest -s -m faults tests/faults

.PHONY: atlas
atlas: $(VENV)/installed          ## compare all methods, and renew methods/atlas.json, docs/atlas.png and the tables of docs/atlas.md
	$(BIN)/mobench atlas out=docs
	mv docs/atlas.json methods/atlas.json

peers: $(VENV)/peers              ## compare with other libraries, and renew the table of docs/performance.md; size=quick|default|all only=PARTS out=DIR data.root=DIR
	$(BIN)/python -m benchmarks.peers $(foreach key,size only out data.root,$(if $($(key)),$(key)=$($(key))))

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: speed speed-compare bench
ASV  := $(BIN)/asv
BASE ?= main
HEAD ?= HEAD

speed: $(VENV)/tested             ## record the speed of this commit, and publish all records to .asv/html
	@git diff --quiet HEAD || echo "note: uncommitted changes are measured and recorded under the commit before them"
	$(ASV) machine --yes --config benchmarks/asv.conf.json
	$(ASV) run --config benchmarks/asv.conf.json -E existing:same --set-commit-hash "$$(git rev-parse HEAD)"
	$(ASV) publish --config benchmarks/asv.conf.json

speed-compare: $(VENV)/tested     ## compare two commits, BASE=main HEAD=HEAD; BENCH=regex chooses benchmarks
	$(BIN)/python -m benchmarks.compare "$(BASE)" "$(HEAD)" --bench "$(BENCH)"

bench: $(VENV)/tested             ## time the kernels in a minute, beside the last time
	$(BIN)/python -m pytest -m bench tests/benchmarks --benchmark-autosave --benchmark-compare

# A Chromium for the tests of the site: what is installed, else the system's, else playwright's own. Without one they skip.
INSTALL_CHROMIUM := apt-get update -q && apt-get install -qy --no-install-recommends chromium
browser: $(VENV)/tested
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	|| { [ "$$(id -u)" = 0 ] && $(INSTALL_CHROMIUM); } \
	|| { sudo -n true 2> /dev/null && sudo sh -c '$(INSTALL_CHROMIUM)'; } \
	|| $(BIN)/playwright install chromium

# Slurm for the tests of its executor: what is installed, else the system's. Without it, and without root, they skip.
slurm:
	@{ [ "$$(id -u)" = 0 ] && tests/slurm/loopback.sh install; } \
	|| { sudo -n true 2> /dev/null && sudo tests/slurm/loopback.sh install; } \
	|| echo "Slurm cannot be installed here; its tests are skipped"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/tested: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@ $(VENV)/installed

$(VENV)/peers: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet -e '.[peers]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
