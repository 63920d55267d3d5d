"""Operations as data, and the base of their models: field types, spellings, lengths, the envelope.

Models of requests are strict. Models of responses are lenient: the spec promises few fields, so
any field may be missing or null.

Field names are exactly those of the spec. Responses may use camelCase or PascalCase, and unknown
fields are ignored; requests are sent in camelCase, as in the spec's samples.

The spec gives no maximum text lengths; those here are this project's choice
(``docs/assumptions.md``): what the tax authority's layouts and bank slips allow, and ample room
for free text. A name has the same length in every model.

Source of the envelope and its errors: the spec, Endpoints, Response envelope and Errors.
"""

import importlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

DAY_FORMAT = "%d/%m/%Y"
MINUTE_FORMAT = "%d/%m/%Y %H:%M"

_MOMENT = r"^[0-9]{2}/[0-9]{2}/[0-9]{4}( [0-9]{2}:[0-9]{2})?$"


def parse_moment(value: object) -> object:
    """Parse ``dd/MM/yyyy``, optionally followed by ``HH:mm``; return values other than text as is.

    Raises ``ValueError`` for any other text. Source: the spec, Sales and billing
    (``dataInferior``, ``dataSuperior``).
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not re.fullmatch(_MOMENT, text):
        raise ValueError("dd/MM/yyyy [HH:mm]")
    return datetime.strptime(text, MINUTE_FORMAT if ":" in text else DAY_FORMAT)


def format_moment(value: datetime) -> str:
    """Format a datetime as ``dd/MM/yyyy HH:mm``; a date alone could mean midnight or all day."""
    return value.strftime(MINUTE_FORMAT)


Moment = Annotated[datetime, AfterValidator(lambda value: value.replace(tzinfo=None))]
"""A naive local date and time, ISO 8601 on the wire."""

QueryMoment = Annotated[
    datetime,
    BeforeValidator(parse_moment),
    PlainSerializer(format_moment),
    WithJsonSchema({"type": "string", "pattern": _MOMENT}),
]
"""A date and time in a query string: ``dd/MM/yyyy``, optionally with `` HH:mm``."""

Item = TypeVar("Item")


def null_as(default: Any) -> BeforeValidator:
    """Replace null by ``default``."""
    return BeforeValidator(lambda value: default if value is None else value)


def default_for_invalid(default: Any) -> WrapValidator:
    """Replace an invalid value by ``default``, for fields that nothing depends on."""

    def read(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValueError:
            return default

    return WrapValidator(read)


def empty_list() -> list[Any]:
    """Return a new list, as the default of a field.

    With ``list`` itself pydantic inspects the signature for every record: 0.1 ms a field.
    """
    return []


Many = Annotated[list[Item], null_as([])]
"""A list in a response; null means empty."""

Number = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""A decimal number; a JSON number on the wire, exact in Python."""


@cache
def spellings(model: "type[WireModel]") -> dict[str, str]:
    """Map every accepted spelling of a model's field names to the name in the spec."""
    return _other_spellings(model) | {name: name for name in model.model_fields}


@cache
def _other_spellings(model: "type[WireModel]") -> dict[str, str]:
    names = model.model_fields
    return {other: n for n in names if (other := n[0].swapcase() + n[1:]) not in names}


class WireModel(BaseModel):
    """Base of all JSON objects of the interface.

    ``field_runs`` restores the spec's order of fields where inheritance changes it: each run is a
    field and the fields that follow it. ``camel_case`` is false if names are sent exactly as in
    the spec.
    """

    field_runs: ClassVar[Sequence[Sequence[str]]] = ()
    camel_case: ClassVar[bool] = True
    # Building a model is slow, and a command uses only a few.
    model_config: ClassVar[ConfigDict] = ConfigDict(
        defer_build=True, extra="ignore", frozen=True, allow_inf_nan=False
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: Any) -> None:
        """Set the name under which each field is sent."""
        for name, info in cls.model_fields.items():
            info.serialization_alias = name[0].lower() + name[1:] if cls.camel_case else name

    @model_validator(mode="before")
    @classmethod
    def _accept_other_spellings(cls, data: Any, info: ValidationInfo) -> Any:
        """Return fields by the spec's names; ``info`` may have those of an installation."""
        if not isinstance(data, Mapping):
            return data
        others = _other_spellings(cls)
        if info.context is not None:
            names: Mapping[str, str] = info.context
            others = others | {o: name for o, name in names.items() if name in cls.model_fields}
        if others.keys().isdisjoint(data):
            return dict(data)
        return {others.get(key, key): value for key, value in data.items()}


def with_spellings(model: type[WireModel], data: Any, spelled: Mapping[str, str]) -> Any:
    """Return objects as JSON in which some fields are spelled otherwise, also in objects within.

    ``spelled`` has the spellings by the spec's names. ``data`` is an object or a list of them.
    """
    if isinstance(data, list):
        return [with_spellings(model, item, spelled) for item in data]
    if not isinstance(data, Mapping):
        return data
    document: Mapping[str, Any] = data
    changed: dict[str, Any] = {}
    names = spellings(model)
    for key, value in document.items():
        name = names.get(key, key)
        field_info = model.model_fields.get(name)
        inner = None if field_info is None else record_model(field_info.annotation)
        new = value if inner is None else with_spellings(inner, value, spelled)
        changed[key if field_info is None else spelled.get(name, key)] = new
    return changed


def fields_in_order(model: type[WireModel]) -> list[str]:
    """Return the names of a model's fields in the order of the spec."""
    names = list(model.model_fields)
    for first, *followers in model.field_runs:
        for name in followers:
            names.remove(name)
        position = names.index(first) + 1
        names[position:position] = followers
    return names


def record_model(annotation: Any) -> type[WireModel] | None:
    """Return the record type within an annotation such as ``list[Client] | Client | None``."""
    if isinstance(annotation, type) and issubclass(annotation, WireModel):
        return annotation
    return next(filter(None, map(record_model, get_args(annotation))), None)


def _accept_text(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Accept any text in place of a number, as the spec does not give the type."""
    try:
        return validate(value)
    except ValueError:
        if isinstance(value, str):
            return value
        raise


class AddressingPlace(WireModel):
    """Address of a product in responses of the stock area and of its import."""

    codigoDaFilial: int | None = None
    codigoDoAlmoxarifado: int | None = None
    codigoDaSecao: str | None = None
    idProd: int | None = None


class Attachment(WireModel):
    """A file attached to a record. ``Url`` carries a token that lets its holder read the file."""

    Id: Annotated[int | None, WrapValidator(_accept_text)] = None
    NomeDoArquivo: str | None = None
    Url: str | None = Field(default=None, repr=False)
    Observacao: str | None = None


_STATE, _MEASURE, _CODE, _SHORT, _NAME, _REMARK, _URL, _ADDITIONAL = (
    2, 20, 30, 60, 150, 500, 2_000, 5_000,
)  # fmt: skip

_FIELDS_BY_LENGTH: Mapping[int, str] = {
    _STATE: "uf entregaUF transportadoraUF transportadoraPlacaUF",
    _MEASURE: (
        "Altura Largura Comprimento altura largura comprimento cep entregaCEP ncm naturezaJuridica "
        "transportadoraNatureza transportadoraFreteEmiDest transportadoraPlaca"
    ),
    _CODE: (
        "cnpj cpf cnpjcpf transportadoraCNPJ transportadoraIE inscricaoEstadual inscricaoMunicipal "
        "telefone codigoDoCentroDeCusto CodigosCentroCustos codigoDoItemDeLancamento codigoDaSecao "
        "codigoDoLocal codigoDoGrupoDeProduto codigoDoMunicipio entregaCodigoMunicipio "
        "codigoDoServicoPrestado CodigoDoCustoABC ClassificacaoIBSCBS CodigoNBS "
        "CodigoIndicadorDaOperacao CodigoDaRetencaoPisCofinsCsll CodigoDaSituacaoTributariaCOFINS "
        "CodigoDaSituacaoTributariaIBSCBS CodigoDaSituacaoTributariaPIS"
    ),
    _SHORT: (
        "CodigoDeBarras codigoDeBarras codigoInterno CodigoGenerico seuCodigo idws IdPedidoWS "
        "documento numeroDoDocumento numeroDeSerie numeroDeSerieLote marca modelo cargo numero "
        "bairro cidade complemento entregaNumero entregaBairro entregaCidade entregaComplemento "
        "naturezaDaOperacao transportadoraCidade transportadoraEspecie transportadoraVolume"
    ),
    _NAME: (
        "nome nomeComercial nomeDoCliente email contato logradouro entregaLogradouro "
        "entregaNomeContato transportadoraNome transportadoraEndereco descricaoDoProduto "
        "DescricaoDoProdutoIngles descricaoDoInventario descricaoDoCentroDeCusto "
        "descricaoDoTipoDeProduto descricaoDoTipoDeCliente descricaoDaCategoriaDeCliente"
    ),
    _REMARK: (
        "historico historicoCR observacao observacaoCR transportadoraObservacao "
        "descricaoDoEstorno password"
    ),
    _URL: "url",
    _ADDITIONAL: "dadosAdicionais",
}

MAX_LENGTHS: Mapping[str, int] = {
    name: length for length, names in _FIELDS_BY_LENGTH.items() for name in names.split()
}
"""Maximum length of every text in a request, by the field's name."""

UPLOAD_FIELD = "ArquivoExcel"
"""Multipart form field that carries a workbook."""

XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
"""Content type of a workbook."""

Method = Literal["GET", "POST", "PUT", "DELETE"]

_SECTIONS: Mapping[str, str] = {
    "authenticate": "Authentication and utilities",
    "system": "Authentication and utilities",
    "imports": "Authentication and utilities",
    "registry": "Registry",
    "financial": "Financial",
    "sales": "Sales and billing",
    "purchasing": "Purchasing",
    "stock": "Stock",
}
"""Sections of the spec, by the first part of their operations' names."""

_PATH_PARAMETER = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method and path of the interface, with everything that a client or a server needs.

    ``path_types``: type of each path parameter, by default ``int``.
    ``data``: type of the envelope's ``data``, or of the whole response if not ``enveloped``.
    ``upload``: the request is a multipart form with one workbook.
    ``repeatable``: sending a write again changes nothing and gets the same response. A deletion
    is not repeatable: the second one gets a 404, as if the first had failed.
    ``single_record_filters``: query parameters that identify a single record.
    ``refuses_in_data``: a success whose ``data`` has notifications is always a refusal.
    """

    name: str
    method: Method
    path: str
    data: Any
    path_types: Mapping[str, type] = field(default_factory=dict)
    query: type[WireModel] | None = None
    body: type[WireModel] | None = None
    upload: bool = False
    enveloped: bool = True
    authenticated: bool = True
    repeatable: bool = False
    single_record_filters: tuple[str, ...] = ()
    refuses_in_data: bool = False

    @classmethod
    def listing(
        cls, name: str, path: str, record: type[WireModel], query: type[WireModel] | None = None
    ) -> "Operation":
        """Declare a listing of records."""
        data = list[record]  # type: ignore[valid-type]
        return cls(name=name, method="GET", path=path, query=query, data=data)

    @classmethod
    def reading(
        cls, name: str, path: str, data: Any, query: type[WireModel] | None = None
    ) -> "Operation":
        """Declare a read of one record or document."""
        return cls(name=name, method="GET", path=path, query=query, data=data)

    @classmethod
    def creation(cls, name: str, path: str, body: type[WireModel], data: Any) -> "Operation":
        """Declare a POST with the content of a record."""
        return cls(name=name, method="POST", path=path, body=body, data=data)

    @classmethod
    def change(cls, name: str, path: str, body: type[WireModel], data: Any) -> "Operation":
        """Declare a PUT with the whole new content of a record, which may be repeated."""
        return cls(name=name, method="PUT", path=path, body=body, data=data, repeatable=True)

    @classmethod
    def step(cls, name: str, path: str, data: Any) -> "Operation":
        """Declare a POST without a body, which moves a record to its next state."""
        return cls(name=name, method="POST", path=path, data=data)

    @property
    def section(self) -> str:
        """Section of the spec that describes the operation."""
        return _SECTIONS[self.name.partition(".")[0]]

    @property
    def retryable(self) -> bool:
        """True if the request may be sent again after its response was lost."""
        return self.repeatable or self.method == "GET"

    @property
    def path_parameters(self) -> dict[str, type]:
        """Path parameters in order, with their types."""
        names = _PATH_PARAMETER.findall(self.path)
        return {name: self.path_types.get(name, int) for name in names}

    def returns_single_record(self, query: WireModel | None) -> bool:
        """Return whether a call asks for a single record, so that ``data`` may be null.

        Source: the spec, Response envelope.
        """
        by_key = bool(self.path_parameters) and get_origin(self.data) is not list
        filters = (getattr(query, name, None) for name in self.single_record_filters)
        return by_key or any(value is not None for value in filters)


_ITEM_KEYS = ("key", "field", "campo", "property", "propertyname", "coluna")
_ITEM_VALUES = ("value", "message", "mensagem", "errormessage", "erro", "error", "descricao")


class ErrorItem(WireModel):
    """One error: ``key`` is the field concerned, ``value`` the message.

    Names that other systems use in their place are read too; of an item with none of them, the
    whole content is the message.
    """

    key: Annotated[str, null_as("")] = ""
    value: Annotated[str, null_as("")] = ""
    dateOccurred: Annotated[Moment | None, default_for_invalid(None)] = None

    @model_validator(mode="before")
    @classmethod
    def _accept_other_shapes(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return {"value": None if data is None else str(data)}
        fields = {str(name).lower(): value for name, value in data.items()}
        occurred = fields.pop("dateoccurred", None)
        texts = {n: str(v) for n, v in fields.items() if v is not None and str(v).strip()}
        key = next((texts[name] for name in _ITEM_KEYS if name in texts), None)
        value = next((texts[name] for name in _ITEM_VALUES if name in texts), None)
        if value is None and texts:
            value = json.dumps(data, ensure_ascii=False, default=str)
        return {"key": key, "value": value, "dateOccurred": occurred}


def _as_items(errors: Any) -> Any:
    """Return errors as a list of items; they may be a text, or an object with the messages of each
    field."""
    if isinstance(errors, str):
        return [errors] if errors.strip() else []
    if not isinstance(errors, Mapping):
        return errors
    if any(str(name).lower() in _ITEM_VALUES for name in errors):
        return [errors]
    return [
        {"key": name, "value": message}
        for name, messages in errors.items()
        for message in (messages if isinstance(messages, list) else [messages])
    ]


_ErrorItems = Annotated[list[ErrorItem] | None, BeforeValidator(_as_items)]


class Envelope(WireModel):
    """Envelope of every response except authentication's.

    ``data`` is set on success, ``errors`` on failure; the details of a failure may be in
    ``notifications`` instead, of the envelope or of its ``data``.
    """

    success: bool
    data: Any = None
    errors: _ErrorItems = None
    notifications: _ErrorItems = None

    @property
    def has_errors(self) -> bool:
        """True if the response has a list of errors or notifications, even an empty one."""
        lists = (self.errors, self.notifications)
        return any(one is not None for one in lists) or bool(self.error_items)

    @property
    def error_items(self) -> list[ErrorItem]:
        """Errors and notifications with a text."""
        found = [*(self.errors or []), *(self.notifications or []), *notifications_in(self.data)]
        return [item for item in found if item.value.strip()]

    @property
    def contradicts_itself(self) -> bool:
        """True for a success with errors, with notifications and no data, or a failure as data."""
        reported = [*(self.errors or []), *((not self.data and self.notifications) or [])]
        try:
            fails = not Envelope.model_validate(self.data).success
        except ValidationError:
            fails = False
        return self.success and (fails or any(item.value.strip() for item in reported))

    def refusals(self, *, in_data: bool) -> list[ErrorItem]:
        """Return the reasons for which a success is a refusal: notifications in its ``data``.

        Without ``in_data`` they are a refusal only if ``data`` has nothing else: a record that was
        written may have remarks. Source: the spec, Purchasing (POST /v2/compras/pedido).
        """
        found = notifications_in(self.data)
        others = [
            value
            for name, value in (self.data.items() if isinstance(self.data, Mapping) else ())
            if str(name).lower() != "notifications"
        ]
        return found if in_data or not any(others) else []


class _WithNotifications(WireModel):
    notifications: Annotated[list[ErrorItem], BeforeValidator(_as_items)]


def notifications_in(data: object) -> list[ErrorItem]:
    """Return the notifications in a response's ``data``; none if it has another shape."""
    try:
        return _WithNotifications.model_validate(data).notifications
    except ValidationError:
        return []


def wire_model(name: str) -> type[WireModel]:
    """Return the model that schema files name as ``module.Class``."""
    module, _, attribute = name.partition(".")
    model: type[WireModel] = getattr(importlib.import_module(f"xlbridge.wire.{module}"), attribute)
    return model
