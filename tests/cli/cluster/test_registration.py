"""`ganglion scheduler --deliver-as NAME` beside a server of the same home."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.delivered.stories import begun, turns
from tests.server.process import Nursery, until

from ganglion.cli.connection.registration import RegisteredCluster, registered
from ganglion.cli.main import run
from ganglion.cli.server.scheduler import _outbox
from ganglion.client import Client
from ganglion.client.home import Unreachable
from ganglion.model.errors import EnvironmentFault, FieldError, Forbidden, InputError
from ganglion.server.cluster.outbox.post import DeliveryLine, DeliveryRefused


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    made = Nursery(tmp_path / "home")
    yield made
    made.close()


def line_of(found: RegisteredCluster, cluster: str) -> DeliveryLine:
    return DeliveryLine(found.url, cluster, found.token.read_text)


def test_a_cluster_is_registered_once_and_its_token_delivers_its_records_alone(
    nursery: Nursery, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Unreachable) as refused:
        registered("east")
    assert "ganglion server" in refused.value.hint
    with pytest.raises(FieldError, match="no name of a cluster"):
        registered("../../east")
    assert not (nursery.home.parent / "east").exists()
    nursery.start()
    until((nursery.home / "server.json").exists)
    found = registered("east")
    assert stat.S_IMODE(found.token.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
    first = found.token.read_text()
    assert registered("east") == found
    assert found.token.read_text() == first
    line = line_of(found, "east")
    assert line.post("s1", turns((begun(1_000), []))) == 1
    line.close()
    with pytest.raises(DeliveryRefused, match="403"):
        line_of(found, "west").post("s1", ())
    with Client(found.url, first) as own, pytest.raises((Forbidden, EnvironmentFault)):
        own.access.grant("user:eve", "admin")
    with Client.from_home() as client:
        (cluster,) = client.daily.clusters()
        assert cluster.name == "east"
        (token,) = [each for each in client.access.tokens() if each.user == "east"]
        client.access.revoke_token(token.id)
    assert registered("east").token.read_text() != first
    assert run(["clusters", "--register", "west"]) == 0
    printed = capsys.readouterr().out.strip()
    DeliveryLine(found.url, "west", lambda: printed).post("s1", ())
    assert run(["clusters", "--register", "We st"]) == 2
    nursery.end(15)
    assert registered("east") == found  # a scheduler goes on without its server


def test_what_is_given_in_part_is_refused() -> None:
    with pytest.raises(InputError, match="--outbox, --deliver-token is missing") as refused:
        _outbox("", "http://127.0.0.1:1", "east", "", "256Mi")
    assert "--deliver-as alone" in refused.value.hint
    with pytest.raises(InputError, match="--deliver-to, --deliver-as, --deliver-token is missing"):
        _outbox("box", "", "", "", "256Mi")
