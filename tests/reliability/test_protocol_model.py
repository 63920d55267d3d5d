"""The protocol keeps its guarantees in every state that its model reaches, and the code follows it.

The steps of the code are collected from its journals, under faults and with cut journals.
"""

import re
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

import pytest
from environment import ROOT
from fault_trials import answer_trial, fault_trial
from journal_cuts import SUBJECTS, Cut, cut_trial
from journal_steps import SEEN, model_steps
from protocol_model import MODES, Mode, Model, Rules, explore, search_of
from trials import SystemUnderTest

FAULTS = [
    *(("direct import", kind) for kind in ("429", "connection refused", "400 with errors")),
    *(("direct import", kind) for kind in ("reset before commit", "reset after commit")),
    *(("staging", kind) for kind in ("429", "connection refused", "400 with errors")),
    *(("start", kind) for kind in ("429", "connection refused", "late commit")),
    *(("start", kind) for kind in ("500 before commit", "reset before commit")),
    *(("log", "log of another file"), ("preview", "400 with errors")),
    *(("staging that runs by itself", kind) for kind in ("reset before commit", "429")),
    *(("staging that runs by itself", kind) for kind in ("connection refused", "400 with errors")),
    *(("record", kind) for kind in ("429", "400 with errors", "late commit", "delivered twice")),
    *(("record", kind) for kind in ("reset before commit", "connection refused")),
]
REFUSED_AS_TEXT = ("400 Bad Request", "text", "before")
CUTS = [
    *(Cut(subject, write, 0.6) for subject in SUBJECTS[:5] for write in (2, 5)),
    *(Cut(subject, write, 1.0) for subject in SUBJECTS[:7] for write in (3, 6)),
]

ELSEWHERE = {
    # Consent, previews alone and decisions of persons are shown by tests of commands.
    *("abandoned", "previewed", "needs_person"),
}
SELDOM = {
    *(("in_doubt", "polling"), ("polling", "in_doubt"), ("previewing", "rejected")),
    # Entries are lost just there, or three answers in a row.
    *(("staging", "in_doubt"), ("not_applied", "doubtful"), ("doubtful", "rejected")),
    ("doubtful", "not_written"),
    *(("unproven", "done"), ("sending", "not_applied")),
}
"""Steps that the faults below do not lead to in every mode; the state machines take them."""


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_every_state_keeps_the_guarantees_and_can_end(mode: Mode, keyed: bool) -> None:
    search = search_of(mode, keyed)
    assert search.broken == {}
    assert search.endless == []
    assert search.states > 1000


@pytest.mark.parametrize("rule", [rule.name for rule in fields(Rules)])
def test_no_rule_can_be_left_out(rule: str) -> None:
    without = Rules(**{rule: False})
    modes: tuple[Mode, ...] = ("direct", "records")
    assert any(explore(Model(mode, True, without), until_broken=True).broken for mode in modes)


@pytest.mark.slow
def test_the_code_takes_the_steps_of_the_model(system: SystemUnderTest, tmp_path: Path) -> None:
    """Each trial asserts that it takes no others."""
    for spot, kind in FAULTS:
        fault_trial(system, tmp_path / "fault", spot, kind)
    answer_trial(system, tmp_path / "answer", "direct", REFUSED_AS_TEXT)
    for cut in CUTS:
        cut_trial(system, tmp_path / "cut", cut)
    missing = {
        step
        for step in model_steps() - SEEN
        if ELSEWHERE.isdisjoint(step[1:]) and step[1:] not in SELDOM
    }
    assert not missing, missing


def test_the_table_of_steps_is_that_of_the_model() -> None:
    page = (ROOT / "docs/upload-protocol.md").read_text("utf-8")
    table = page.partition("| In the journal |")[2].partition("\n\n")[0]
    written = {
        before: set(re.findall(r"[a-z_]+", after))
        for before, after in re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", table, re.MULTILINE)
    }
    found: defaultdict[str, set[str]] = defaultdict(set)
    for _, before, after in model_steps():
        found[before].add(after)
    assert written == found
