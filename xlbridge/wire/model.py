"""Base of the wire models: field types, spellings, maximum lengths, the attached file.

What is created is strict, what is read is lenient: a model of something read requires nothing, as
the spec promises few fields; every one may be missing or null.

Field names stay exactly as the spec writes them. On reading, the other spelling of a name's
first letter (camelCase, PascalCase) is accepted and unknown fields are ignored; what is sent is
camelCase, as in the spec's samples.

The spec shows no maximum length of a text; those here are this project's choice
(``docs/assumptions.md``): what the tax authority's layouts and bank slips ask for, and room
enough for what people write. The same name has the same length in every model.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

DAY_FORMAT = "%d/%m/%Y"
MINUTE_FORMAT = "%d/%m/%Y %H:%M"

_MOMENT = r"^[0-9]{2}/[0-9]{2}/[0-9]{4}( [0-9]{2}:[0-9]{2})?$"


def parse_moment(value: object) -> object:
    """Read ``dd/MM/yyyy``, optionally followed by ``HH:mm``, as a datetime.

    Anything that is not text is returned as it is. Raises ``ValueError`` for other text.
    Source: the spec, Sales and billing (``dataInferior``, ``dataSuperior``).
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not re.fullmatch(_MOMENT, text):
        raise ValueError("dd/MM/yyyy [HH:mm]")
    return datetime.strptime(text, MINUTE_FORMAT if ":" in text else DAY_FORMAT)


def format_moment(value: datetime) -> str:
    """Write a datetime as ``dd/MM/yyyy HH:mm``: a day alone may mean all of it, or its midnight."""
    return value.strftime(MINUTE_FORMAT)


def _without_zone(value: datetime) -> datetime:
    return value.replace(tzinfo=None)


Moment = Annotated[datetime, AfterValidator(_without_zone)]
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
    """Read null as ``default``."""
    return BeforeValidator(lambda value: default if value is None else value)


def default_for_invalid(default: Any) -> WrapValidator:
    """Read a value that does not fit as ``default``: nothing depends on it."""

    def read(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValueError:
            return default

    return WrapValidator(read)


Many = Annotated[list[Item], null_as([])]
"""A list that is read; null is an empty one."""

Number = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""A decimal number; a JSON number on the wire, exact in Python."""


@cache
def spellings(model: "type[WireModel]") -> dict[str, str]:
    """Return every accepted spelling of a model's field names, with the spec's own for each."""
    others = {name[0].swapcase() + name[1:]: name for name in model.model_fields}
    return others | {name: name for name in model.model_fields}


class WireModel(BaseModel):
    """Base of all JSON objects of the interface.

    ``field_runs`` corrects the order of fields where inheritance gives another than the interface's
    description: each run is a field and those that come right after it.
    """

    field_runs: ClassVar[Sequence[Sequence[str]]] = ()
    sent_as_shown: ClassVar[bool] = False
    # Built when it is first used: a command uses few of all models, and building takes its time.
    model_config = ConfigDict(defer_build=True, extra="ignore", frozen=True, allow_inf_nan=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **_options: Any) -> None:
        """Give each field the name that it is sent by."""
        for name, field in cls.model_fields.items():
            field.serialization_alias = name if cls.sent_as_shown else name[0].lower() + name[1:]

    @model_validator(mode="before")
    @classmethod
    def _accept_other_spellings(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = spellings(cls)
        return {known.get(key, key): value for key, value in data.items()}


def fields_in_order(model: type[WireModel]) -> list[str]:
    """Return the names of a model's fields in the order of the interface's description."""
    names = list(model.model_fields)
    for first, *followers in model.field_runs:
        for name in followers:
            names.remove(name)
        place = names.index(first) + 1
        names[place:place] = followers
    return names


def record_model(annotation: Any) -> type[WireModel] | None:
    """Return the record type within an annotation such as ``list[Client] | Client | None``."""
    if isinstance(annotation, type) and issubclass(annotation, WireModel):
        return annotation
    return next(filter(None, map(record_model, get_args(annotation))), None)


def _keep_text(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    try:
        return validate(value)
    except ValueError:
        if isinstance(value, str):
            return value
        raise


_kept_if_text = WrapValidator(_keep_text)
"""A number that the interface does not promise to be one."""


class Attachment(WireModel):
    """A file attached to a record. ``Url`` carries a token that lets its holder read the file."""

    Id: Annotated[int | None, _kept_if_text] = None
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
"""The most characters of every text that a caller may send, by the field's name."""
