"""Help must start fast: it may import nothing that is heavy. Counts modules, not time."""

import subprocess
import sys

import pytest

FORBIDDEN = {
    "alembic",
    "fastapi",
    "httpx2",
    "msgspec",
    "numpy",
    "pydantic",
    "rich",
    "sqlalchemy",
    "structlog",
    "uvicorn",
    "yaml",
}
PROBE = """
import sys
from ganglion.cli.main import run
code = run(sys.argv[1:])
sys.stdout = sys.__stdout__
print("\\nMODULES", code, *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def imported(*args: str) -> tuple[int, set[str]]:
    """Run the command line in a fresh interpreter; its exit code and top-level modules."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *args], capture_output=True, text=True, check=True
    )
    _, code, *names = done.stdout.splitlines()[-1].split()
    return int(code), set(names)


@pytest.mark.parametrize("args", [["--help"], [], ["--version"], ["pss"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    _, modules = imported(*args)
    assert modules & FORBIDDEN == set()


def test_the_probe_would_notice_a_heavy_import() -> None:
    code, modules = imported("schema")
    assert code == 0
    assert "pydantic" in modules


@pytest.mark.parametrize("name", ["ps", "run", "submit", "why", "logs", "up"])
def test_help_of_a_command_imports_no_server_and_no_engine(name: str) -> None:
    code, modules = imported(name, "--help")
    assert code == 0
    assert modules & {"fastapi", "sqlalchemy", "alembic", "numpy", "uvicorn", "pydantic"} == set()
