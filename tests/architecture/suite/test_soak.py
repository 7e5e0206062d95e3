"""A published figure that is no longer true is found by repeating its benchmark."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools import soak

KEPT = {"bench": "x", "policies": {"default": {"jobs": 10, "mean_s": 1000.0, "wall_s": 3.5}}}


def changed(**figures: object) -> dict[str, object]:
    return {"bench": "x", "policies": {"default": KEPT["policies"]["default"] | figures}}  # type: ignore[index]  # a table of tables


@pytest.mark.parametrize(
    ("now", "paths"),
    [
        (changed(), []),
        (changed(wall_s=99.0), []),
        (changed(mean_s=1000.9), []),
        (changed(mean_s=1001.1), ["policies.default.mean_s"]),
        (changed(jobs=11), ["policies.default.jobs"]),
        (changed(jobs=None), ["policies.default.jobs"]),
        (changed(new=1), ["policies.default.new"]),
        ({"bench": "x"}, ["policies"]),
    ],
)
def test_differences_name_the_figures(now: object, paths: list[str]) -> None:
    assert [each.path for each in soak.differences(KEPT, now)] == paths


@pytest.mark.parametrize("name", ["lists", "serve-genai"])
def test_times_of_the_machine_are_not_compared(name: str) -> None:
    kept = json.loads((soak.RESULTS / f"{name}.json").read_text("utf-8"))["data"]
    assert list(soak.differences(kept, _slower(kept))) == []


def _slower(figures: Any, key: str = "") -> Any:
    """The same result from a machine on which all that a clock measures takes twice as long."""
    if isinstance(figures, dict):
        return {name: _slower(each, name) for name, each in figures.items()}
    if isinstance(figures, list):
        return [_slower(each, key) for each in figures]
    clock = ("wall_s", "cpu_s", "cpu_ms", "first_s")
    if key.endswith(clock):
        return figures * 2
    return figures / 2 if key.endswith("per_s") else figures


def test_a_benchmark_is_repeated_as_its_result_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "python -m benchmarks failures --seeds 1 --policy quarantine"
    data = soak.repeated(command, None)
    monkeypatch.setattr(soak, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["soak"])
    (tmp_path / "same.json").write_text(json.dumps({"command": command, "data": data}))
    assert soak.main() == 0
    (tmp_path / "same.json").write_text(json.dumps({"command": command, "data": {"bench": "?"}}))
    assert soak.main() == 1
    assert "bench: ? is failures now" in capsys.readouterr().out
