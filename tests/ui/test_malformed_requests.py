"""Requests that are not those of the page's scripts are refused, and are no failures of it."""

import itertools
from typing import Any

import pytest
from environment import ROOT
from running_page import RunningPage, open_workbook

FORMS: list[Any] = [None, [], {}, "text", 5, [{}], {"id": {}}, {"name": [1]}, {"rule": {"a": []}}]
"""Bodies with other shapes, and fields with other types."""

FIELDS = (
    *("listing", "name", "id", "resource", "sheet", "step", "rule", "job", "token", "as"),
    *("reason", "batch", "unit", "kind"),
)
QUERIES: list[dict[str, str]] = [{}, {"row": "x", "column": "y"}, {"start": "-", "rule": "unknown"}]
POSTED = (
    *("export", "use-profile", "login", "production", "continue", "discard", "choose", "reading"),
    *(
        "accept",
        "mapping-column",
        "map",
        "part",
        "edit",
        "step",
        "set-aside",
        "fix",
        "replace",
        "layout",
        "fill",
        "insert-rows",
        "delete-rows",
        "find-replace",
        "plan",
        "send",
    ),
    *("plan", "send", "job-workbook", "resume", "undo-plan", "undo", "resolve"),
    *("process-plan", "process"),
    *("batch-unit", "batch-run", "template-with-lists"),
)
READ = (
    *(
        "exported",
        "template",
        "template-with-lists",
        "rows",
        "next-error",
        "fixes",
        "values",
        "job",
        "rejects",
        "doubt",
    ),
    *("status-copy", "proof", "edge", "find", "replacements", "column-values"),
)


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_malformed_request_is_refused(ui: RunningPage, opened: bool, step: int) -> None:
    """Each body is sent to some addresses, and each address gets some bodies; slowly, all."""
    wrong = []
    with ui.client() as client:
        if opened:
            open_workbook(client, ROOT / "samples/cliente.xlsx")
        bodies = [*FORMS, dict.fromkeys(FIELDS, "x"), dict.fromkeys(FIELDS, 7)]
        for name, body in [*itertools.product(POSTED, bodies)][::step]:
            answer = client.post(f"/api/{name}", json=body)
            if answer.status_code >= 500:
                wrong.append((name, body, answer.text[:200]))
        for name in POSTED:
            answer = client.post(f"/api/{name}", content=b"{")
            if answer.status_code not in {400, 422}:
                wrong.append((name, "{", answer.status_code))
        for name, query in itertools.product(READ, QUERIES):
            answer = client.get(f"/api/{name}", params=query)
            if answer.status_code >= 500:
                wrong.append((name, query, answer.text[:200]))
    assert wrong == []
