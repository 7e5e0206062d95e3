"""A PostgreSQL server for the tests that need one, and databases in it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from tests.ports import unused


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a PostgreSQL server in which databases can be made."""
    given = os.environ.get("GANGLION_TEST_POSTGRES_URL", "")
    if given:
        yield given
        return
    tools = _tools()
    if tools is None:
        pytest.skip("no PostgreSQL here: set GANGLION_TEST_POSTGRES_URL, or install its server")
    folder = tmp_path_factory.mktemp("postgres")
    yield from _cluster(tools, folder)


def _tools() -> Path | None:
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return versions[-1].parent if versions else None


def _cluster(tools: Path, folder: Path) -> Iterator[str]:
    # The server refuses to run as root, and its user must reach the folder.
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    prefix = become if os.geteuid() == 0 else []
    data = Path(f"/tmp/ganglion-pg-{os.getpid()}") if prefix else folder / "data"
    data.mkdir(exist_ok=True)
    if prefix:
        shutil.chown(data, 65534, 65534)
    port = unused()
    quick = "-c fsync=off -c full_page_writes=off"
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' {quick}"
    try:
        _call([*prefix, tools / "initdb", "-D", data, "-U", "ganglion", "-A", "trust"])
        start = [tools / "pg_ctl", "-D", data, "-w", "-l", data / "log", "-o", options, "start"]
        _call([*prefix, *start])
        try:
            yield f"postgresql+psycopg://ganglion@127.0.0.1:{port}/postgres"
        finally:
            _call([*prefix, tools / "pg_ctl", "-D", data, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _call(command: list[str | Path]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, cwd="/tmp", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """URL of a new, empty PostgreSQL database."""
    name = f"ganglion_test_{os.getpid()}"
    admin = create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(postgres).set(database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()
