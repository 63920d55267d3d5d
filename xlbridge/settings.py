"""Settings and workbook limits, read from environment variables (``XLBRIDGE_…``)."""

import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from xlbridge.errors import ConfigError, require_choice, suggestion
from xlbridge.i18n import Text

_MB = 2**20
_CORRECT_VARIABLE = Text(
    pt="Corrija a variável de ambiente ou remova-a.",
    en="Correct the environment variable, or unset it.",
)
_POSITIVE_INTEGER = re.compile("[1-9][0-9]{0,8}", re.ASCII)


def _limit(default: int, variable: str, unit: int = 1) -> Any:
    """Field for a limit of ``default`` units, which an environment variable overrides."""
    return field(default=default * unit, metadata={"variable": variable, "unit": unit})


CSV_DELIMITERS: Mapping[str, str] = {";": ";", ",": ",", "tab": "\t", "|": "|"}
"""Delimiters of a .csv file by their names in settings."""

CSV_ENCODINGS: Mapping[str, str] = {
    "utf-8": "UTF-8",
    "cp1252": "Windows-1252 (ANSI)",
    "utf-16": "UTF-16",
    "cp850": "MS-DOS (cp850)",
}
"""Names of the encodings of a .csv file that may be declared, by their Python names."""

CSV_DELIMITER_VARIABLE = "XLBRIDGE_CSV_DELIMITER"
CSV_ENCODING_VARIABLE = "XLBRIDGE_CSV_ENCODING"


class _HasHeader(Protocol):
    """Mapping of a sheet, by the headers of its columns."""

    @property
    def header(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class CsvForm:
    """Form of .csv files as the user declared it; None means it is detected from the content.

    ``headers``: headers of mappings, which show the delimiter of a sheet that has them.
    """

    delimiter: str | None = None
    encoding: str | None = None
    headers: Sequence[str] = ()


DateOrder = Literal["dmy", "mdy"]
Headers = Literal["titles", "names"]
"""Headers of workbooks: titles for people, or the interface's names for programs."""

NumberStyle = Literal["pt", "en"]


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Conventions that the user declared; None means they are detected for each column.

    ``dates``: the order of day and month in text dates. ``numbers``: ``pt`` for 1.234,56,
    ``en`` for 1,234.56. ``accepted``: findings that a person accepts, as ``CODE`` or
    ``CODE:COLUMN``.
    """

    dates: DateOrder | None = None
    numbers: NumberStyle | None = None
    accepted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for an unknown convention."""
        require_choice("dates", self.dates, (None, *get_args(DateOrder)))
        require_choice("numbers", self.numbers, (None, *get_args(NumberStyle)))

    def accepts(self, code: str, column: str | None) -> bool:
        """Return whether a finding is accepted in a column, None for the layout."""
        return code in self.accepted or f"{code}:{column}" in self.accepted

    def accepted_in(self, column: str) -> frozenset[str]:
        """Return the codes of the findings that are accepted in a column."""
        codes = {text.partition(":")[0] for text in self.accepted}
        return frozenset(code for code in codes if self.accepts(code, column))


def _read_choice(
    environment: Mapping[str, str], variable: str, choices: Collection[str]
) -> str | None:
    text = environment.get(variable, "").lower()
    if text and text not in choices:
        raise ConfigError(
            Text(
                pt="{name} deve ser um destes: {choices}; não {text!r}.",
                en="{name} must be one of: {choices}; not {text!r}.",
            ).format(name=variable, choices="  ".join(choices), text=text),
            _CORRECT_VARIABLE,
        )
    return text or None


@dataclass(frozen=True, slots=True)
class WorkbookLimits:
    """Limits of a workbook, each with the environment variable that sets it. Sizes are in bytes.

    ``file_size``: the file; ``part_size``: one unpacked part; ``total_size``: all unpacked parts;
    ``entries``: number of parts. Parts that unpack to more than ``ratio_from`` may not be
    compressed more than ``ratio`` times. ``cells``: area that the filled cells of all sheets span;
    ``text_length``: longest text, in characters; ``text_size``: texts of all cells, plus
    ``text_per_row`` for each filled row. A parsing process gets ``memory`` of address space, and
    ``seconds`` of processor time plus one for each ``size_per_second`` of unpacked content.

    ``csv`` is the declared form of .csv files.
    """

    file_size: int = _limit(100, "XLBRIDGE_MAX_FILE_MB", _MB)
    entries: int = _limit(1_000, "XLBRIDGE_MAX_PARTS")
    part_size: int = _limit(768, "XLBRIDGE_MAX_PART_MB", _MB)
    total_size: int = _limit(1_024, "XLBRIDGE_MAX_CONTENT_MB", _MB)
    ratio: int = _limit(200, "XLBRIDGE_MAX_RATIO")
    ratio_from: int = _limit(100, "XLBRIDGE_RATIO_FROM_MB", _MB)
    cells: int = _limit(20_000_000, "XLBRIDGE_MAX_CELLS")
    text_length: int = _limit(32_767, "XLBRIDGE_MAX_TEXT")
    text_size: int = _limit(128, "XLBRIDGE_MAX_TEXTS_MB", _MB)
    text_per_row: int = _limit(512, "XLBRIDGE_TEXT_PER_ROW")
    memory: int = _limit(2_048, "XLBRIDGE_MAX_MEMORY_MB", _MB)
    seconds: int = _limit(15, "XLBRIDGE_MAX_SECONDS")
    size_per_second: int = _limit(10, "XLBRIDGE_MB_PER_SECOND", _MB)
    csv: CsvForm = CsvForm()

    def with_csv(self, form: CsvForm) -> "WorkbookLimits":
        """Return the limits with a declared form of .csv files; undeclared fields are kept."""
        delimiter, encoding = (
            form.delimiter or self.csv.delimiter,
            form.encoding or self.csv.encoding,
        )
        return replace(self, csv=CsvForm(delimiter, encoding, form.headers or self.csv.headers))

    def with_headers(self, mappings: Iterable[_HasHeader]) -> "WorkbookLimits":
        """Return the limits with the headers of mappings, too."""
        headers = [*self.csv.headers, *(text for one in mappings for text in one.header)]
        return replace(self, csv=replace(self.csv, headers=tuple(dict.fromkeys(headers))))

    def seconds_for(self, size: int) -> int:
        """Return the processor time that parsing ``size`` bytes of unpacked content may take."""
        return self.seconds + size // self.size_per_second


def read_limits(environment: Mapping[str, str]) -> WorkbookLimits:
    """Read the limits from environment variables.

    Raises ``ConfigError`` if one is not a positive integer, or the form of .csv files is unknown.
    """
    limits = {}
    for limit in fields(WorkbookLimits):
        variable = limit.metadata.get("variable", "")
        text = environment.get(variable)
        if not text:
            continue
        if not _POSITIVE_INTEGER.fullmatch(text):
            raise ConfigError(
                Text(
                    pt="{name} deve ser um número inteiro maior que zero; não {text!r}.",
                    en="{name} must be a whole number greater than zero; not {text!r}.",
                ).format(name=variable, text=text),
                _CORRECT_VARIABLE,
            )
        limits[limit.name] = int(text) * limit.metadata["unit"]
    delimiter = _read_choice(environment, CSV_DELIMITER_VARIABLE, tuple(CSV_DELIMITERS))
    encoding = _read_choice(environment, CSV_ENCODING_VARIABLE, CSV_ENCODINGS)
    csv = CsvForm(CSV_DELIMITERS[delimiter] if delimiter else None, encoding)
    return WorkbookLimits(**limits, csv=csv)


DEFAULT_SETTLE_SECONDS = 900.0
DEFAULT_TIMEOUT_SECONDS = 60.0
_PROGRESS_SECONDS = 30.0
LOG_MEANINGS = ("pending", "running", "finished", "failed")
"""Possible meanings of the status of a queued file."""

SCHEMAS_VARIABLE = "XLBRIDGE_SCHEMAS"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from the environment, read once per command.

    ``base_url``, ``email`` and ``password`` are None if not configured: commands then use a profile
    or the embedded sandbox. Without ``base_url`` the credentials belong to the profile that the
    environment names, ``credentials_profile``; None means it names none.

    ``ca_bundle`` is a PEM file with the certificate authorities to trust. ``settle`` is how long an
    import whose answer was lost may still be in progress, ``timeout`` how long to wait for an
    answer, both in seconds; None means the profile's. ``state`` is the folder of the chosen
    profile's journal and payloads; None means ``home``. ``log_words`` maps the system's words for
    the status of a queued file to ``LOG_MEANINGS``. ``custom_schemas`` is a folder of schema files
    that replaces the one under ``home``. ``machine`` is the folder of what IT configures for all
    users of the computer, None for nothing. With ``profile_must_exist``, ``profile`` cannot be a
    mere name for ``base_url``.
    """

    home: Path
    profile: str | None = None
    profile_must_exist: bool = False
    base_url: str | None = None
    email: str | None = None
    password: str | None = field(default=None, repr=False)
    credentials_profile: str | None = None
    ca_bundle: Path | None = None
    settle: float | None = None
    timeout: float | None = None
    state: Path | None = None
    limits: WorkbookLimits = field(default_factory=WorkbookLimits)
    log_words: Mapping[str, str] = field(default_factory=dict)
    custom_schemas: Path | None = None
    machine: Path | None = None

    def with_profile(self, name: str) -> "Settings":
        """Return the settings with an explicitly chosen profile.

        Only ``XLBRIDGE_PROFILE`` may be a name for ``XLBRIDGE_BASE_URL`` instead of a profile.
        """
        if name == self.profile:
            return self
        return replace(self, profile=name, profile_must_exist=True)

    @property
    def settle_seconds(self) -> float:
        """Seconds for which an import whose answer was lost may still be in progress."""
        return DEFAULT_SETTLE_SECONDS if self.settle is None else self.settle

    @property
    def journal(self) -> Path:
        """The upload journal's file."""
        return (self.state or self.home) / "journal.db"

    @property
    def other_journals(self) -> list[Path]:
        """Journals of the home's other profiles, which may concern the same system."""
        paths = [self.home / "journal.db", *sorted(self.home.glob("profiles/*/journal.db"))]
        return [path for path in paths if path.is_file() and path != self.journal]

    @property
    def payloads(self) -> Path:
        """The folder of stored payloads, named by content."""
        return (self.state or self.home) / "payloads"

    @property
    def frames(self) -> Path:
        """The folder of workbooks written from uploaded DataFrames, named by content."""
        return (self.state or self.home) / "frames"

    @property
    def mappings(self) -> Path:
        """The folder of the mappings used to read sheets."""
        return (self.state or self.home) / "mappings"

    @property
    def accepted(self) -> Path:
        """The folder of the findings that were accepted for sheets."""
        return self.home / "accepted"

    @property
    def exports(self) -> Path:
        """The folder of the state of incremental exports."""
        return (self.state or self.home) / "exports"

    def quirks_file(self, profile: str) -> Path:
        """Return the file of a profile's quirks."""
        return self.home / "profiles.d" / f"{profile}.quirks.yaml"

    @property
    def schemas(self) -> Path:
        """The folder of the user's own schema files."""
        return self.custom_schemas or self.home / "schemas"


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from environment variables (``XLBRIDGE_…``).

    Raises ``ConfigError`` if a variable has an invalid value or an unknown name, which may be a
    misspelt one: without it, data could go to another system.
    """
    env = os.environ if environment is None else environment
    for name in env:
        if name.startswith("XLBRIDGE_") and name not in _VARIABLES:
            raise ConfigError(
                Text(
                    pt="A variável de ambiente {name} não existe.",
                    en="There is no environment variable {name}.",
                ).format(name=name),
                Text(
                    pt="{suggestion}Corrija o nome ou remova a variável.",
                    en="{suggestion}Correct its name, or unset it.",
                ).format(suggestion=suggestion(name, _VARIABLES)),
            )
    home, bundle = env.get("XLBRIDGE_HOME"), env.get("XLBRIDGE_CA_BUNDLE")
    timeout = _read_seconds(env, "XLBRIDGE_TIMEOUT")
    if timeout == 0:
        raise ConfigError(
            Text(
                pt="{name} deve ser maior que zero.", en="{name} must be greater than zero."
            ).format(name="XLBRIDGE_TIMEOUT"),
            _CORRECT_VARIABLE,
        )
    return Settings(
        home=Path(home) if home else _default_home(),
        profile=env.get("XLBRIDGE_PROFILE") or None,
        base_url=env.get("XLBRIDGE_BASE_URL") or None,
        email=env.get("XLBRIDGE_EMAIL") or None,
        password=env.get("XLBRIDGE_PASSWORD") or None,
        credentials_profile=env.get("XLBRIDGE_PROFILE") or None,
        ca_bundle=Path(bundle) if bundle else None,
        settle=_read_seconds(env, "XLBRIDGE_SETTLE"),
        timeout=timeout,
        custom_schemas=Path(env[SCHEMAS_VARIABLE]) if env.get(SCHEMAS_VARIABLE) else None,
        limits=read_limits(env),
        log_words=_read_log_words(env.get("XLBRIDGE_LOG_WORDS", "")),
        machine=_machine_folder(env),
    )


def _machine_folder(env: Mapping[str, str]) -> Path:
    """Return the folder of what IT configures for all users of the computer.

    Raises ``ConfigError`` if the variable names none: without it, a policy would not apply.
    """
    if named := env.get("XLBRIDGE_MACHINE"):
        if not Path(named).is_dir():
            raise ConfigError(
                Text(
                    pt="XLBRIDGE_MACHINE: não existe a pasta {path}.",
                    en="XLBRIDGE_MACHINE: there is no folder {path}.",
                ).format(path=named),
                _CORRECT_VARIABLE,
            )
        return Path(named)
    if sys.platform == "win32":
        return Path(env.get("PROGRAMDATA") or r"C:\ProgramData", "xlbridge")
    if sys.platform == "darwin":
        return Path("/Library/Application Support/xlbridge")
    return Path("/etc/xlbridge")


def _default_home() -> Path:
    """Return the folder for this program's state. Raises ``ConfigError`` if the user has none."""
    # Imported late: the parser process imports this module and needs no folders.
    import platformdirs

    try:
        home: Path = platformdirs.user_state_path("xlbridge")
    except (RuntimeError, KeyError):
        home = Path()
    if home.is_absolute():
        return home
    raise ConfigError(
        Text(
            pt="Este usuário não tem uma pasta pessoal (HOME) neste computador.",
            en="This user has no home folder (HOME) on this computer.",
        ),
        Text(
            pt="Informe uma pasta sua em XLBRIDGE_HOME.",
            en="Set XLBRIDGE_HOME to a folder of your own.",
            page=Text(
                pt="Peça à TI que defina uma pasta sua para o xlbridge.",
                en="Ask IT to set a folder of your own for xlbridge.",
            ),
        ),
    )


_VARIABLES = frozenset(
    {
        *("XLBRIDGE_HOME", "XLBRIDGE_PROFILE", "XLBRIDGE_BASE_URL", "XLBRIDGE_EMAIL"),
        "XLBRIDGE_MACHINE",
        *("XLBRIDGE_PASSWORD", "XLBRIDGE_CA_BUNDLE", "XLBRIDGE_SETTLE", "XLBRIDGE_TIMEOUT"),
        *("XLBRIDGE_LANG", "XLBRIDGE_LOG_WORDS", "XLBRIDGE_PROGRESS_SECONDS", SCHEMAS_VARIABLE),
        *(CSV_DELIMITER_VARIABLE, CSV_ENCODING_VARIABLE),
        *(limit.metadata["variable"] for limit in fields(WorkbookLimits) if limit.metadata),
    }
)
"""Names of all variables of xlbridge."""


def _read_seconds(env: Mapping[str, str], name: str) -> float | None:
    text = env.get(name)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigError(
            Text(
                pt="{name} deve ser um número de segundos, zero ou mais; não {text!r}.",
                en="{name} must be a number of seconds, zero or more; not {text!r}.",
            ).format(name=name, text=text),
            _CORRECT_VARIABLE,
        )
    return value


def read_progress_seconds(environment: Mapping[str, str]) -> float:
    """Read the interval, in seconds, between progress lines in a log; 0 disables them.

    Raises ``ConfigError`` if it is not a number of seconds.
    """
    seconds = _read_seconds(environment, "XLBRIDGE_PROGRESS_SECONDS")
    return _PROGRESS_SECONDS if seconds is None else seconds


def _read_log_words(text: str) -> dict[str, str]:
    """Read ``WORD=MEANING``, separated by semicolons."""
    words: dict[str, str] = {}
    for pair in filter(None, map(str.strip, text.split(";"))):
        word, _, meaning = map(str.strip, pair.partition("="))
        if not word or meaning not in LOG_MEANINGS:
            raise ConfigError(
                Text(
                    pt="XLBRIDGE_LOG_WORDS: escreva PALAVRA=SIGNIFICADO, com um destes "
                    "significados: {meanings}; não {pair!r}.",
                    en="XLBRIDGE_LOG_WORDS: write WORD=MEANING, where MEANING is one of: "
                    "{meanings}; not {pair!r}.",
                ).format(meanings=", ".join(LOG_MEANINGS), pair=pair),
                _CORRECT_VARIABLE,
            )
        words[word] = meaning
    return words
