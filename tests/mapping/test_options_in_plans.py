"""Declared reading options of a mapping in plans: keys in the first row of a record only, selected
rows, signs, days of a month."""

from pathlib import Path

from environment import Xlbridge
from reading_options import KEYS_IN_FIRST_ROWS, SIGNED_TITLES


def test_a_plan_reads_with_the_declared_options(tmp_path: Path, at_demo: Xlbridge) -> None:
    steps = []
    for name, lines, resource in (
        ("pedidos.csv", KEYS_IN_FIRST_ROWS, "pedido"),
        ("receber.csv", SIGNED_TITLES, "contasreceber"),
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
