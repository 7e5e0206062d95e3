"""Tables of benchmark figures in docs, written from result files and compared with them.

python -m tools.figures keep NAME FILE --command "ganglion bench ..."   keep the JSON of a run
python -m tools.figures                  write every table of docs anew
python -m tools.figures --check          1 = a table differs from its result files

`ganglion bench ... --json FILE` writes FILE. `keep` stores it as docs/benchmarks/results/NAME.json
with the command, the commit that it ran on, and the seed. A page says what a table shows in a
comment; the lines between it and `<!-- /figures -->` are generated:

    <!-- figures
    corner: policy
    rows: {Default: jct-muri-1 policies.default, SRSF: jct-muri-1 policies.srsf}
    columns: {mean s: "avg_jct_s ,.0f", of bound: "avg_jct_over_bound .2f"}
    -->

A row is the name of a result file and, after a space, where its figures lie in it. A column is
where a figure lies below that and, after a space, how Python formats it.
"""

import json
import re
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"(<!-- figures\n(.*?)-->\n)(.*?)(<!-- /figures -->)", re.DOTALL)


def rendered(text: str, results: Path) -> str:
    """A page with every table as the result files say.

    Raises:
        KeyError, FileNotFoundError: a table names a figure or a file that is not there.
    """
    return BLOCK.sub(lambda m: m[1] + _table(yaml.safe_load(m[2]), results) + m[4], text)


def _table(spec: dict[str, Any], results: Path) -> str:
    columns = spec["columns"]
    lines = [[spec.get("corner", ""), *columns], ["---"] * (1 + len(columns))]
    sources: dict[str, dict[str, Any]] = {}
    for label, where in spec["rows"].items():
        name, _, below = where.partition(" ")
        kept = sources.setdefault(name, json.loads((results / f"{name}.json").read_text("utf-8")))
        found = _at(kept["data"], below)
        lines.append([str(label), *(_cell(found, column) for column in columns.values())])
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    said = [_source(name, kept) for name, kept in sources.items()]
    return f"{table}\n\n{chr(10).join(said)}\n"


def _cell(found: Any, column: str) -> str:  # noqa: ANN401 - JSON
    path, _, form = column.partition(" ")
    return format(_at(found, path), form)


def _at(data: Any, path: str) -> Any:  # noqa: ANN401 - JSON
    keys = path.split(".") if path else []
    while keys:
        # A name may have a dot in it: the longest that is known counts (`sqrt-1.5`, not `sqrt-1`).
        names = {count: ".".join(keys[:count]) for count in range(1, len(keys) + 1)}
        count = max((n for n, name in names.items() if name in data), default=1)
        data, keys = data[names[count]], keys[count:]
    return data


def _source(name: str, kept: dict[str, Any]) -> str:
    seed = "" if kept["seed"] is None else f", seed {kept['seed']}"
    return f"- [{name}](results/{name}.json): `{kept['command']}`, commit {kept['commit']}{seed}"


def keep(name: str, data: Any, command: str, seed: int | None, results: Path) -> Path:  # noqa: ANN401
    """Store the outcome of a benchmark with what it takes to repeat it."""
    git = ("git", "-C", str(DOCS), "rev-parse", "--short", "HEAD")
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    found = {"command": command, "commit": commit, "seed": seed, "data": data}
    path = results / f"{name}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return path


def stale(docs: Path = DOCS) -> list[str]:
    """Pages whose tables differ from the result files, in order of name."""
    results = docs / "benchmarks" / "results"
    texts = {page: page.read_text("utf-8") for page in sorted(docs.rglob("*.md"))}
    return [
        str(page.relative_to(docs))
        for page, text in texts.items()
        if rendered(text, results) != text
    ]


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
    outdated = stale()
    for name in () if given.check else outdated:
        page = DOCS / name
        page.write_text(rendered(page.read_text("utf-8"), results), "utf-8")
    for name in outdated:
        print(f"{name}: {'out of date' if given.check else 'written'}")
    return 1 if given.check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
