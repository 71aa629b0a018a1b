# Every target sets up what it needs by itself: a clone and `make test` is all.
.DEFAULT_GOAL := test
.PHONY: map demo test whole quick test-agents check conformance mutants mutants-ci coverage deaths states snapshots storm daemon-storm bench fmt sql hot api lock clean ready
MAKEFLAGS += --no-print-directory
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
OUTCOMES := .build/conformance.json
# How many failed tests are run once more, alone, and named (checks/again.py). CI sets it.
AGAIN ?= 0

demo: ready
	@$(BIN)/fleet demo

test: check
	@$(MAKE) conformance

# Also what `make test` takes a part of: all tests with agents on PostgreSQL, and all of the command line through a daemon. An hour.
whole: check
	@FLEET_EVERY_TEST=1 $(MAKE) conformance
	@FLEET_TESTS_DAEMON=1 $(BIN)/pytest --quiet tests/cli

# The inner loop: no tmux, no PostgreSQL, nothing that is slow by nature (tests/plugins/quick.py has the rules). A minute or so.
QUICK := tests/unit tests/contract tests/verbs tests/cli
quick: ready
	@$(BIN)/pytest --quiet --quick $(QUICK)

# The real Claude Code and Codex, from npm, against a model stub on loopback: no account, no network, but 700 MB in .build.
# The others too: make test-agents AGENTS="claude codex gemini opencode"
AGENTS ?= claude codex
test-agents: ready
	@sh checks/agents.sh $(AGENTS)
	@$(BIN)/pytest --quiet -rs tests/real_agents

check: ready
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-cache --no-logo 2>&1
	$(BIN)/python checks/sql.py --check
	$(BIN)/python checks/sizes.py
	$(BIN)/python checks/layout.py --check
	$(BIN)/python checks/untyped.py
	$(BIN)/python checks/decisions.py
	$(BIN)/python checks/hot.py
	$(BIN)/python checks/upcalls.py
	$(BIN)/python checks/class_names.py
	$(BIN)/python checks/api.py --check
	$(BIN)/python checks/json_reference.py --check
	$(BIN)/python checks/mutate.py --check

# The table is printed even when tests fail; the worse of the two decides.
conformance: ready
	@sh checks/programs.sh bwrap
	@rm -f $(OUTCOMES)
	@status=0; \
	$(BIN)/pytest --quiet || status=$$?; \
	if [ $$status -eq 1 ]; then $(BIN)/python checks/again.py $(AGAIN) && status=0; fi; \
	$(BIN)/python checks/conformance.py $(OUTCOMES) || status=$$?; \
	exit $$status

# Break the source in each way of checks/mutants/, and see that the tests of the broken row fail. Hours; a run that was interrupted goes
# on where it was. Those with some words alone: make mutants ONLY="STORE-4 fence". All from the start: make mutants MUTANTS=--again
mutants: ready
	@$(BIN)/python checks/mutate.py $(if $(ONLY),--only "$(ONLY)") $(MUTANTS)

# CI's part of it, right after the tests: the mutants whose source or tests changed, then others in turn, for a minute, never longer.
mutants-ci: ready
	@$(BIN)/python checks/mutate.py --part 60 --outcomes $(OUTCOMES) --json .build/mutants.json $(MUTANTS)

# The same tests, or TESTS, and which lines they reach, in child processes too. Half an hour.
coverage: ready
	@$(BIN)/python checks/covering $(TESTS)

# Every death of every verb on both stores, every death of its recovery, and failing calls of the system; the figures go into
# docs/explanation/proof.md. Many hours; a part: make deaths PART="--every 20 --most 2"
deaths: ready
	@$(BIN)/python checks/deaths.py $(PART)

# Every state of a task and its next step, of which the tests take a few at random. Half an hour.
states: ready
	@FLEET_EVERY_STATE=1 $(BIN)/pytest --quiet tests/contract/tasks/test_every_state.py

# Draw the screens of tests/screen/snapshots anew, after a change of how `fleet tui` looks; read what changed in `git diff`.
snapshots: ready
	@rm -f tests/screen/snapshots/*.txt
	@WRITE_SNAPSHOTS=1 $(BIN)/pytest --quiet tests/screen/test_snapshots.py

# The lock of a resume: 100 000 acquisitions, every other holder killed while it holds it. A quarter of an hour.
storm: ready
	@$(BIN)/python tests/live/resume/storm.py 100000

# A daemon that is killed every half second for a minute while clients write: every acknowledged change is there, once.
daemon-storm: ready
	@DAEMON_STORM_SECONDS=60 $(BIN)/pytest --quiet tests/cli/daemon/test_killed.py -k killed_all_the_time

bench: ready
	@$(BIN)/python -m benchmarks

fmt: ready
	$(BIN)/ruff check --quiet --fix-only
	$(BIN)/ruff format --quiet

sql: ready
	$(BIN)/python checks/sql.py

# After a change of what the hot commands import, or of the table of settings.
hot: ready
	$(BIN)/python checks/hot.py --write

api: ready
	$(BIN)/python checks/api.py
	$(BIN)/python checks/json_reference.py

map: ready
	$(BIN)/python checks/layout.py

lock: ready
	PATH="$$PATH:.build/uv/bin" uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
	    --no-emit-index-url --no-annotate --no-header --upgrade --output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv .build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Bytecode and its bundle are written at each run, because the environment may forbid Python to write them by itself.
ready: .venv/ready
	@$(BIN)/python -m compileall -q "$(CURDIR)/src/fleet"
	@$(BIN)/python -c "from fleet.bundle_writing import write; write()"
	@sh checks/programs.sh tmux

.venv/ready: pyproject.toml requirements.lock checks/setup.sh scripts/fleet
	@sh checks/setup.sh
	@touch $@
