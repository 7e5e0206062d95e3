"""Tables of figures in docs are those of the result files, with command and commit."""

import json
from pathlib import Path

import pytest
import yaml
from tools.figures import BY_HAND, DOCS, by_hand, quoted, rendered, stale, unsourced

PAGE = """# Page

<!-- figures
corner: policy
rows: {Default: runs policies.default}
columns: {mean s: "avg_jct_s ,.0f"}
-->
| old | table |
<!-- /figures -->

After.
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    data = {"policies": {"default": {"avg_jct_s": 12_345.6}}}
    kept = {"command": "python -m benchmarks x", "commit": "abc1234", "seed": 7, "data": data}
    (tmp_path / "runs.json").write_text(json.dumps(kept))
    return tmp_path


def test_every_table_of_docs_is_what_its_result_files_say() -> None:
    assert stale() == [], "run: python -m tools.figures"


def test_every_row_of_figures_has_a_result_file_or_is_listed_with_its_reason() -> None:
    assert by_hand() == []
    listed = yaml.safe_load((DOCS / BY_HAND).read_text("utf-8"))
    assert all(each["why"] and each["rows"] for entries in listed.values() for each in entries)


def test_every_result_file_says_how_it_came_about() -> None:
    for path in sorted((DOCS / "benchmarks" / "results").glob("*.json")):
        kept = json.loads(path.read_text("utf-8"))
        programs = ("python -m benchmarks ", "python -m tests.soak ")
        assert kept["command"].startswith(programs), path.name
        assert kept["commit"], path.name


def test_a_table_is_written_from_its_file_and_the_rest_of_the_page_stays(results: Path) -> None:
    text = rendered(PAGE, results)
    assert "| Default | 12,346 |" in text
    assert "`python -m benchmarks x`, commit abc1234, seed 7" in text
    assert "old" not in text
    assert text.endswith("<!-- /figures -->\n\nAfter.\n")
    assert rendered(text, results) == text


def test_a_changed_figure_is_found(tmp_path: Path, results: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "benchmarks" / "results").mkdir(parents=True)
    kept = (results / "runs.json").read_text()
    (docs / "benchmarks" / "results" / "runs.json").write_text(kept)
    page = docs / "page.md"
    page.write_text(rendered(PAGE, results, "benchmarks/results"))
    assert stale(docs) == []
    page.write_text(page.read_text().replace("12,346", "12,345"))
    assert stale(docs) == ["docs/page.md"]


def test_a_quoted_figure_is_written_from_its_files_whatever_it_was(results: Path) -> None:
    other = json.loads((results / "runs.json").read_text())
    kept = {"avg_jct_s": 30_000.0, "jobs": 3}
    first = {"avg_jct_s": 10_000.0, "jobs": 1}
    other["data"] = {"policies": {"default": kept}}
    (results / "more.json").write_text(json.dumps(other))
    (results / "runs.json").write_text(
        json.dumps(other | {"data": {"policies": {"default": first}}})
    )
    quotes = [
        {
            "text": "mean {} s of {} jobs, {} s at first",
            "figures": [
                "mean:runs+more policies.default.avg_jct_s ,.0f",
                "sum:runs+more policies.default.jobs ,",
                "runs policies.default.avg_jct_s ,.1f",
            ],
        }
    ]
    text = "It has a mean 1 s\nof 2 jobs, 3.5 s at first, and 1 s elsewhere."
    right = "It has a mean 25,000 s\nof 4 jobs, 10,000.0 s at first, and 1 s elsewhere."

    assert quoted(text, quotes, results) == right
    assert quoted(right, quotes, results) == right
    with pytest.raises(KeyError, match="no such text"):
        quoted("Something else.", quotes, results)


def test_a_quote_that_is_no_longer_true_is_found(tmp_path: Path, results: Path) -> None:
    folder = tmp_path / "docs" / "benchmarks"
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "runs.json").write_text((results / "runs.json").read_text())
    quote = {"text": "{} s", "figures": ["runs policies.default.avg_jct_s ,.0f"]}
    (folder / "quotes.yaml").write_text(json.dumps({"README.md": [quote]}))
    page = tmp_path / "README.md"
    page.write_text("It takes 12,346 s.")
    assert stale(tmp_path / "docs") == []
    page.write_text("It takes 12,340 s.")
    assert stale(tmp_path / "docs") == ["README.md"]
    page.unlink()
    with pytest.raises(FileNotFoundError, match=r"README\.md"):
        stale(tmp_path / "docs")


def test_a_figure_that_is_not_there_is_an_error(results: Path) -> None:
    with pytest.raises(KeyError, match="fifo"):
        rendered(PAGE.replace("policies.default", "policies.fifo"), results)


BY_HAND_PAGE = """# Page

| policy | 50 |
|---|---|
| quoted | 12,346 |
| typed | 1.5 |
| words | 3 of them |
| partly quoted | 12,346 | **7 ms, 8.1 ms** |
| by hand | 4 to 5 % (6) |

<!-- figures
corner: policy
rows: {}
columns: {}
-->
| policy | mean |
| --- | --- |
| made | 3 |
<!-- /figures -->
"""
QUOTES = [
    {"text": "| quoted | {} |", "figures": ["runs policies.default.avg_jct_s ,.0f"]},
    {"text": "| partly quoted | {} |", "figures": ["runs policies.default.avg_jct_s ,.0f"]},
]


def test_a_figure_in_a_table_that_no_file_backs_is_found() -> None:
    found = unsourced(BY_HAND_PAGE, QUOTES)
    assert [row.split(" |")[0] for row in found] == ["| typed", "| partly quoted", "| by hand"]


def test_rows_are_listed_by_page_and_the_list_has_no_others(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "benchmarks").mkdir(parents=True)
    page, listed = docs / "benchmarks" / "page.md", docs / BY_HAND
    page.write_text(BY_HAND_PAGE)
    (docs / "benchmarks" / "quotes.yaml").write_text(
        json.dumps({"docs/benchmarks/page.md": QUOTES})
    )

    def with_list(*rows: str) -> list[str]:
        listed.write_text(json.dumps({"docs/benchmarks/page.md": [{"why": "w", "rows": rows}]}))
        return by_hand(docs)

    assert len(by_hand(docs)) == 3
    assert with_list("| typed", "| partly", "| by hand") == []
    assert with_list("| typed", "| partly") == [
        "docs/benchmarks/page.md: no file backs | by hand | 4 to 5 % (6) |"
    ]
    (surplus,) = with_list("| typed", "| partly", "| by hand", "| quoted")
    assert surplus.endswith("needs no | quoted")
    page.unlink()
    assert with_list("| typed") == [f"{BY_HAND}: there is no page docs/benchmarks/page.md"]
