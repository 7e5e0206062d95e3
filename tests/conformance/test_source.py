"""Files of scenarios are read, and every mistake is named with its line."""

import gzip
import json
from pathlib import Path

import pytest

from conformance.formats import FORMATS
from ganglion.model.errors import FieldError, FileError
from ganglion.scenarios.source import load_scenarios
from tests.conformance.files import DATA, differences

ONE = """\
scenarios:
  - id: one
    tier: policy
    nodes: [{name: a, gpus: 1}]
    queues: [{name: q, gpu: {quota: 1}}]
    jobs:
      - {name: j, queue: q, gpus_per_task: 1, tasks: [{}]}
    expect: {jobs: {j: {status: running}}}
"""


def written(tmp_path: Path, text: str, name: str = "some.yaml") -> Path:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return file


def test_scenarios_know_whose_words_they_use(tmp_path: Path) -> None:
    (one,) = load_scenarios(written(tmp_path, ONE), FORMATS)
    assert (one.id, one.form.name, one.tier, one.section) == ("one", "kai", "policy", "scenarios")


def test_gzipped_json_is_read_like_yaml(tmp_path: Path) -> None:
    file = tmp_path / "some.json.gz"
    item = {
        "id": "g",
        "nodes": [{"name": "a", "gpus": 1}],
        "queues": [{"name": "q", "gpu": {"quota": 1}}],
        "jobs": [{"name": "j", "queue": "q", "gpus_per_task": 1, "tasks": [{"state": "pending"}]}],
        "kai": {"end_gpus": 1},
    }
    file.write_bytes(gzip.compress(json.dumps([item]).encode()))
    assert [each.id for each in load_scenarios(file, FORMATS)] == ["g"]
    assert differences(file, "default") == {}


@pytest.mark.parametrize(
    ("old", "new", "said", "hint"),
    [
        ("gpus: 1}]", "gpu: 1}]", "some.yaml:4:scenarios[0].nodes[0].gpu: there is no key", "gpus"),
        ("gpus: 1}]", "gpus: many}]", "some.yaml:4:scenarios[0].nodes[0].gpus: ", ""),
        (
            "queue: q,",
            "queue: p,",
            "some.yaml:7:scenarios[0].jobs[0].queue: there is no queue p",
            "",
        ),
        ("status: running", "status: runing", "some.yaml:8:scenarios[0].expect.jobs", ""),
        ("jobs: {j:", "jobs: {jj:", "there is no job jj", "did you mean `j`"),
        ("tasks: [{}]", "tasks: [{state: running}]", "needs a node", "node"),
        ("tasks: [{}]", "tasks: [{subgroup: s}]", "there is no subgroup s", ""),
        ("name: a, gpus: 1}", "name: a}, {name: a}", "a second one of the nodes is called a", ""),
    ],
)
def test_a_mistake_fails_its_scenario_with_the_place(
    old: str, new: str, said: str, hint: str, tmp_path: Path
) -> None:
    assert old in ONE
    text = ONE + ONE.partition("\n")[2].replace("id: one", "id: two")
    (name, difference), *rest = differences(
        written(tmp_path, text.replace(old, new, 1)), "kai"
    ).items()
    assert (name, rest) == ("one", [])
    assert said in difference
    assert hint in difference


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scenarios: []\n", "holds no scenarios"),
        ("a: 1\n", "holds no scenarios"),
        (ONE + "---\n" + ONE, "holds one document"),
        (ONE + ONE.partition("\n")[2], "some.yaml:9:scenarios[1].id: a second scenario"),
        (ONE.replace("id: one", "name: one"), "some.yaml:2:scenarios[0]: the scenario has no id"),
        ('[{"jobs": [}', "this is not JSON"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FieldError) as caught:
        load_scenarios(written(tmp_path, text), FORMATS)
    assert said in str(caught.value)


def test_a_broken_gzip_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json.gz"
    file.write_bytes(b"\x1f\x8b" + b"nothing of the sort")
    with pytest.raises(FileError, match=r"x\.json\.gz is no gzip file"):
        load_scenarios(file, FORMATS)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(FileError, match="there is no file"):
        load_scenarios(DATA / "nowhere.yaml", FORMATS)
