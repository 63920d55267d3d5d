PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FUZZ_SECONDS ?= 1200
# Each worker imports everything once: more of them cost more than two cores gain by them.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal
# What `make check` checks: one folder of xlbridge/ with its tests, or everything.
ROOM ?=
TESTS_OF_files := tests/workbook/test_atomic.py
TESTS_OF_report_forms := tests/report_forms tests/validation/reports
TESTS_OF_validation := tests/validation tests/mapping
TESTS_OF_wire := tests/wire tests/golden
# What `make check` leaves out of a room: tests that repeat its main ways for other systems, keys, logs,
# journals and clocks, and those of many sheets. They take as long as all others.
LATER_OF_upload := $(addprefix upload/test_,answer_variants clocks corrected_keys growing_sheet \
	inventory_counts journal_marker lookup_proofs lost_fields many_rows near_keys order_sheets other_journals \
	other_logs other_systems quirks replica_lag targets title_splits)
LATER_OF_validation := $(addprefix mapping/test_,analyst_steps arriving_values header_rows instalments \
	items_in_rows layouts linked_names mapped_samples misleading_sheets resource_choice revalidation)
ROOM_TESTS = $(if $(ROOM),tests/test_floors.py $(or $(TESTS_OF_$(ROOM)),tests/$(ROOM)),tests)
WITH_SANDBOX := tests/sandbox tests/upload tests/export tests/client/test_login_command.py \
	tests/client/test_remote_commands.py
SENDING := tests/client tests/upload tests/batch tests/library tests/export
# A share of what uses a sandbox and of what sends, each way of it: a minute or two each, where all of it takes
# as long as the suite.
POSTGRES_SAMPLE := tests/sandbox tests/upload/test_modes.py tests/upload/test_updates.py \
	tests/upload/test_reconcile.py tests/export/test_completeness.py tests/client/test_login_command.py \
	tests/client/test_remote_commands.py
STRICT_SAMPLE := tests/upload/test_every_channel.py tests/upload/test_modes.py tests/upload/test_updates.py \
	tests/upload/test_undo.py tests/upload/test_split.py tests/upload/test_reconcile.py \
	tests/library/test_connection.py tests/client/test_remote_commands.py \
	tests/client/test_purchase_orders.py tests/export/test_round_trip.py tests/batch/test_linked_batch.py
# What reads the sandbox's own answers beside the client, by the names that they have there, or needs
# moments and dates that only it tells.
READING_ANSWERS := tests/export/test_sandbox_exports.py tests/export/test_round_trip.py \
	tests/batch/test_links.py::test_codes_are_filled_in_once_the_clients_are_there \
	tests/batch/test_links.py::test_two_records_and_an_inactive_one_are_not_chosen \
	tests/export/test_completeness.py::test_all_clients_are_exported_with_few_calls \
	tests/export/test_import_sheets.py::test_settled_titles_are_exported_as_import_sheet_only_on_request
OTHER_SHAPES_SAMPLE := tests/upload/test_every_channel.py::test_an_accepted_row_is_not_sent_again \
	tests/upload/test_every_channel.py::test_a_refused_row_stays_open_until_it_is_corrected \
	tests/upload/test_modes.py tests/upload/test_good_rows.py tests/client/test_purchase_orders.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Relative, as pip splits the variable at spaces, which folders may have.
export PIP_CONSTRAINT := constraints.txt
export UV_CONSTRAINT := constraints.txt
# uv installs faster, but does not read pip's configuration: pip installs what it cannot.
UV := $(shell command -v uv)
comma := ,
install = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python $(1) ||) \
	$(BIN)/python -m pip install --quiet $(1)
# Python is started hundreds of times: each module is compiled once, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo check test coverage test-programs test-postgres test-postgres-sample test-strict test-strict-sample test-other-shapes test-other-shapes-sample test-httpx2 test-slow fuzz reliability truth lint format bench schemas templates reference man requirements docs release-check app clean

demo: $(VENV)/.runtime ## the whole story, offline; leaves its workbooks in out/
	$(BIN)/python samples/demo.py

check: $(VENV)/.dev ## what to run after each edit: style, types and quick tests, of a ROOM=upload
	$(BIN)/ruff format --check xlbridge/$(ROOM) $(ROOM_TESTS)
	$(BIN)/ruff check xlbridge/$(ROOM) $(ROOM_TESTS)
	$(BIN)/mypy $(if $(ROOM),xlbridge/$(ROOM))
	$(BIN)/python -m pytest -n 2 --dist worksteal --in-process $(ROOM_TESTS) \
		$(LATER_OF_$(ROOM):%=--ignore tests/%.py) $(PYTEST_ARGS)

test: $(VENV)/.dev ## the fast suite
	$(PYTEST) $(PYTEST_ARGS)

coverage: PYTEST += -m 'not slow' --cov --cov-report=term
coverage: test ## the fast suite, with branch coverage

test-programs: $(VENV)/.dev ## what drives a browser, LibreOffice, PostgreSQL, schemathesis or a Dask cluster
	$(PYTEST) -m 'programs and not slow' $(PYTEST_ARGS)

test-postgres: $(VENV)/.dev ## all that uses a sandbox once more, on a PostgreSQL server of its own
	$(PYTEST) --db postgresql $(or $(PYTEST_ARGS),$(WITH_SANDBOX))

test-postgres-sample: ## a share of test-postgres, for every change
	$(MAKE) test-postgres PYTEST_ARGS='$(POSTGRES_SAMPLE)'

test-strict: $(VENV)/.dev ## what sends to a sandbox once more, to the strict one
	$(PYTEST) --strict-sandbox $(or $(PYTEST_ARGS),$(SENDING))

test-strict-sample: ## a share of test-strict, for every change
	$(MAKE) test-strict PYTEST_ARGS='$(STRICT_SAMPLE)'

test-other-shapes: $(VENV)/.dev ## the same, by a stand-in that answers what is not shown in other shapes
	$(PYTEST) --other-shapes $(or $(PYTEST_ARGS),$(SENDING) $(READING_ANSWERS:%=--deselect %))

test-other-shapes-sample: ## a share of test-other-shapes, for every change
	$(MAKE) test-other-shapes PYTEST_ARGS='$(OTHER_SHAPES_SAMPLE)'

test-httpx2: $(VENV)/.dev ## the client and what sends with httpx2, which continues httpx under its own name
	$(BIN)/python -m pip install --quiet httpx2
	PYTHONPATH=tests $(PYTEST) -p on_httpx2 $(or $(PYTEST_ARGS),$(SENDING))

test-slow: $(VENV)/.dev ## the long kill, fuzz and load runs; properties with new examples
	$(BIN)/python -m pytest -m 'slow or hypothesis' --hypothesis-profile new-examples $(PYTEST_ARGS)

fuzz: $(VENV)/.dev ## readers of each kind of file and both JSON parsers, guided by coverage; findings become seeds
	$(BIN)/python -m pip install --quiet atheris
	for target in workbook kinds listing body; do \
	  PYTHONPATH=.:tests:tests/fuzzing:tests/workbook $(BIN)/python tests/fuzzing/fuzz.py \
	    $$target $(FUZZ_SECONDS) out/fuzz || exit 1; \
	done

reliability: $(VENV)/.dev ## kills, faults and a state machine; prints duplicates, losses and doubts
	PYTHONPATH=.:tests:tests/reliability $(BIN)/python tests/reliability/report.py $(RELIABILITY_ARGS)

truth: $(VENV)/.dev ## what analysts' programs may write: right, reported or changed silently
	PYTHONPATH=.:samples:tests:tests/export:tests/truth:tests/validation:tests/workbook \
	$(BIN)/python tests/truth/report.py

lint: $(VENV)/.dev ## formatting, style, types and the floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev $(VENV)-users/.done ## ratios, printed; nothing is asserted
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/validate.py --python $(VENV)-users/bin/python
	$(BIN)/python benchmarks/seed.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python benchmarks/refresh.py
	$(BIN)/python benchmarks/calls.py
	$(BIN)/python benchmarks/upload.py
	$(BIN)/python benchmarks/records.py
	$(BIN)/python benchmarks/batch.py
	$(BIN)/python benchmarks/analyst_steps.py
	$(BIN)/python benchmarks/page.py
	$(VENV)-users/bin/python -m pip install --quiet -e '.[bench]'
	$(BIN)/python benchmarks/table.py --python $(VENV)-users/bin/python

templates: schemas ## writes templates/ anew from schemas/
	$(BIN)/python -m xlbridge --lang pt-BR template --all templates --force

reference: schemas ## writes docs/reference/ and the client's stub anew from the code
	$(BIN)/python docs/generate_reference.py en
	$(BIN)/python docs/generate_reference.py pt-BR
	$(BIN)/python docs/generate_client_stub.py

schemas: $(VENV)/.runtime ## writes down what the schema files and the models say, for a quick start
	$(BIN)/python docs/generate_shipped_schemas.py

man: $(VENV)/.runtime ## manual pages of all commands, in both languages, in out/man/: `man -M out/man xlbridge`
	$(BIN)/python docs/generate_man_pages.py en out/man
	$(BIN)/python docs/generate_man_pages.py pt-BR out/man

requirements: $(VENV)/.runtime ## packaging/requirements.txt anew: the versions of constraints.txt with their hashes
	$(BIN)/python -m pip install --quiet uv
	echo '# Versions of constraints.txt with their hashes, for pip install --require-hashes: make requirements.' \
	  > packaging/requirements.txt
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-header --no-annotate \
	  $(foreach extra,sandbox ui keyring parquet postgres,--extra $(extra)) \
	  --constraints constraints.txt >> packaging/requirements.txt

docs: $(VENV)/.dev ## the site of the documentation, in out/site/; needs no server
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

release-check: lint docs ## what a release needs besides the tests: CONTRIBUTING.md
	$(BIN)/python packaging/release_check.py

app: $(VENV)-app/.done ## the application for people without Python, in dist/xlbridge/
	$(VENV)-app/bin/python -m PyInstaller --noconfirm --log-level ERROR --distpath dist \
	  --workpath $(VENV)-app/build packaging/xlbridge.spec

clean:
	rm -rf $(VENV) $(VENV)-users $(VENV)-app out dist .pytest_cache .mypy_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The demo edits workbooks with openpyxl, in place of Excel.
$(VENV)/.runtime: $(VENV)/bin/python pyproject.toml constraints.txt
	$(call install,-e '.[sandbox]' openpyxl)
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(call install,-e '.[sandbox$(comma)parquet$(comma)dev]')
	touch $@

# What the application is made of: no tools, of tests or others, besides the one that makes it.
$(VENV)-app/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-app
	$(VENV)-app/bin/python -m pip install --quiet -e '.[sandbox,ui,keyring,app]'
	touch $@

# What users install, without the tools of tests, and what the usual pipeline needs.
$(VENV)-users/.done: $(VENV)/.runtime
	$(PYTHON) -m venv $(VENV)-users
	$(VENV)-users/bin/python -m pip install --quiet -e '.[sandbox]' openpyxl
	touch $@
