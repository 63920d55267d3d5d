"""Target of requests: one environment, and the calls of operations as its quirks require them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from urllib.parse import quote

from xlbridge.client.transport import Call, UploadFile
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.wire.model import MINUTE_FORMAT, Operation, WireModel, format_moment, with_spellings
from xlbridge.wire.quirks import NO_QUIRKS, Quirks


@dataclass(frozen=True, slots=True)
class Target:
    """One environment: its address and the integration user's credentials.

    ``profile`` is its name in the journal and in messages; environments never share credentials,
    tokens or data. Source: the spec, What the service does.

    ``ca_bundle`` is a PEM file with the certificate authorities to trust instead of the default
    ones. ``system`` is the id stored in the database of the embedded sandbox, whose address
    changes; None for any other system. ``trust_429``: the system answers 429 before it writes
    anything. ``exclusive``: nobody else writes during an upload. ``timeout`` limits each step of a
    request, in seconds; None is the default. ``zone`` is the time zone of its times, None for that
    of this computer. ``by_default``: it is the embedded sandbox, and nobody chose it.
    ``quirks_file`` is the file of its ``quirks``, None if they are not from a file.
    """

    profile: str
    base_url: str
    email: str
    password: str = field(repr=False)
    production: bool = False
    ca_bundle: str | Path | None = None
    system: str | None = None
    trust_429: bool = False
    exclusive: bool = False
    timeout: float | None = None
    zone: tzinfo | None = None
    by_default: bool = False
    quirks: Quirks = field(default=NO_QUIRKS, hash=False, repr=False)
    quirks_file: Path | None = None

    def require_choice(self) -> None:
        """Raise ``UsageError`` if nobody chose the target, and there is nobody to see it.

        Otherwise a script whose settings are missing would write to the embedded sandbox, and
        report success.
        """
        if self.by_default and not (sys.stdin and sys.stdin.isatty()):
            raise UsageError(_NOBODY_CHOSE, _CHOOSE_BY_NAME)

    @property
    def label(self) -> str:
        """Name and address for messages; the address alone if it has no profile."""
        return (
            self.profile if self.profile == self.base_url else f"{self.profile} ({self.base_url})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return what outcomes say about the environment, with its quirks file if it has one.

        See the product brief, environment.
        """
        known = {
            "profile": self.profile,
            "base_url": self.base_url,
            "production": self.production,
        }
        return known if self.quirks_file is None else {**known, "quirks": str(self.quirks_file)}

    @property
    def address_hint(self) -> Text:
        """Advice if the system does not answer, or something else does."""
        return Text(
            pt="Confira o endereço do ambiente {label}, a rede e o proxy: xlbridge doctor",
            en="Check the address of the environment {label}, the network and the proxy: xlbridge "
            "doctor",
            page=Text(
                pt="Confira a rede, o proxy e o endereço de {label} em Ambientes, ou tente mais "
                "tarde; “Testar o acesso” mostra se o sistema responde.",
                en="Check the network, the proxy, and the address of {label} under Environments, "
                "or try again later; “Test the login” shows whether the system answers.",
            ),
        ).format(label=self.label)


_NOBODY_CHOSE = Text(
    pt="Nenhum ambiente foi escolhido, e sem um terminal nada é gravado no ambiente de testes "
    "embutido.",
    en="No environment was chosen, and without a terminal nothing is written to the embedded "
    "sandbox.",
    page=Text(
        pt="Nenhum ambiente foi escolhido, e nada é gravado no ambiente de testes embutido sem "
        "que alguém o escolha.",
        en="No environment was chosen, and nothing is written to the embedded sandbox unless "
        "someone chooses it.",
    ),
)
_CHOOSE_BY_NAME = Text(
    pt="Escolha-o pelo nome: --profile sandbox, XLBRIDGE_PROFILE=sandbox ou, em Python, "
    'connect(profile="sandbox"). Para o seu sistema: xlbridge login --profile NOME --url ENDEREÇO',
    en="Choose it by name: --profile sandbox, XLBRIDGE_PROFILE=sandbox or, in Python, "
    'connect(profile="sandbox"). For your system: xlbridge login --profile NAME --url ADDRESS',
    page=Text(
        pt="Escolha-o em Ambientes. Para o seu sistema, adicione um ambiente ali.",
        en="Choose it under Environments. For your system, add an environment there.",
    ),
)


def build_call(
    operation: Operation,
    path: Mapping[str, object],
    query: WireModel | None = None,
    body: WireModel | Mapping[str, object] | None = None,
    file: UploadFile | None = None,
    quirks: Quirks = NO_QUIRKS,
) -> Call:
    """Return the call of an operation with some values; fields that are None are not sent.

    ``quirks`` decide the spelling of the body's fields, and the end of a window of update times.
    """
    values = {name: quote(str(path[name]), safe="") for name in operation.path_parameters}
    sent = _dump(body) if isinstance(body, WireModel) else body
    model = type(body) if isinstance(body, WireModel) else operation.body
    if sent is not None and model is not None and quirks.spellings:
        sent = with_spellings(model, sent, quirks.spellings)
    return Call(
        method=operation.method,
        path=operation.path.format(**values),
        query={} if query is None else _query_of(query, quirks),
        body=sent,
        file=file,
    )


_WINDOW_END = "dataSuperior"


def _query_of(query: WireModel, quirks: Quirks) -> dict[str, Any]:
    """Return the parameters of a query; a window that would end too early ends a minute later.

    A period that a listing requires is one of dates, not of update times.
    """
    parameters = _dump(query)
    end: str | None = parameters.get(_WINDOW_END)
    if end is None or quirks.window_end == "inclusive":
        return parameters
    if not type(query).model_fields[_WINDOW_END].is_required():
        later = datetime.strptime(end, MINUTE_FORMAT) + timedelta(minutes=1)
        parameters[_WINDOW_END] = format_moment(later)
    return parameters


def _dump(model: WireModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True, by_alias=True)
