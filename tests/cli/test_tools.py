"""Commands that need no server."""

import json

import pytest
import yaml
from tests.cli.harness import FakeServer, Ganglion

from ganglion import __version__, extensions
from ganglion.cli.output.tables import yaml_text
from ganglion.extensions import InstalledPlugin


def test_the_schema_describes_the_workload_file(ganglion: Ganglion) -> None:
    done = ganglion("schema")
    assert (done.code, done.err) == (0, "")
    assert "resources" in json.loads(done.out)["properties"]


def test_plugins_are_listed_with_origin_and_errors(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = InstalledPlugin("filters", "spot-only", "acme-plugins", "it cannot be loaded: no acme")
    fine = InstalledPlugin("scores", "ganglion", "ganglion")
    monkeypatch.setattr(extensions, "installed", lambda: [broken, fine])
    assert ganglion("plugins").out == (
        "POINT    NAME       ORIGIN        STATUS  ERROR\n"
        "filters  spot-only  acme-plugins  broken  it cannot be loaded: no acme\n"
        "scores   ganglion   ganglion      ok      -\n"
    )


def test_the_built_in_scorers_are_plugins(ganglion: Ganglion) -> None:
    found = json.loads(ganglion("plugins", "-o", "json").out)
    assert {"ganglion", "fgd", "bestfit"} <= {each["name"] for each in found}


def test_texts_of_several_lines_are_readable_as_yaml() -> None:
    data = {"run": "set -e\nmake\n", "text": "x: 1", "n": 1, "none": None, "list": ["a"]}
    text = yaml_text(data)
    assert yaml.safe_load(text) == data
    assert "run: |\n  set -e\n  make\n" in text


def test_the_version_needs_no_server(ganglion: Ganglion) -> None:
    done = ganglion("version", "-o", "json")
    assert done.code == 0
    found = json.loads(done.out)
    assert (found["client"], found["server"]) == (__version__, None)


def test_the_version_of_the_server_is_told(ganglion: Ganglion, server: FakeServer) -> None:
    server.on("GET /version", {"version": "9.9"})
    assert "server  9.9" in ganglion("version").out
