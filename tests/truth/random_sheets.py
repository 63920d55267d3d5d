"""Random sheets with random damage: a damaged cell is named, each other one stays as it was."""

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
    """Sheet that a seed tells all of.

    ``lines`` are its rows from the header on, None for a blank one; ``damaged`` are the positions
    of damaged cells among the records, with what was done to them.
    """

    seed: int
    resource: Resource
    names: list[str]
    place: tuple[int, int]
    rows: list[dict[str, Any]]
    blanks: set[int]
    total: dict[str, Any]
    damaged: dict[tuple[int, str], tuple[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int) -> "RandomSheet":
        chance = Random(seed)
        alone = [one for one in load_catalogue().values() if not one.needs_children]
        resource = chance.choice(alone)
        names = [column.name for column in resource.columns]
        chance.shuffle(names)
        rows = make_rows(resource.name, chance.randrange(10, 80), f"random-{seed}")
        count = len(rows)
        sheet = cls(
            seed,
            resource,
            names,
            (chance.choice([0, 0, 3, 9]), chance.choice([0, 0, 2])),
            [dict(row) for row in rows],
            {n for n in range(1, count) if chance.random() < 0.05},
            chance.choice([{}, {}, {names[0]: "TOTAL"}]),
        )
        for _ in range(chance.randrange(1, 12)):
            sheet._damage(chance)
        return sheet

    def _damage(self, chance: Random) -> None:
        number, column = chance.randrange(len(self.rows)), chance.choice(self.resource.columns)
        row = self.rows[number]
        fitting = [damage for damage in DAMAGES if damage.fits(column)]
        if not fitting or any(at == number for at, _ in self.damaged) or not _judged(column, row):
            return
        damage = chance.choice(fitting)
        good = row.get(column.name)
        cell = damage.spoil(column, column.example if good is None else good)
        self.damaged[number, column.name] = (damage.name, cell)

    def write(self, path: Path, *, damaged: bool) -> list[int]:
        """Write the sheet; return the row of each record, as Excel counts."""
        top, left = self.place
        at, found = top + 1, []
        with xlsxwriter.Workbook(path) as book:
            page, day = book.add_worksheet("Plan1"), book.add_format({"num_format": "dd/mm/yyyy"})
            if top:
                page.write(0, 0, "Planilha de outubro")
            page.write_row(top, left, self.names)
            for number, row in enumerate(self.rows):
                at += number in self.blanks
                for place, name in enumerate(self.names, left):
                    spoilt = self.damaged.get((number, name)) if damaged else None
                    cell = row.get(name) if spoilt is None else spoilt[1]
                    write_cell(book, page, at, place, cell, day)
                found.append(at + 1)
                at += 1
            for name, cell in self.total.items() if damaged else ():
                page.write(at, left + self.names.index(name), cell)
        return found


def _judged(column: Column, row: dict[str, Any]) -> bool:
    """Tell whether the column's rules judge it in this row: a document is judged by the nature."""
    wanted = {Kind.CNPJ: "J", Kind.CPF: "F"}.get(column.kind)
    return wanted is None or row.get("natureza") == wanted


def silent_changes(seed: int, folder: Path) -> list[str]:
    """Return what a sheet of this seed would change without a word, as sentences."""
    sheet = RandomSheet.of(seed)
    rows = sheet.write(folder / "good.xlsx", damaged=False)
    good = validated(folder / "good.xlsx", resource=sheet.resource.name)
    sheet.write(folder / "bad.xlsx", damaged=True)
    bad = validated(folder / "bad.xlsx", resource=sheet.resource.name)
    if good is None:
        return [f"seed {seed}: a good sheet was refused"]
    if bad is None:
        return []
    told = [f"seed {seed}: {finding}" for finding in good.findings]
    for (number, name), (damage, cell) in sheet.damaged.items():
        if outcome_of(bad, rows[number], name, REFUSED) is Outcome.SILENT:
            told.append(f"seed {seed}: {name}, row {rows[number]}: {damage}: {cell!r}")
    return told + [f"seed {seed}: {text}" for text in _others(sheet, good, bad, rows)]


def _others(
    sheet: RandomSheet, good: ValidatedSheet, bad: ValidatedSheet, rows: list[int]
) -> list[str]:
    """Return the cells that nobody damaged and that became others."""
    told = []
    lines = {row: place for place, row in enumerate(bad.rows)}
    for number, row in enumerate(rows):
        for name in sheet.names:
            if (number, name) in sheet.damaged or name not in bad.frame:
                continue
            before = good.frame[name].iloc[good.rows.index(row)]
            place = lines.get(row)
            after = None if place is None else bad.frame[name].iloc[place]
            if (
                not (after is not None and _equal(before, after))
                and outcome_of(bad, row, name, REFUSED) is Outcome.SILENT
            ):
                told.append(f"{name}, row {row}: {before!r} became {after!r}")
    return told


def _equal(before: Any, after: Any) -> bool:
    if pd.isna(before) or pd.isna(after):
        return bool(pd.isna(before) and pd.isna(after))
    return bool(before == after)
