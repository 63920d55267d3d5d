"""Mistakes in schema files are reported with file, place and allowed values."""

import json
from itertools import pairwise
from pathlib import Path

import jsonschema_rs
import pytest

from xlbridge.cli.main import main
from xlbridge.errors import SchemaFileError
from xlbridge.resources import Kind, Mode, load_catalogue, schema_file_format
from xlbridge.resources.checks import ROW_RULES, RULES

GOOD = """\
schema_type: dataframe
version: 0.35.0
title: Vendedores
metadata:
  resource: vendedor
  import: {direct: imports.direct}
  columns:
    codigo: {kind: code}
columns:
  codigo:
    dtype: str
    nullable: false
    digits: {width: 4}
checks:
  - options: {check_name: no_repeated_rows}
    column: codigo
    columns: [codigo]
"""


def test_custom_file_joins_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "vendedor.yaml").write_text(GOOD, encoding="utf-8")
    resource = load_catalogue(tmp_path)["vendedor"]
    assert resource.columns[0].width == 4
    assert (resource.paths.queue_name, resource.modes) == (None, (Mode.DIRECT, Mode.PREVIEW))
    assert load_catalogue(tmp_path / "none").get("vendedor") is None


def test_a_resource_may_be_created_record_by_record(tmp_path: Path) -> None:
    path = tmp_path / "vendedor.yaml"
    create = "create: {operation: registry.suppliers.create}"
    path.write_text(GOOD.replace("import: {direct: imports.direct}", create), encoding="utf-8")
    resource = load_catalogue(tmp_path)["vendedor"]
    assert (resource.is_imported, resource.modes) == (False, (Mode.RECORDS,))
    both = GOOD.replace("  import:", f"  {create}\n  import:")
    path.write_text(both, encoding="utf-8")
    modes = load_catalogue(tmp_path)["vendedor"].modes
    assert modes == (Mode.DIRECT, Mode.PREVIEW, Mode.RECORDS)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a, *a]",
        "a: &a [x]\n"
        + "".join(f"{n}: &{n} [*{p}, *{p}, *{p}]\n" for p, n in pairwise("abcdefghijklmnop")),
    ],
    ids=["endless", "far larger than its text"],
)
def test_endless_and_exploding_aliases_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaFileError, match=r"a\.yaml:\d+: .*aliases"):
        load_catalogue(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "place", "allowed"),
    [
        ("dtype: str", "dtype: text", "columns.codigo.dtype", "Int64"),
        ("kind: code", "kind: codes", "metadata.columns.codigo.kind", "cnpj"),
        ("kind: code", "kind: money", "metadata.columns.codigo.kind", "str"),
        ("digits:", "digts:", "columns.codigo.digts", "digits"),
        ("width: 4", "wide: 4", "columns.codigo.digits.wide", "width"),
        ("imports.direct", "imports.all", "metadata.import.direct", "imports.direct"),
        ("check_name: no_repeated_rows", "check_name: x", "check_name", "not_before"),
        ("columns: [codigo]", "columns: [cor]", "checks[0].columns", "codigo"),
        ("    codigo: {kind", "    cor: {kind", "metadata.columns.cor", "codigo"),
        ("resource: vendedor", "resource: ''", "metadata.resource", ""),
        ("import: {direct: imports.direct}", "import: yes", "metadata.import", ""),
        ("title: Vendedores", "title: [", "", ""),
        ("resource: vendedor", "resource: vendedor\n  layout: um", "metadata.layout", ""),
        ("resource: vendedor", "resource: vendedor\n  model: registry.Seller", "model", "Seller"),
        ("    column: codigo\n", "", "checks[0]", "column"),
        ("digits: {width: 4}", "in_range: {min_value: 1}", "columns.codigo.in_range", "max_value"),
    ],
)
def test_mistakes_are_reported_with_place_and_allowed_values(
    tmp_path: Path, old: str, new: str, place: str, allowed: str
) -> None:
    path = tmp_path / "vendedor.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    message = caught.value.message.en
    assert message.startswith(str(path))
    assert place in message
    assert allowed in message


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("dtype: str", "dtype: text", 11),
        ("kind: code", "kind: codes", 8),
        ("kind: code", "kind: money", 8),
        ("width: 4", "wide: 4", 13),
        ("columns: [codigo]", "columns: [cor]", 17),
        ("    column: codigo\n", "    column: cor\n", 16),
        ("title: Vendedores", "title: Vendedores: x", 3),
        ("title: Vendedores", "title: V\ntitle: W", 4),
        ("dtype: str", "dtype: str\n    title: 12", 12),
        ("resource: vendedor", "resource: Vendedor Novo", 5),
        ("resource: vendedor", "resource: vendedor\n  layouts: {1: {}}", 6),
        ("resource: vendedor", "resource: vendedor\n  natural_keys: [codigo, cor]", 6),
        ("codigo: {kind: code}", "codigo: {references: clientes}", 8),
        ("no_repeated_rows}", "no_repeated_rows}\n    other: codigo", 16),
        ("checks:\n", "check:\n", 14),
        (GOOD, "[]", 1),
        (GOOD, "", 1),
        (GOOD, "\t", 1),
    ],
)
def test_mistakes_are_reported_with_their_line(
    tmp_path: Path, old: str, new: str, line: int
) -> None:
    path = tmp_path / "vendedor.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    assert caught.value.message.en.startswith(f"{path}:{line}: ")
    assert caught.value.message.pt.startswith(f"{path}:{line}: ")


TWO = """\
title: Metas
metadata:
  resource: meta
  layout: 2
  layouts:
    1: {renamed: {velho: inicio}, removed: [sumido]}
  import: {direct: imports.direct}
columns:
  codigo: {dtype: str}
  inicio: {dtype: "datetime64[us]", title: Início}
  fim: {dtype: "datetime64[us]", title: Fim}
  valor: {dtype: Float64}
  quantidade: {dtype: Int64}
checks:
  - options: {check_name: not_before}
    column: fim
    other: inicio
  - options: {check_name: required_when}
    column: fim
    other: codigo
    values: [a]
"""


def test_fitting_rules_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "meta.yaml"
    path.write_text(TWO, encoding="utf-8")
    assert len(load_catalogue(tmp_path)["meta"].columns) == 5


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("codigo: {dtype: str", "codigo: {dtype: str, greater_than: 3", 9, "Float64, Int64"),
        ("Int64", "Int64, digits: {width: 4}", 13, "only for: str"),
        ("title: Fim", "title: Fim, cnpj: {}", 11, "only for: str"),
        ("Int64", "Int64, isin: [a]", 13, "'a' cannot be a value of the column"),
        ("str}", "str, isin: ['a', no]}", 9, "false cannot be a value of the column"),
        ("str}", "str, str_length: {min_value: 80, max_value: 1}}", 9, "greater than max_value"),
        ("other: inicio", "other: codigo", 17, "not_before is not for a column of dtype str"),
        (
            "column: fim\n    other: inicio",
            "column: valor\n    other: inicio",
            16,
            "datetime64[us]",
        ),
        ("other: inicio", "other: fim", 16, "compared with itself"),
        ("values: [a]", "values: [1]", 21, "1 cannot be a value of the column"),
        ("title: Fim", "title: INICIO", 11, "title of the column inicio"),
        ("str}", "str, required: true, nullable: true}", 9, "contradict"),
        ("removed: [sumido]", "removed: [fim]", 6, "'fim' is still among the columns"),
        ("velho: inicio", "velho: comeco", 6, "comeco"),
    ],
)
def test_contradictions_are_reported_with_line_and_allowed_values(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    path = tmp_path / "meta.yaml"
    assert old in TWO
    path.write_text(TWO.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    assert caught.value.message.en.startswith(f"{path}:{line}: ")
    assert words in caught.value.message.en


@pytest.mark.parametrize(
    ("old", "new", "line", "pt", "en"),
    [
        ("  codigo:\n    dtype", "\tcodigo:\n    dtype", 10, "há uma tabulação", "there is a tab"),
        ("title: V", "title: V\n\tx: 1", 4, "há uma tabulação", "there is a tab"),
        ("title: V", "title: @V", 3, "não pode começar com @", "cannot begin with @"),
        ("title: V", "title: *V", 3, "o apelido (*)", "the alias (*)"),
        ("title: V", "title: !V V", 3, "marcas com !", "tags with !"),
        ("title: V", 'title: "C:\\d', 3, "a barra \\", "a backslash"),
        ("title: V", "title: 'V", 3, "não são fechadas", "are not closed"),
        ("title: V", "title: V\x07", 3, "U+0007; apague-o", "U+0007; delete it"),
        (
            "title: V",
            "title: V: V",
            3,
            "um dois-pontos onde não é permitido",
            "there is a colon where none",
        ),
        ("checks:", "---\nchecks:", 14, "um segundo documento", "a second document"),
        ("checks:", "{a: b}: c\nchecks:", 14, "uma chave não pode ser lista", "a key cannot be"),
        ("codigo: {kind: code}", "codigo: {kind: code", 8, "falta uma vírgula", "a comma is"),
        ("    nullable", "   nullable", 12, "o recuo não combina", "the indentation does not"),
        ("kind: code}", "example: 2026-02-31}", 8, "2026-02-31 não é um", "2026-02-31 is not a"),
        (
            "kind: code}",
            "example: no}",
            8,
            "não aceita o exemplo false",
            "not accept the example false",
        ),
    ],
)
def test_syntax_errors_are_explained_in_both_languages(
    tmp_path: Path, old: str, new: str, line: int, pt: str, en: str
) -> None:
    path = tmp_path / "vendedor.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    message = caught.value.message
    assert message.pt.startswith(f"{path}:{line}: ")
    assert pt in message.pt
    assert en in message.en


@pytest.mark.parametrize("name", ["2026", "no", "null", "1.5", "2026-10-01"])
def test_column_names_that_yaml_reads_as_other_types_are_kept(tmp_path: Path, name: str) -> None:
    path = tmp_path / "vendedor.yaml"
    keys, rule = GOOD.replace(" codigo:", f" {name}:").split("checks:")
    path.write_text(f"{keys}checks:{rule.replace('codigo', repr(name))}", encoding="utf-8")
    resource = load_catalogue(tmp_path)["vendedor"]
    assert [column.name for column in resource.columns] == [name]
    assert resource.row_checks[0].statistics["columns"] == [name]


@pytest.mark.parametrize("name", ["''", "' a'", "'a '", '"a\\nb"'])
def test_column_name_is_one_line_without_outer_spaces(tmp_path: Path, name: str) -> None:
    path = tmp_path / "vendedor.yaml"
    path.write_text(GOOD.replace("checks:", f"  {name}: {{dtype: str}}\nchecks:"), "utf-8")
    with pytest.raises(
        SchemaFileError, match=r":14: columns: .* it must be one line, without spaces"
    ):
        load_catalogue(tmp_path)


def test_a_length_is_a_whole_number(tmp_path: Path) -> None:
    path = tmp_path / "vendedor.yaml"
    rule = "str_length: {min_value: 0.5, max_value: -1}"
    path.write_text(GOOD.replace("digits: {width: 4}", rule), encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    assert "min_value: this must be a whole number" in caught.value.message.en
    assert "max_value: -1 is below the minimum, 0" in caught.value.message.en


def test_two_files_cannot_have_one_resource(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    prefix = f"{tmp_path / 'b.yaml'}:5: metadata.resource: 'vendedor' is already in "
    assert caught.value.message.en == f"{prefix}{tmp_path / 'a.yaml'}."


def test_file_in_a_later_folder_replaces_the_resource(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "v.yaml").write_text(GOOD.replace("Vendedores", name), "utf-8")
    assert load_catalogue(tmp_path / "one", tmp_path / "two")["vendedor"].title.pt == "two"


@pytest.mark.parametrize("name", ["v.yaml", "v.yml", "V.YAML", "V.Yml"])
def test_both_file_extensions_are_read_in_any_case(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(GOOD, encoding="utf-8")
    (tmp_path / f".#{name}").write_text("lock file: [of an editor", encoding="utf-8")
    assert "vendedor" in load_catalogue(tmp_path)


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    with pytest.raises(SchemaFileError, match=r"x\.yaml:1: it cannot be read: it is a directory\."):
        load_catalogue(tmp_path)
    (tmp_path / "x.yaml").rmdir()
    (tmp_path / "x.yaml").symlink_to(tmp_path / "gone")
    with pytest.raises(SchemaFileError, match=r"x\.yaml:1: it cannot be read: no such file"):
        load_catalogue(tmp_path)


def test_oversized_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "vendedor.yaml"
    path.write_text(f"{GOOD}# {'x' * 1_000_000}\n", encoding="utf-8")
    with pytest.raises(SchemaFileError, match="more than 1000000 bytes"):
        load_catalogue(tmp_path)


@pytest.mark.parametrize("change", ["\r\n", "\ufeff"])
def test_windows_line_endings_and_byte_order_mark_are_read(tmp_path: Path, change: str) -> None:
    path = tmp_path / "vendedor.yaml"
    text = GOOD.replace("\n", change) if change == "\r\n" else change + GOOD
    path.write_bytes(text.encode())
    assert "vendedor" in load_catalogue(tmp_path)
    path.write_bytes(text.replace("dtype: str", "dtype: text").encode())
    with pytest.raises(SchemaFileError, match=r":11: columns\.codigo\.dtype"):
        load_catalogue(tmp_path)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "vendedor.yaml"
    wrong = GOOD.replace("dtype: str", "dtype: text").replace("width: 4", "width: many")
    path.write_text(wrong, encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    first, second = caught.value.message.en.splitlines()
    assert first.startswith(f"{path}:11: columns.codigo.dtype")
    assert second == f"{path}:13: columns.codigo.digits.width: this must be a whole number."


def test_messages_do_not_mix_languages(tmp_path: Path) -> None:
    path = tmp_path / "vendedor.yaml"
    wrong = GOOD.replace("resource: vendedor", "resource: Vendedor Novo")
    path.write_text(wrong.replace("width: 4", "width: 0"), encoding="utf-8")
    with pytest.raises(SchemaFileError) as caught:
        load_catalogue(tmp_path)
    first, second = caught.value.message.pt.splitlines()
    assert first.endswith("'Vendedor Novo' não serve: só letras de a a z, algarismos e hífens.")
    assert second.endswith("columns.codigo.digits.width: 0 é menor que o mínimo, 1.")


def test_json_schema_is_valid_and_covers_every_check() -> None:
    schema = schema_file_format()
    jsonschema_rs.meta.validate(schema)
    columns = schema["properties"]["columns"]["additionalProperties"]["properties"]
    assert set(RULES) <= set(columns)
    bodies = [item["then"] for item in schema["properties"]["checks"]["items"]["allOf"]]
    assert [body["required"] for body in bodies] == [list(r.statistics) for r in ROW_RULES.values()]


def test_the_command_prints_the_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resources", "--json-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_file_format()


def test_column_changes_are_collected_since_a_layout(tmp_path: Path) -> None:
    path = tmp_path / "vendedor.yaml"
    layouts = (
        "resource: vendedor\n  layout: 3\n  layouts:\n"
        "    1: {renamed: {cod: code}, removed: [fax]}\n"
        "    2: {renamed: {code: codigo}, removed: [telex]}"
    )
    path.write_text(GOOD.replace("resource: vendedor", layouts), encoding="utf-8")
    resource = load_catalogue(tmp_path)["vendedor"]
    later = {"code": "codigo", "telex": None}
    assert resource.column_changes_since(1) == {"cod": "codigo", "fax": None, **later}
    assert resource.column_changes_since(2) == later
    assert resource.column_changes_since(3) == {}


SHORT = """\
title: Tipos
metadata:
  resource: tipo
  model: registry.ProductTypeInput
  create: {operation: registry.product_types.create}
  columns: {descricaoDoTipoDeProduto: {title_en: Name, example: Peça}}
columns:
  codigoDoTipoDeProduto: {}
  descricaoDoTipoDeProduto:
    title: Nome
    description: O nome.
    str_length: {min_value: 3, max_value: 9}
"""


def test_column_defaults_come_from_the_model(tmp_path: Path) -> None:
    path = tmp_path / "tipo.yaml"
    path.write_text(SHORT, encoding="utf-8")
    code, name = load_catalogue(tmp_path)["tipo"].columns
    assert (code.kind, code.required, code.references) == (Kind.INTEGER, False, "tipo-de-produto")
    assert code.checks["less_than_or_equal_to"] == {"value": 2**31 - 1}
    assert (name.kind, name.required, name.title.pt) == (Kind.TEXT, True, "Nome")
    assert name.checks == {"str_length": {"min_value": 3, "max_value": 9}}


def test_column_with_a_dtype_does_not_use_the_model(tmp_path: Path) -> None:
    path = tmp_path / "tipo.yaml"
    stated = "codigoDoTipoDeProduto: {dtype: str, nullable: true}"
    text = SHORT.replace("codigoDoTipoDeProduto: {}", stated)
    path.write_text(text, encoding="utf-8")
    code = load_catalogue(tmp_path)["tipo"].columns[0]
    assert (code.kind, code.checks, code.references, code.description.en) == (
        Kind.TEXT,
        {},
        None,
        "",
    )
