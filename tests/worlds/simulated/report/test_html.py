"""The HTML page and the figures in it."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec import structs
from tests.worlds.simulated.samples import job, scenario

from ganglion.worlds.simulated.faults.rates import PRESETS
from ganglion.worlds.simulated.report.html import render_html
from ganglion.worlds.simulated.report.summary import Summary, as_json, summarise
from ganglion.worlds.simulated.run import simulate
from ganglion.worlds.simulated.setup.options import RunOptions, scenario_of

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def summary() -> Summary:
    return drawn(seed=1)


def drawn(seed: int) -> Summary:
    return summarise(simulate(scenario_of(RunOptions(synthetic=120, seed=seed, faults="heavy"))))


def tree(page: str) -> ElementTree.Element:
    doctype, _, rest = page.partition("\n")
    assert doctype == "<!doctype html>"
    return ElementTree.fromstring(rest)


def test_equal_runs_give_equal_bytes(summary: Summary) -> None:
    again = drawn(seed=1)
    assert render_html(again) == render_html(summary)
    assert json.dumps(as_json(again)) == json.dumps(as_json(summary))
    assert render_html(drawn(seed=2)) != render_html(summary)


def test_the_page_is_well_formed_and_needs_nothing_from_outside(summary: Summary) -> None:
    page = render_html(summary)
    names = {element.tag for element in tree(page).iter()}
    assert not names & {"script", "link", "img", "iframe", "object"}
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"url\(|@import|src=|href=", page)


def test_every_plot_has_axes_units_and_something_to_point_at(summary: Summary) -> None:
    plots = list(tree(render_html(summary)).iter(f"{SVG}svg"))
    assert len(plots) == 5
    for plot in plots:
        labels = [text.text for text in plot.iter(f"{SVG}text") if text.get("class") == "label"]
        assert len(labels) == 2
        assert all(labels)
        assert len([t for t in plot.iter(f"{SVG}text") if t.get("class") == "number"]) >= 4
        assert 1 <= len(list(plot.iter(f"{SVG}title"))) <= 400


def test_everything_drawn_lies_on_the_page(summary: Summary) -> None:
    for path in tree(render_html(summary)).iter(f"{SVG}path"):
        if "line" in (path.get("class") or ""):
            points = re.findall(r"(-?[\d.]+),(-?[\d.]+)", path.get("d") or "")
            assert points
            assert all(0 <= float(x) <= 860 and 0 <= float(y) <= 260 for x, y in points)


def test_names_from_a_trace_cannot_break_the_page() -> None:
    evil = '<script>alert("&")</script>'
    run = simulate(
        structs.replace(scenario(job("a", gpus=8), job("b", gpus=8, pods=9)), title=evil)
    )
    page = render_html(structs.replace(summarise(run), notes=(evil,)))
    assert "<script" not in page
    heading = tree(page).find("body/h1")
    assert heading is not None
    assert heading.text == evil
    assert "b/0" in page


def test_a_run_without_any_load_still_has_a_page() -> None:
    page = render_html(summarise(simulate(scenario(job("a", gpus=8, pods=9)))))
    assert "nan" not in page
    tree(page)


def test_a_cluster_without_gpus_is_measured_in_cores(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("1 0 0 100 6 -1 -1 6 200 -1 1 7 1 -1 -1 1 -1 -1\n")
    options = RunOptions(trace=path, nodes=2, cpus_per_node=4)
    summary = summarise(simulate(scenario_of(options), check=True))
    assert summary.unit == "CPU core"
    assert summary.allocation.mean_pct == 75.0
    assert "CPU cores in use" in render_html(summary)


def test_figures_agree_with_each_other(summary: Summary) -> None:
    data = as_json(summary)
    jobs = data["jobs"]
    assert sum(count for fate, count in jobs.items() if fate != "total") == jobs["total"] == 120
    assert sum(queue["jobs"] for queue in data["queues"]) == 120
    assert sum(queue["share_pct"] for queue in data["queues"]) == pytest.approx(100, abs=0.01)
    series = data["series"]
    lengths = {len(values) for values in series.values() if isinstance(values, list)}
    lengths |= {len(values) for values in series["queues"].values()}
    assert len(lengths) == 1
    assert lengths.pop() <= 512
    stacked = [sum(parts) for parts in zip(*series["queues"].values(), strict=True)]
    assert stacked == pytest.approx(series["used"], abs=1e-3)
    assert data["wait_cdf"][-1] == [data["wait_s"]["max"], 1.0]


def test_json_keys_are_documented() -> None:
    text = (Path(__file__).parents[4] / "docs" / "simulator.md").read_text()
    data = as_json(drawn(seed=1))
    for key in data:
        assert f"`{key}`" in text, key
    assert set(PRESETS) <= set(re.findall(r"`(\w+)`", text))
