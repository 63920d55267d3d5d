"""The sandbox behaves as its description says: schemathesis sends allowed and forbidden requests,
and checks every answer."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from environment import unmeasured_environment
from servers import Start, log_in

from xlbridge.wire import OPERATIONS

pytestmark = pytest.mark.processes

CONFIG = Path(__file__).with_name("schemathesis.toml")
COMMAND = Path(sys.executable).with_name("schemathesis")


def run_schemathesis(http: httpx.Client, folder: Path, *options: str) -> None:
    """Run schemathesis against a sandbox; fail with its report."""
    command = [
        COMMAND, "--config-file", CONFIG, "run", f"{http.base_url}/openapi.json",
        "--header", f"Authorization: {http.headers['Authorization']}",
        "--checks", "all", "--continue-on-failure", "--no-color", "--warnings", "off",
        *options,
    ]  # fmt: skip
    validated = subprocess.run(
        command,
        cwd=folder,
        env=unmeasured_environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert validated.returncode == 0, validated.stdout[-20_000:] + validated.stderr
    assert f"Selected: {len(OPERATIONS)}/{len(OPERATIONS)}" in validated.stdout


@pytest.mark.programs
def test_a_sample_of_requests_to_each_operation(start: Start, tmp_path: Path) -> None:
    with log_in(start("--seed", "demo", few=True)) as http:
        run_schemathesis(
            http, tmp_path,
            "--phases", "fuzzing", "--max-examples", "1", "--generation-deterministic",
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_long_run(start: Start, tmp_path: Path, seed: int) -> None:
    with log_in(start("--seed", "demo", "--token-lifetime", "86400")) as http:
        run_schemathesis(
            http, tmp_path,
            "--phases", "coverage,fuzzing,stateful", "--max-examples", "40", "--seed", str(seed),
        )  # fmt: skip
