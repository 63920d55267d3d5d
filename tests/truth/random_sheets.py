"""Random sheets with random damage: damaged cells are reported, all others are unchanged."""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import xlsxwriter
from damages import DAMAGES
from good_rows import make_rows
from truth import REFUSED, Outcome, outcome_of, validated, write_cell

from xlbridge.resources import Column, Kind, Resource, load_catalogue
from xlbridge.validation import ValidatedSheet


@dataclass
class RandomSheet:
    """Sheet generated from a seed.

    ``blanks`` are the records after a blank row; ``damaged`` maps the record and column of damaged
    cells to the damage and the new cell. No blank row comes before records of a single cell at the
    end, which would look like notes, and no damage empties a whole record.
    """

    seed: int
    resource: Resource
    names: list[str]
    corner: tuple[int, int]
    rows: list[dict[str, Any]]
    blanks: set[int]
    total: dict[str, Any]
    damaged: dict[tuple[int, str], tuple[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int) -> "RandomSheet":
        rng = Random(seed)
        candidates = [one for one in load_catalogue().values() if not one.needs_children]
        resource = rng.choice(candidates)
        names = [column.name for column in resource.columns]
        rng.shuffle(names)
        rows = make_rows(resource.name, rng.randrange(10, 80), f"random-{seed}")
        count = len(rows)
        sheet = cls(
            seed,
            resource,
            names,
            (rng.choice([0, 0, 3, 9]), rng.choice([0, 0, 2])),
            [dict(row) for row in rows],
            {
                n
                for n in range(1, count)
                if rng.random() < 0.05 and any(_count_cells(row) > 1 for row in rows[n:])
            },
            rng.choice([{}, {}, {names[0]: "TOTAL"}]),
        )
        for _ in range(rng.randrange(1, 12)):
            sheet._damage(rng)
        return sheet

    def _damage(self, rng: Random) -> None:
        number, column = rng.randrange(len(self.rows)), rng.choice(self.resource.columns)
        row = self.rows[number]
        fitting = [damage for damage in DAMAGES if damage.fits(column)]
        if (
            not fitting
            or any(index == number for index, _ in self.damaged)
            or not _is_checked(column, row)
        ):
            return
        damage = rng.choice(fitting)
        good = row.get(column.name)
        if damage.code == "required-missing" and _count_cells(row) == 1:
            return
        cell = damage.apply(column, column.example if good is None else good)
        self.damaged[number, column.name] = (damage.name, cell)

    def write(self, path: Path, *, damaged: bool) -> list[int]:
        """Write the sheet; return the row of each record, as Excel counts."""
        top, left = self.corner
        row_number, found = top + 1, []
        with xlsxwriter.Workbook(path) as book:
            page, day = book.add_worksheet("Plan1"), book.add_format({"num_format": "dd/mm/yyyy"})
            if top:
                page.write(0, 0, "Planilha de outubro")
            page.write_row(top, left, self.names)
            for number, row in enumerate(self.rows):
                row_number += number in self.blanks
                for column, name in enumerate(self.names, left):
                    damage = self.damaged.get((number, name)) if damaged else None
                    cell = row.get(name) if damage is None else damage[1]
                    write_cell(book, page, row_number, column, cell, day)
                found.append(row_number + 1)
                row_number += 1
            for name, cell in self.total.items() if damaged else ():
                page.write(row_number, left + self.names.index(name), cell)
        return found


def _count_cells(row: dict[str, Any]) -> int:
    return sum(cell is not None for cell in row.values())


def _is_checked(column: Column, row: dict[str, Any]) -> bool:
    """Return whether the column is checked in this row: documents depend on the nature."""
    wanted = {Kind.CNPJ: "J", Kind.CPF: "F"}.get(column.kind)
    return wanted is None or row.get("natureza") == wanted


def silent_changes(seed: int, folder: Path) -> list[str]:
    """Return the silent changes of a sheet generated from a seed, as sentences."""
    sheet = RandomSheet.of(seed)
    rows = sheet.write(folder / "good.xlsx", damaged=False)
    good = validated(folder / "good.xlsx", resource=sheet.resource.name)
    sheet.write(folder / "bad.xlsx", damaged=True)
    bad = validated(folder / "bad.xlsx", resource=sheet.resource.name)
    if good is None:
        return [f"seed {seed}: a good sheet was refused"]
    if bad is None:
        return []
    changes = [f"seed {seed}: {finding}" for finding in good.findings]
    for (number, name), (damage, cell) in sheet.damaged.items():
        if outcome_of(bad, rows[number], name, REFUSED) is Outcome.SILENT:
            changes.append(f"seed {seed}: {name}, row {rows[number]}: {damage}: {cell!r}")
    return changes + [f"seed {seed}: {text}" for text in _changed_cells(sheet, good, bad, rows)]


def _changed_cells(
    sheet: RandomSheet, good: ValidatedSheet, bad: ValidatedSheet, rows: list[int]
) -> list[str]:
    """Return the undamaged cells that changed silently."""
    changes = []
    lines = {row: position for position, row in enumerate(bad.rows)}
    for number, row in enumerate(rows):
        for name in sheet.names:
            if (number, name) in sheet.damaged or name not in bad.frame:
                continue
            before = good.frame[name].iloc[good.rows.index(row)]
            position = lines.get(row)
            after = None if position is None else bad.frame[name].iloc[position]
            if (
                not (after is not None and _equal(before, after))
                and outcome_of(bad, row, name, REFUSED) is Outcome.SILENT
            ):
                changes.append(f"{name}, row {row}: {before!r} became {after!r}")
    return changes


def _equal(before: Any, after: Any) -> bool:
    if pd.isna(before) or pd.isna(after):
        return bool(pd.isna(before) and pd.isna(after))
    return bool(before == after)
