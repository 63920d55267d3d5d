"""Policy of a computer's IT department, read from ``policy.toml`` in the machine's folder.

It guides honest users; a user who can change the environment of a command can evade it::

    own_environments = false
    passwords = "keyring"
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xlbridge.errors import ConfigError, os_error_reason
from xlbridge.i18n import Text, untranslated

_VALUES: Mapping[str, tuple[object, ...]] = {
    "own_environments": (False, True),
    "passwords": ("keyring",),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Permissions that users of this computer have for their configuration.

    Without ``own_environments`` only profiles of the machine and the embedded sandbox may be used.
    ``passwords`` is the only place where passwords may be stored, None for any.
    """

    path: Path
    own_environments: bool = True
    passwords: Literal["keyring"] | None = None


def read_policy(machine: Path | None) -> Policy:
    """Read the policy in the machine's folder; without a file everything is allowed.

    Raises ``ConfigError``, naming the file, the line and the allowed keys.
    """
    path = (machine or Path()) / "policy.toml"
    text = None if machine is None else read_config_file(path, _HOW_TO_FIX)
    if text is None:
        return Policy(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise config_file_error(path, untranslated(str(error)), _HOW_TO_FIX) from None
    for key, value in document.items():
        allowed = _VALUES.get(key, ())
        # In Python 1 is True, too.
        if not any(type(value) is type(each) and value == each for each in allowed):
            begin = re.compile(rf"[\s\[\"']*{re.escape(key)}\b")
            numbers = (n for n, line in enumerate(text.splitlines(), 1) if begin.match(line))
            problem = _WRONG_VALUE if allowed else _UNKNOWN_KEY
            raise config_file_error(
                path, problem.format(line=next(numbers, 1), key=key), _HOW_TO_FIX
            )
    return Policy(path, **document)


_UNKNOWN_KEY = Text(
    pt="linha {line}: chave desconhecida {key}", en="line {line}: unknown key {key}"
)
_WRONG_VALUE = Text(
    pt="linha {line}: {key} não pode ter esse valor",
    en="line {line}: {key} cannot have that value",
)
_HOW_TO_FIX = Text(
    pt="A TI deve corrigir o arquivo. Ele pode ter: {keys}.",
    en="IT must fix the file. It may have: {keys}.",
).format(keys='own_environments = false, passwords = "keyring"')


def read_config_file(path: Path, hint: Text) -> str | None:
    """Return the text of a file, None if it does not exist. Raises ``ConfigError``."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise config_file_error(path, os_error_reason(error), hint) from error
    except UnicodeDecodeError:
        problem = Text(pt="não está em UTF-8", en="is not UTF-8")
        raise config_file_error(path, problem, hint) from None


def config_file_error(path: Path, problem: Text, hint: Text) -> ConfigError:
    """Return the error for a problem of a file."""
    return ConfigError(untranslated("{path}: {problem}.").format(path=path, problem=problem), hint)
