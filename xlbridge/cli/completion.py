"""Shell completion of names, and support for PowerShell; click supports bash, zsh and fish.

If the names cannot be read, completion is empty and shows no message.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    split_arg_string,
)

from xlbridge.cli.output import visible
from xlbridge.errors import XlbridgeError

COMPLETION_VARIABLE = "_XLBRIDGE_COMPLETE"
"""Set by a shell that requests completions; click derives it from the program's name."""

_Names = Iterable[tuple[str, object]]
_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completion(names: Callable[[], _Names]) -> _Complete:
    """Return a completion of names, which come with a description."""

    def complete(
        _context: click.Context, _parameter: click.Parameter, prefix: str
    ) -> list[CompletionItem]:
        items: list[CompletionItem] = []
        with suppress(XlbridgeError, OSError):
            items += (
                CompletionItem(name, help=visible(description))
                for name, description in names()
                if name.startswith(prefix)
            )
        return items

    return complete


@_completion
def complete_resources() -> Iterator[tuple[str, object]]:
    from xlbridge.resources import load_catalogue
    from xlbridge.settings import read_settings

    for resource in load_catalogue(read_settings().schemas).values():
        yield resource.name, resource.title


@_completion
def complete_listings() -> Iterator[tuple[str, object]]:
    from xlbridge.export import LISTINGS

    for listing in LISTINGS.values():
        yield listing.name, listing.title


@_completion
def complete_kinds() -> Iterator[tuple[str, object]]:
    from xlbridge.upload.process_kinds import KINDS

    for kind in KINDS.values():
        yield kind.name, kind.final


@_completion
def complete_profiles() -> Iterator[tuple[str, object]]:
    from xlbridge.profiles import read_profile_file
    from xlbridge.settings import read_settings

    for name, profile in read_profile_file(read_settings()).profiles.items():
        yield name, profile.base_url


@_completion
def complete_jobs() -> Iterator[tuple[str, object]]:
    from xlbridge.profiles import choose_profile, settings_for
    from xlbridge.settings import read_settings
    from xlbridge.upload import Journal

    settings = read_settings()
    path = settings_for(settings, choose_profile(settings)).journal
    if path.exists():
        with closing(Journal(path)) as journal:
            for job in journal.jobs():
                yield job.id, f"{job.spec.resource} {job.spec.file}"


@_completion
def complete_batches() -> Iterator[tuple[str, object]]:
    from xlbridge.batch import open_ledger
    from xlbridge.settings import read_settings

    with open_ledger(read_settings(), creates=False) as ledger:
        for batch in ledger.batches():
            yield batch.id, batch.plan


_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $cursor)
    $env:%(complete_var)s = "powershell_complete"
    $env:COMP_LINE = $line.ToString()
    $env:COMP_WORD = $word
    try {
        %(prog_name)s | Where-Object { $_ } | ForEach-Object {
            $kind, $value, $about = $_ -split "`t", 3
            [System.Management.Automation.CompletionResult]::new(
                $value, $value, "ParameterValue", $(if ($about) { $about } else { $value }))
        }
    } finally {
        Remove-Item Env:%(complete_var)s, Env:COMP_LINE, Env:COMP_WORD
    }
}
"""


class _PowerShellComplete(ShellComplete):
    """Completion for PowerShell, which completes paths itself if there are no names."""

    name = "powershell"
    source_template = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words, and the incomplete one."""
        words = split_arg_string(os.environ.get("COMP_LINE", ""))[1:]
        incomplete = os.environ.get("COMP_WORD", "")
        return words[:-1] if incomplete and words else words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return the output line of an item."""
        return f"{item.type}\t{item.value}\t{item.help or ''}"

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the names, without paths."""
        items = super().get_completions(args, incomplete)
        return [item for item in items if item.type == "plain"]


def add_powershell_completion() -> None:
    """Register PowerShell with click."""
    add_completion_class(_PowerShellComplete)
