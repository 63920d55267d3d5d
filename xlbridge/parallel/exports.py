"""Run whole exports on an executor; their files are sent back and written here."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from xlbridge.client import Client, Target
from xlbridge.errors import ConfigError, TransportError, XlbridgeError, os_error_reason
from xlbridge.export import ExportRequest, ExportResult, OutputFile
from xlbridge.files import replace_atomically, report_write_errors
from xlbridge.i18n import Language, Text, active_language, override_language
from xlbridge.parallel.tasks import CustomSchemas, Executor, LostItem


@dataclass(frozen=True, slots=True)
class ExportTask:
    """Export to run on a worker; this process writes its files to ``output``.

    ``target`` carries the credentials to the worker; no ``repr`` shows them.
    """

    target: Target
    request: ExportRequest
    output: OutputFile


def export_all(
    tasks: Sequence[ExportTask],
    schemas: Path,
    executor: Executor,
) -> Iterator[ExportResult | XlbridgeError]:
    """Yield the result or error of each export, in order, once its files are written here.

    A failed export does not stop the others. ``schemas`` is the folder of the user's schema files.
    Workers must reach the remote system under the target's address, and hold the files of an export
    in memory.
    """
    custom = CustomSchemas(schemas)
    run = _RunExport(custom if executor.shares_files else custom.packed(), active_language())
    outcomes = executor.run(run, map(_prepare_task, tasks))
    for task, outcome in zip(tasks, outcomes, strict=True):
        if isinstance(outcome, LostItem):
            yield _worker_lost_error(task)
        elif isinstance(outcome, XlbridgeError):
            yield outcome
        else:
            yield _write_files(task, outcome)


@dataclass(frozen=True, slots=True)
class _SentTask:
    """Task sent to a worker, with the content of its target's certificate bundle.

    ``refusal`` is set if it cannot succeed.
    """

    task: ExportTask
    ca_bundle: bytes | None = field(default=None, repr=False)
    refusal: XlbridgeError | None = None


@dataclass(frozen=True, slots=True)
class _ExportedFiles:
    """Finished export, with the content of its files by name."""

    result: ExportResult
    files: dict[str, bytes] = field(repr=False)


def _prepare_task(task: ExportTask) -> _SentTask:
    bundle = task.target.ca_bundle
    try:
        task.output.require_writable()
        return _SentTask(task, None if bundle is None else _read_bundle(bundle))
    except XlbridgeError as error:
        return _SentTask(task, refusal=error)


def _read_bundle(bundle: str | Path) -> bytes:
    try:
        return Path(bundle).read_bytes()
    except OSError as error:
        raise ConfigError(
            Text(
                pt="As autoridades certificadoras em {p} não puderam ser lidas: {e}",
                en="The certificate authorities in {p} cannot be read: {e}",
            ).format(p=bundle, e=os_error_reason(error))
        ) from error


def _write_files(task: ExportTask, exported: _ExportedFiles) -> ExportResult | XlbridgeError:
    try:
        for name, content in exported.files.items():
            path = task.output.path.with_name(name)
            with report_write_errors(path), replace_atomically(path, shared=True) as temporary:
                temporary.write_bytes(content)
    except XlbridgeError as error:
        return error
    return exported.result


@dataclass(frozen=True, slots=True)
class _RunExport:
    """Run an export on a worker, in a temporary folder."""

    schemas: CustomSchemas
    language: Language

    def __call__(self, sent: _SentTask) -> _ExportedFiles | XlbridgeError:
        if sent.refusal is not None:
            return sent.refusal
        with (
            override_language(self.language),
            tempfile.TemporaryDirectory(prefix="xlbridge-") as output_folder,
            tempfile.TemporaryDirectory(prefix="xlbridge-") as bundle_folder,
        ):
            target = sent.task.target
            if sent.ca_bundle is not None:
                bundle = Path(bundle_folder, "ca-bundle.pem")
                bundle.write_bytes(sent.ca_bundle)
                target = replace(target, ca_bundle=bundle)
            output = replace(sent.task.output, path=Path(output_folder, sent.task.output.path.name))
            try:
                prepared = sent.task.request.prepare(output, self.schemas.catalogue)
                with Client(target) as client:
                    result = prepared.run(client)
            except XlbridgeError as error:
                return error
            paths = sorted(Path(output_folder).iterdir())
            return _ExportedFiles(result, {path.name: path.read_bytes() for path in paths})


def _worker_lost_error(task: ExportTask) -> TransportError:
    return TransportError(
        Text(
            pt="O processo que exportava {listing} foi encerrado pelo sistema duas vezes.",
            en="The process that exported {listing} was killed by the system twice.",
        ).format(listing=task.request.listing)
    )
