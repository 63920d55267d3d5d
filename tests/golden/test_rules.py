"""The golden exchanges cover all rules and endpoints of the spec."""

import re
from typing import Any

import pytest
import yaml
from environment import ROOT
from exchange_files import RULES, golden_cases

DOCUMENT: dict[str, Any] = yaml.safe_load(RULES.read_text(encoding="utf-8"))
NAMED = {name: rule for section in DOCUMENT["rules"].values() for name, rule in section.items()}
CASES = golden_cases()


def test_every_name_under_holds_is_a_rule() -> None:
    assert {name for case in CASES for name in case.holds} <= NAMED.keys()


def test_every_exchange_holds_a_rule() -> None:
    assert [case.name for case in CASES if not case.holds] == []


def test_no_rule_is_named_twice() -> None:
    assert len(NAMED) == sum(map(len, DOCUMENT["rules"].values()))


@pytest.mark.parametrize("name", NAMED)
def test_a_rule_is_covered_in_exactly_one_way(name: str) -> None:
    rule = NAMED[name]
    assert rule["says"]
    held = any(name in case.holds for case in CASES)
    assert [held, "test" in rule, "open" in rule].count(True) == 1, rule


@pytest.mark.parametrize("test", [rule["test"] for rule in NAMED.values() if "test" in rule])
def test_a_test_that_covers_a_rule_exists(test: str) -> None:
    path, _, function = test.partition("::")
    assert f"\ndef {function}(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", DOCUMENT["rows"])
def test_an_endpoint_is_answered(row: str) -> None:
    method, _, path = row.partition(" ")
    pattern = re.compile(re.sub(r"{\w+}", r"[^/]+", path))
    assert any(
        step.request["method"] == method
        and pattern.fullmatch(step.request["path"])
        and step.response["status"] == 200
        for case in CASES
        for step in case.steps
    )
