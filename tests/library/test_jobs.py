"""Jobs in Python: listed, resumed, retried, undone and resolved, as the commands report them."""

from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from sheets import edit, write_records

import xlbridge as xb

COUNTS = ["read", "accepted", "rejected", "held", "undone"]


def clients(*names: str) -> pd.DataFrame:
    codes = [f"S-{number}" for number, _ in enumerate(names)]
    return pd.DataFrame({"nomeComercial": names, "seuCodigo": codes})


def partly_held(erp: xb.Connection) -> xb.UploadOutcome:
    """Upload two clients, of which the first is held: its record has another name."""
    assert erp.upload(xb.validate(clients("Padaria Sol"), "cliente"), yes=True).ok
    report = xb.validate(clients("Padaria Lua", "Mercado"), "cliente")
    return erp.upload(report, yes=True)


def test_retry_sends_the_corrected_rows_of_a_rejects_workbook(
    erp: xb.Connection, own_home: Path
) -> None:
    outcome = partly_held(erp)
    assert (outcome.state, outcome.document["state"], outcome.ok) == ("held", "done", False)
    assert (outcome.rows["accepted"], outcome.rows["held"]) == (1, 1)
    assert erp.jobs().set_index("job").loc[outcome.job, "state"] == "held"
    assert outcome.rejects_file is not None
    with pytest.raises(xb.errors.UsageError, match=r"[Cc]onfirm"):
        erp.retry(outcome.rejects_file)
    edit(outcome.rejects_file, "seuCodigo", 2, "S-9")
    retried = erp.retry(outcome.rejects_file, yes=True)
    assert (retried.state, retried.ok, retried.rows["accepted"]) == ("done", True, 1)
    listed = erp.jobs().set_index("job")
    assert listed.loc[outcome.job, ["state", *COUNTS]].tolist() == ["done", 2, 2, 0, 0, 0]


def test_a_dataframe_is_retried_with_the_name_of_its_upload(
    erp: xb.Connection, own_home: Path
) -> None:
    outcome = partly_held(erp)
    corrected = clients("Padaria Lua", "Mercado")
    corrected.loc[0, "seuCodigo"] = "S-9"
    report = xb.validate(corrected, "cliente")
    with pytest.raises(xb.errors.UsageError, match="job"):
        erp.retry(report, yes=True)
    retried = erp.retry(report, outcome.job, yes=True)
    assert (retried.state, retried.rows["accepted"]) == ("done", 1)


def test_an_undo_is_what_jobs_says_afterwards(
    erp: xb.Connection, own_home: Path, tmp_path: Path
) -> None:
    bills = [
        {"numeroDoDocumento": f"XJ-{n}", "dataDeVencimento": date(2026, 10, n)} for n in (1, 2)
    ]
    file = write_records(tmp_path / "contas.xlsx", "contaspagar", bills)
    outcome = erp.upload(xb.validate(file), yes=True)
    assert outcome.job is not None
    with pytest.raises(xb.errors.UsageError, match="not confirmed"):
        erp.undo(outcome.job)
    undone = erp.undo(outcome.job, yes=True)
    assert (undone.state, undone.mode) == ("done", "undo")
    assert undone.document["rows"] == {"read": 2, "undone": 2, "left": 0, "unknown": 0}
    listed = erp.jobs().set_index("job")
    assert listed.index.tolist() == [undone.job, outcome.job]
    assert listed.loc[outcome.job, COUNTS].tolist() == [2, 0, 0, 0, 2]
    again = erp.undo(outcome.job, yes=True)
    assert (again.job, again.ok, again.document["undo_of"]) == (None, True, outcome.job)
    assert (
        erp.resume(outcome.job).rows
        == erp.jobs().set_index("job").loc[outcome.job, list(outcome.rows)].to_dict()
    )


def test_a_script_that_is_run_again_continues_its_unfinished_upload(
    erp: xb.Connection, own_home: Path
) -> None:
    report = xb.validate(clients("Padaria Sol", "Mercado", "Oficina"), "cliente")
    first = erp.upload(report, yes=True, mode="queue", wait=False)
    assert first.state in {"queued", "processing"}
    again = erp.upload(report, yes=True, mode="queue")
    assert (again.job, again.state, again.rows["accepted"]) == (first.job, "done", 3)
    later = erp.upload(report, yes=True, mode="queue")
    assert (later.ok, later.rows["unchanged"]) == (True, 3)
