"""A settings file says where levels are read from and how long things take, or what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.config.settings import KEYS, load_settings, parse_settings

WHOLE = """\
topology:
  levels:
    example.com/row: block
    example.com/hall: zone
  ignore: [region]
  relative: [rack]
timers:
  provision: 20m
  reach: 5s
devices:
  agent: true
"""


def test_everything_that_is_said_counts_and_the_rest_is_as_usual() -> None:
    usual = Settings(default_queue="mine", retell_ms=7)
    found = parse_settings(WHOLE, usual=usual)
    assert found.sources.keys == {"example.com/row": Level.BLOCK, "example.com/hall": Level.ZONE}
    assert found.sources.ignored == {Level.REGION}
    assert found.sources.relative == {Level.RACK}
    assert (found.provision_ms, found.reach_ms) == (1_200_000, 5_000)
    assert found.device_agent
    assert (found.default_queue, found.retell_ms) == ("mine", 7)


@pytest.mark.parametrize("text", ["{}", "topology: {}\ntimers: {}\ndevices: {}\n"])
def test_a_file_that_says_nothing_changes_nothing(text: str) -> None:
    assert parse_settings(text) == Settings()


def test_every_timer_is_a_setting() -> None:
    for key in KEYS["timers"]:
        found = parse_settings(f"timers:\n  {key}: 123s\n")
        assert getattr(found, f"{key}_ms") == 123_000


@pytest.mark.parametrize(
    ("text", "key", "line", "said"),
    [
        ("topology:\n  level: {}\n", "topology.level", 2, "levels"),
        ("timer:\n  reach: 5s\n", "timer", 1, "timers"),
        ("timers:\n  provison: 5s\n", "timers.provison", 2, "provision"),
        ("timers:\n  reach: soon\n", "timers.reach", 2, "duration"),
        ("topology:\n  levels:\n    a: rack\n    b: rak\n", "topology.levels.b", 4, "rak"),
        ("topology:\n  levels: {a: node}\n", "topology.levels.a", 2, "no level above nodes"),
        ("topology:\n  ignore: [gpu]\n", "topology.ignore", 2, "no topology level `gpu`"),
        ("reach: 5s\n", "reach", 1, "belongs under `timers`"),
        ("devices:\n  agent: perhaps\n", "devices.agent", 2, "true"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, key: str, line: int, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        parse_settings(text, "ganglion.yaml")
    error = caught.value
    assert (error.file, error.key, error.line) == ("ganglion.yaml", key, line)
    assert said in f"{error.problem} {error.hint}"


def test_two_documents_are_one_too_many() -> None:
    with pytest.raises(FieldError, match="one document"):
        parse_settings("timers: {}\n---\ntimers: {}\n")


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("timers: {reach: 1m}\n")
    assert load_settings(tmp_path / "s.yaml").reach_ms == 60_000


def test_the_command_says_what_is_wrong_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("timers: {provison: 1m}\n")
    command = [sys.executable, "-m", "ganglion", "scheduler", "--settings", str(file)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode
    assert "timers.provison" in found.stderr
    assert "provision" in found.stderr


def test_the_page_shows_every_timer_as_it_is() -> None:
    page = (Path(__file__).parents[4] / "docs" / "install.md").read_text("utf-8")
    example = page.split("### The settings file")[1].split("```yaml\n")[1].split("```")[0]
    found = parse_settings(example)
    assert replace(found, sources=Settings().sources) == Settings()
    assert all(f"  {key}: " in example for key in KEYS["timers"])
