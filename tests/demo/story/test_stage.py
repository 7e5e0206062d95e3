"""The stage is there when the story begins and gone when it ends."""

from pathlib import Path

import pytest

from ganglion.client import Client
from ganglion.demo.story import stage as module
from ganglion.demo.story.stage import stage
from ganglion.model.errors import EnvironmentFault, GanglionError


@pytest.fixture(autouse=True)
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_server_that_does_not_start_says_why_and_leaves_nothing(
    temp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CLUSTER", ("--nodes", "0"))
    with pytest.raises(EnvironmentFault, match="0 nodes"), stage(keep=False):
        pass
    assert list(temp.iterdir()) == []


def test_the_stage_has_four_nodes_in_two_racks_and_is_gone_afterwards(temp: Path) -> None:
    with stage(keep=False) as here:
        nodes = here.client.nodes()
        assert [node.gpu_total_milli for node in nodes] == [8_000] * 4
        assert len({node.domains["rack"] for node in nodes}) == 2
        url = here.client.url
    with Client(url) as late:
        assert not late.healthy()
    assert list(temp.iterdir()) == []


def test_a_failing_story_takes_the_stage_with_it(temp: Path) -> None:
    with pytest.raises(GanglionError, match="no applause"), stage(keep=True):
        raise GanglionError("no applause")
    assert list(temp.iterdir()) == []
