"""Declared reading options of a mapping in plans: keys in the first row of a record only, selected
rows, signs, days of a month."""

from pathlib import Path

from environment import Xlbridge

_BELOW = (
    "Nº do pedido;Emissão;Cliente;Código do produto;Qtde;Preço unitário;Total",
    "4501;23/11/2026;1311;;;;31,00",
    ";;;2001;2;10,50;21,00",
    ";;;2002;1;10,00;10,00",
    "4502;24/11/2026;1197;2001;1;10,50;10,50",
)
_SIGNED = (
    (
        "Cliente;Filial;Item;CC;Conta;Histórico;Nº documento;Dia de vencimento;Mês do vencimento;"
        "Valor;Situação"
    ),
    "1311;1;1.01.001;01.001;1;Aluguel;A-1;todo dia 10;11/2026;99,90;Em aberto",
    "1197;1;1.01.001;01.001;1;Suporte;A-2;dia 5;12/2026;-50,10;Em aberto",
    "1197;1;1.01.001;01.001;1;Suporte;A-3;dia 5;12/2026;50,10;Pago",
    "1197;1;1.01.001;01.001;1;Suporte;A-4;dia 5;12/2026;50,10;Em aberto",
)


def test_a_plan_reads_with_the_declared_options(tmp_path: Path, at_demo: Xlbridge) -> None:
    steps = []
    for name, lines, resource in (
        ("pedidos.csv", _BELOW, "pedido"),
        ("receber.csv", _SIGNED, "contasreceber"),
    ):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
        mapping = tmp_path / f"{resource}.yaml"
        done = at_demo("map", name, "--resource", resource, "-o", str(mapping))
        assert done.returncode == 0, done.stderr
        text = mapping.read_text("utf-8")
        mapping.write_text(text.replace("{constant: '?'}", "{constant: 1}"), "utf-8")
        steps.append(f"  {resource}: {{upload: {name}, resource: {resource}, map: {mapping.name}}}")
    (tmp_path / "mes.yaml").write_text("\n".join(["name: mes", "steps:", *steps, ""]), "utf-8")
    done = at_demo("batch", "run", "mes.yaml", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Everything accounted for: 4 of 4 rows read back" in done.stdout
