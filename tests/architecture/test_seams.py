"""Ways around the seams, each of which is caught."""

import pytest
from tools.archlint.imports.direction import wrong_way
from tools.archlint.machine.seams import BANNED, around_the_seams, idle
from tools.archlint.machine.seams_left import LEFT
from tools.archlint.source import parse, sources

pytestmark = pytest.mark.xdist_group("sources")  # one process parses the package

PATH = "src/ganglion/ledger/bad.py"
"""In a package of which nothing may ask the machine by itself."""


def found(text: str, path: str = PATH, **others: str) -> list[str]:
    """The rules that find something in a file, beside others of the project."""
    files = [parse(path, text), *(parse(f"src/ganglion/{k}.py", t) for k, t in others.items())]
    return [each.rule for each in around_the_seams(files) if each.path == path]


@pytest.mark.parametrize(
    "line",
    [
        "import time\ntime.time()",
        "import time as t\nt.monotonic()",
        "from time import monotonic",
        "from time import *",
        "import time\nClock(time)",
        "import time\nnow = time.time_ns",
        "def f():\n    import time\n    return time.perf_counter()",
        "import time\ngetattr(time, 'sleep')(1)",
        "import importlib\nimportlib.import_module('time').time()",
        "__import__('time').time()",
        "from datetime import datetime as d\nd.now()",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "import asyncio as a\nasync def f():\n    await a.sleep(1)",
        "import random\nrandom.random()",
        "import random\nrandom.Random()",
        "from secrets import token_hex",
        "from uuid import uuid4 as name",
        "import os\nos.urandom(8)",
        "import os\nos.kill(1, 9)",
        "from os import fork as f",
        "import subprocess\nsubprocess.run(['true'])",
        "import psutil as p\np.Process(1)",
        "import os\nos.getpid()",
        "import signal\nsignal.signal(15, f)",
        "import asyncio\nasyncio.create_subprocess_exec('true')",
        "open('x')",
        "import builtins\nbuiltins.open('x')",
        "reader = open",
        "import io\nio.open('x')",
        "import os\nos.fsync(3)",
        "import os\nos.replace('a', 'b')",
        "from os import rename as move",
        "import shutil\nshutil.disk_usage('/')",
        "import tempfile\ntempfile.mkdtemp()",
        "import fcntl\nfcntl.flock(3, 2)",
        "path.write_text('x')",
        "path.read_bytes()",
        "path.rename(other)",
        "path.replace(other)",
        "path.open()\npath.open('rb')",
        "path.open(encoding='utf-8')",
        "(home / 'x').unlink(missing_ok=True)",
        "path.stat().st_size",
        "path.exists()",
        "import sqlite3\nsqlite3.connect('x')",
        "from sqlalchemy import create_engine as make",
        "import psycopg\npsycopg.connect('x')",
        "import httpx2\nhttpx2.Client()",
        "from httpx2 import AsyncClient",
        "import httpx2 as h\nh.get('http://x')",
        "import socket\nsocket.socket()",
        "from asyncio import open_connection",
        "import urllib.request\nurllib.request.urlopen('http://x')",
    ],
)
def test_what_goes_around_a_seam_is_caught(line: str) -> None:
    assert set(found(line)) == {"seams"}


def test_the_clock_of_another_module_is_caught() -> None:
    assert found("from ganglion.repeats import t\nt.time()", repeats="import time as t")
    assert found("from ganglion.repeats import now\nnow()", repeats="from time import time as now")


@pytest.mark.parametrize(
    "line",
    [
        "clock.monotonic()",
        "self._clock.sleep(1)",
        "import time\ntime.strftime('%Y', parts)",
        "import random\nrandom.Random(7)",
        "from uuid import UUID\nUUID(text)",
        "from datetime import datetime\ndatetime.fromtimestamp(0)",
        "import secrets\nsecrets.compare_digest(a, b)",
        "import os\nos.environ['HOME']",
        "files.read(path)\nself._files.unlink(path)",
        "text.replace('a', 'b')",
        "date.replace(hour=1)",
        "Ledger.open(target)",
        "import socket\ndef f(taken: socket.socket) -> None: ...",
        "import httpx2\ndef f(asks: httpx2.Client) -> httpx2.Response: ...",
        "import sqlite3\ntry: ...\nexcept sqlite3.Error: ...",
        "import subprocess\ntry: ...\nexcept subprocess.TimeoutExpired: ...",
    ],
)
def test_what_asks_the_machine_nothing_is_fine(line: str) -> None:
    assert found(line) == []


def test_the_seams_themselves_may() -> None:
    assert found("import time\ntime.time()", "src/ganglion/seams/clock.py") == []
    assert found("import os\nos.getpid()", "src/ganglion/seams/clock.py") == ["seams"]


def test_a_row_that_nothing_needs_is_found() -> None:
    messages = [each.message for each in idle([parse(PATH, "import time")])]
    assert any(each.startswith("demo does not need clock") for each in messages)
    assert list(idle(sources())) == []


def test_a_row_is_of_a_module_and_of_kinds_that_there_are() -> None:
    modules = {each.module for each in sources()}
    for row in LEFT:
        assert f"ganglion.{row.module}" in modules
        assert set(row.kinds.split()) <= BANNED.keys()
        assert row.reason


def test_what_decides_may_not_import_a_seam() -> None:
    text = "from ganglion.seams.clock import Clock"
    for part, count in {"engine": 1, "lifecycle": 1, "model": 1, "ledger": 0}.items():
        files = [
            parse(f"src/ganglion/{part}/bad.py", text),
            parse("src/ganglion/seams/clock.py", ""),
        ]
        assert len(list(wrong_way(files))) == count
