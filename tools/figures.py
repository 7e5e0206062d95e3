"""Benchmark figures in README.md and docs, written from result files and compared with them.

python -m tools.figures keep NAME FILE --command "python -m benchmarks ..."   keep the JSON of a run
python -m tools.figures                  write every table and every quoted figure anew
python -m tools.figures --check          1 = a figure differs from its result files, or has none

`python -m benchmarks ... --json FILE` writes FILE. `keep` stores it as
docs/benchmarks/results/NAME.json with the command, the commit that it ran on, and the seed. A page
says what a table shows in a comment; the lines between it and `<!-- /figures -->` are generated:

    <!-- figures
    corner: policy
    rows: {Default: jct-muri-1 policies.default, SRSF: jct-muri-1 policies.srsf}
    columns: {mean s: "avg_jct_s ,.0f", of bound: "avg_jct_over_bound .2f"}
    -->

A row is the name of a result file and, after a space, where its figures lie in it. A column is
where a figure lies below that and, after a space, how Python formats it. Without rows, `sources`
lists result files alone.

Figures in sentences, and in tables that have other columns beside, are listed per page in
docs/benchmarks/quotes.yaml: a text with `{}` in the place of every figure, and for each of them a
result file, where the figure lies in it, and its format. `mean:A+B` is the mean over several files,
weighed by the `jobs` beside the figure; `sum:A+B` is their sum. `vcs.*.jobs` is `jobs` of
everything under `vcs`.

Every other row of a table on these pages that has figures fails the check, unless
docs/benchmarks/by_hand.yaml gives the beginning of the row and the reason why no file backs it.
"""

import json
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).resolve().parents[1] / "docs"
QUOTES = "benchmarks/quotes.yaml"
BY_HAND = "benchmarks/by_hand.yaml"
FIGURE = r"(-?[\d,.]*\d)"
BLOCK = re.compile(r"(<!-- figures\n(.*?)-->\n)(.*?)(<!-- /figures -->)", re.DOTALL)
TABLE = re.compile(r"^\|.*\n\|[\s:|-]+\n((?:\|.*\n)+)", re.MULTILINE)
"""A table; the group is its rows without the head."""
NUMBER = r"[~<]?-?\d[\d.,]*(?: ?(?:%|x|[µm]?s|h|d|MiB|GiB))?"
CELL = re.compile(rf"(?<=\|) *\**{NUMBER}(?:(?:, | to ){NUMBER})*\**(?: \([^)]*\))? *(?=\|)")
"""A cell of nothing but figures with their units; what follows in brackets belongs to it."""


def rendered(text: str, results: Path, link: str = "results") -> str:
    """A page with every table as the result files say.

    Args:
        text: the page.
        results: folder of the result files.
        link: the same folder, as seen from the page.

    Raises:
        KeyError, FileNotFoundError: a table names a figure or a file that is not there.
    """
    return BLOCK.sub(lambda m: m[1] + _table(yaml.safe_load(m[2]), results, link) + m[4], text)


def quoted(text: str, quotes: Sequence[dict[str, Any]], results: Path) -> str:
    """A page with every quoted figure as the result files say.

    Raises:
        KeyError, FileNotFoundError: the page lacks a text, or a result file lacks a figure.
    """
    for quote in quotes:
        figures = [_figure(each, results) for each in quote["figures"]]
        found = _place(quote, text)
        for number, figure in reversed(list(enumerate(figures, start=1))):
            text = text[: found.start(number)] + figure + text[found.end(number) :]
    return text


def _place(quote: dict[str, Any], text: str) -> re.Match[str]:
    """Where a quote stands on its page; its groups are the figures."""
    parts = [r"\s+".join(map(re.escape, each.split(" "))) for each in quote["text"].split("{}")]
    if not (found := re.search(FIGURE.join(parts), text)):
        raise KeyError(f"no such text: {quote['text']}")
    return found


def unsourced(text: str, quotes: Sequence[dict[str, Any]]) -> list[str]:
    """Rows of tables with a figure that neither a generated table nor a quote has.

    Args:
        text: the page.
        quotes: those of the page; each stands on it.
    """
    made = [found.span() for found in BLOCK.finditer(text)]
    for quote in quotes:
        found = _place(quote, text)
        made += [found.span(number) for number in range(1, len(quote["figures"]) + 1)]
    return [
        text[start:end]
        for start, end in _rows(text)
        if any(
            not any(left < cell.end() and cell.start() < right for left, right in made)
            for cell in CELL.finditer(text, text.index("|", start + 1), end)
        )
    ]


def _rows(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of every row of a table but its head."""
    for table in TABLE.finditer(text):
        for row in re.finditer(r".+", table[1]):
            yield table.start(1) + row.start(), table.start(1) + row.end()


def _figure(spec: str, results: Path) -> str:
    """One figure, formatted: `FILE PATH FORMAT`, or `mean:A+B PATH FORMAT`, `sum:A+B ...`."""
    names, _, rest = spec.partition(" ")
    path, _, form = rest.rpartition(" ")
    how, _, files = names.rpartition(":")
    data = [_read(name, results)["data"] for name in files.split("+")]
    if ".*." in path:
        above, _, path = path.partition(".*.")
        data = [part for each in data for part in _at(each, above).values()]
    values = [_at(each, path) for each in data]
    if how == "mean":
        weights = [_at(each, f"{path.rpartition('.')[0]}.jobs") for each in data]
        pairs = zip(values, weights, strict=True)
        return format(sum(value * weight for value, weight in pairs) / sum(weights), form)
    return format(sum(values) if how == "sum" else values[0], form)


def _read(name: str, results: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads((results / f"{name}.json").read_text("utf-8"))


def _table(spec: dict[str, Any], results: Path, link: str) -> str:
    if "sources" in spec:
        named = {name: _read(name, results) for name in spec["sources"]}
        return "".join(f"{_source(name, kept, link)}\n" for name, kept in named.items())
    columns = spec["columns"]
    lines = [[spec.get("corner", ""), *columns], ["---"] * (1 + len(columns))]
    sources: dict[str, dict[str, Any]] = {}
    for label, where in spec["rows"].items():
        name, _, below = where.partition(" ")
        kept = sources.setdefault(name, _read(name, results))
        found = _at(kept["data"], below)
        lines.append([str(label), *(_cell(found, column) for column in columns.values())])
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    said = [_source(name, kept, link) for name, kept in sources.items()]
    return f"{table}\n\n{chr(10).join(said)}\n"


def _cell(found: Any, column: str) -> str:  # noqa: ANN401 - JSON
    path, _, form = column.partition(" ")
    return format(_at(found, path), form)


def _at(data: Any, path: str) -> Any:  # noqa: ANN401 - JSON
    keys = path.split(".") if path else []
    while keys:
        if isinstance(data, list):
            data, keys = data[int(keys[0])], keys[1:]
            continue
        # A name may have a dot in it: the longest that is known counts (`sqrt-1.5`, not `sqrt-1`).
        names = {count: ".".join(keys[:count]) for count in range(1, len(keys) + 1)}
        count = max((n for n, name in names.items() if name in data), default=1)
        data, keys = data[names[count]], keys[count:]
    return data


def _source(name: str, kept: dict[str, Any], link: str) -> str:
    seed = "" if kept["seed"] is None else f", seed {kept['seed']}"
    return f"- [{name}]({link}/{name}.json): `{kept['command']}`, commit {kept['commit']}{seed}"


def keep(name: str, data: Any, command: str, seed: int | None, results: Path) -> Path:  # noqa: ANN401
    """Store the outcome of a benchmark with what it takes to repeat it."""
    git = ("git", "-C", str(DOCS), "rev-parse", "--short", "HEAD")
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    found = {"command": command, "commit": commit, "seed": seed, "data": data}
    path = results / f"{name}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return path


def outdated(docs: Path = DOCS) -> dict[Path, str]:
    """Pages whose figures differ from the result files, in order of name, and their right text."""
    results, root, quotes = docs / "benchmarks" / "results", docs.parent, _listed(docs / QUOTES)
    found = {}
    for page in (*sorted(root.glob("*.md")), *sorted(docs.rglob("*.md"))):
        text = page.read_text("utf-8")
        right = rendered(text, results, relpath(results, page.parent))
        right = quoted(right, quotes.pop(str(page.relative_to(root)), ()), results)
        if right != text:
            found[page] = right
    if quotes:
        raise FileNotFoundError(f"{QUOTES} names pages that are not there: {', '.join(quotes)}")
    return found


def by_hand(docs: Path = DOCS) -> list[str]:
    """What is wrong with the tables on pages of benchmarks that are written by hand.

    A row with figures that no result file backs and that is not listed; a listed one that is no
    longer such a row.
    """
    listed, quotes = _listed(docs / BY_HAND), _listed(docs / QUOTES)
    pages = (docs.parent / "README.md", docs / "benchmarks.md", *docs.glob("benchmarks/*.md"))
    wrong = []
    for page in sorted(path for path in pages if path.exists()):
        name = str(page.relative_to(docs.parent))
        found = unsourced(page.read_text("utf-8"), quotes.get(name, ()))
        starts = [start for each in listed.pop(name, ()) for start in each["rows"]]
        wrong += [f"{name}: no file backs {row}" for row in found if not _begins(row, starts)]
        wrong += [
            f"{name}: {BY_HAND} needs no {start}" for start in starts if not _has(found, start)
        ]
    return [*wrong, *(f"{BY_HAND}: there is no page {name}" for name in listed)]


def _begins(row: str, starts: Sequence[str]) -> bool:
    return any(row.startswith(start) for start in starts)


def _has(rows: Sequence[str], start: str) -> bool:
    return any(row.startswith(start) for row in rows)


def _listed(path: Path) -> dict[str, list[dict[str, Any]]]:
    """What a list of docs says by page; nothing where there is no list."""
    return (yaml.safe_load(path.read_text("utf-8")) or {}) if path.exists() else {}


def stale(docs: Path = DOCS) -> list[str]:
    """Names of the pages whose figures differ from the result files, in order."""
    return [str(page.relative_to(docs.parent)) for page in outdated(docs)]


def main() -> int:
    """Run the tool."""
    parser = ArgumentParser(prog="python -m tools.figures")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("keep", nargs="*", metavar="keep NAME FILE")
    parser.add_argument("--command", default="")
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    results = DOCS / "benchmarks" / "results"
    if given.keep:
        _, name, file = given.keep
        data = json.loads(Path(file).read_text("utf-8"))
        print(keep(name, data, given.command, given.seed, results))
        return 0
    found = outdated()
    for page, text in found.items():
        if not given.check:
            page.write_text(text, "utf-8")
        print(f"{page.relative_to(DOCS.parent)}: {'out of date' if given.check else 'written'}")
    for each in (wrong := by_hand()):
        print(each)
    return 1 if wrong or (given.check and found) else 0


if __name__ == "__main__":
    sys.exit(main())
