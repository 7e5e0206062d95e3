"""`ganglion apply` and `ganglion export`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, output
from ganglion.cli.output.formats import now_ms, plural
from ganglion.cli.output.screen import bar, is_coloured, note
from ganglion.cli.output.tables import print_data
from ganglion.model.errors import FileError, Forbidden, GanglionError, StateError

if TYPE_CHECKING:
    from ganglion.client.desired.carrying import FleetOutcome
    from ganglion.specs.desired.plan import FleetStep

SIGNS = {
    "create": ("+", "green"),
    "change": ("~", "yellow"),
    "delete": ("-", "red"),
    "keep": ("=", "cyan"),
    "refuse": ("!", "red"),
}
DIFFERS, FAILED = 1, 2
"""Exit codes of `--plan`, as of `kubectl diff`: with 1 a pipeline sees drift."""
DONE = {"create": "created", "change": "changed", "delete": "deleted"}
ENDINGS = (".yaml", ".yml", ".json")


@command(
    "apply",
    "apply -f org/ --plan",
    "apply -f org/",
    "apply -f org/ --prune",
)
@click.option(
    "-f",
    "--file",
    "sources",
    metavar="PATH",
    multiple=True,
    required=True,
    help="A file, or a folder with all YAML and JSON files below it; several times for more.",
)
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Show what differs and change nothing; exit with 1 if something does.",
)
@click.option(
    "--prune",
    is_flag=True,
    help="Delete what no file names, of sorts that some file lists, where nothing runs or waits.",
)
@output("text", "json")
def apply(sources: Sequence[str], only_plan: bool, prune: bool, form: str) -> int:
    """Make policy, queues, prices, budgets and roles what files say.

    Each object is written by a request of its own, by your own roles. One that is refused stops
    no other; the exit code is then 1. Files that are wrong change nothing at all. Of sorts that
    no file lists nothing is changed. `ganglion export` writes such files.

    --plan exits with 0 when nothing would be written, with 1 when something would, and with more
    when that is not known: a file is wrong, or the server does not answer.
    """
    try:
        return _applied(sources, form, only_plan=only_plan, prune=prune)
    except GanglionError as error:
        if only_plan:
            error.exit_code = max(error.exit_code, FAILED)
        raise


def _applied(sources: Sequence[str], form: str, *, only_plan: bool, prune: bool) -> int:
    from ganglion.client.desired.carrying import carry_out
    from ganglion.client.desired.present import present
    from ganglion.client.home import Unreachable
    from ganglion.specs.desired.files import read_files
    from ganglion.specs.desired.objects import desired
    from ganglion.specs.desired.plan import plan

    files = read_files(paths_of(sources))
    try:
        with connect() as client:
            found = present(client, now_ms())
            steps = plan(desired(files, found), found, prune=prune)
            done = [] if only_plan else _followed(steps, carry_out(client, steps, found))
    except Unreachable:
        files.settle()
        raise
    if form == "json":
        print_data(_data(steps, done), form)
    else:
        _print(steps, done)
    failed = sum(each.error is not None for each in done)
    failed += sum(step.action == "refuse" for step in steps)
    if failed:
        raise StateError(f"{plural(failed, 'object')} could not be applied")
    return DIFFERS if only_plan and any(step.action in DONE for step in steps) else 0


def _followed(
    steps: "Sequence[FleetStep]", outcomes: "Iterable[FleetOutcome]"
) -> "list[FleetOutcome]":
    """Collect what comes of the steps, and show how far that is."""
    found: list[FleetOutcome] = []
    total = sum(step.action in DONE for step in steps)
    with bar() as show:
        for each in outcomes:
            found.append(each)
            show(len(found), total, _title(each.step))
    return found


@command("export", "export org/")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def export(folder: Path) -> None:
    """Write policy, queues, prices, budgets and roles as files into a folder.

    The same fleet gives the same bytes. `ganglion apply -f DIR` finds nothing that differs.
    """
    from ganglion.client.desired.present import present
    from ganglion.specs.desired.export import export as files_of

    with connect() as client:
        found = present(client, now_ms())
    folder.mkdir(parents=True, exist_ok=True)
    texts = files_of(found)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        click.echo(folder / name)
    for path in paths_of([str(folder)]) if texts else []:
        if path not in {folder / name for name in texts}:
            note(f"{path} was there before, and is read by `ganglion apply -f {folder}` too")
    for kind, why in found.hidden.items():
        note(f"{kind}: {why}")
    if found.hidden:
        raise Forbidden(f"what you may not see is left out: {', '.join(found.hidden)}")


def paths_of(sources: Sequence[str]) -> list[Path]:
    """Files to read: those named, and every YAML or JSON file below folders, by name.

    Raises:
        FileError: a folder has none.
    """
    found: list[Path] = []
    for source in sources:
        path = Path(source)
        if not path.is_dir():
            found.append(path)
            continue
        inside = [each for each in sorted(path.rglob("*")) if _read(each.relative_to(path))]
        if not inside:
            hint = "ganglion export writes some"
            raise FileError(f"{source} has no files that end in {', '.join(ENDINGS)}", hint)
        found += inside
    return list(dict.fromkeys(found))


def _read(path: Path) -> bool:
    return path.suffix in ENDINGS and not any(part.startswith(".") for part in path.parts)


def _title(step: "FleetStep") -> str:
    return f"{step.item.kind} {step.item.name}".strip()


def _print(steps: "Sequence[FleetStep]", done: "Sequence[FleetOutcome]") -> None:
    for step in steps:
        sign, colour = SIGNS[step.action]
        line = f"{sign} {_title(step)}" + (f"  {step.why}" if step.why else "")
        click.echo(click.style(line, fg=colour), color=is_coloured())
        if step.action in ("create", "change"):
            for each in step.changes:
                was = "" if each.before is None else f"{each.before or '(set)'} -> "
                click.echo(f"    {each.key}: {was}{'(none)' if each.after is None else each.after}")
    for outcome in done:
        if outcome.error:
            item = outcome.step.item
            place = f" ({item.file}:{item.line})" if item.file else ""
            hint = f" ({outcome.error.hint})" if outcome.error.hint else ""
            note(f"{_title(outcome.step)}{place}: {outcome.error.message}{hint}")
    writes = [step for step in steps if step.action in DONE]
    if not writes:
        click.echo("nothing to change")
    elif done:
        made = [each.step for each in done if not each.error]
        failed = len(done) - len(made)
        click.echo(_counts(made, DONE) + (f", {failed} failed" if failed else ""))
    else:
        click.echo(f"{_counts(writes, {key: f'to {key}' for key in DONE})}; nothing was changed")


def _counts(steps: "Sequence[FleetStep]", words: dict[str, str]) -> str:
    counts = {word: sum(step.action == key for step in steps) for key, word in words.items()}
    found = [f"{count} {word}" for word, count in counts.items() if count]
    return ", ".join(found) or plural(0, "object")


def _data(steps: "Sequence[FleetStep]", done: "Sequence[FleetOutcome]") -> dict[str, Any]:
    errors = {each.step.item.key: each.error for each in done}
    items = []
    for step in steps:
        error = errors.get(step.item.key)
        items.append(
            {
                "kind": str(step.item.kind),
                "name": step.item.name,
                "action": str(step.action),
                "why": step.why,
                "file": step.item.file,
                "line": step.item.line,
                "changes": [
                    {"key": each.key, "before": each.before, "after": each.after}
                    for each in step.changes
                ],
                "applied": step.item.key in errors and error is None,
                "error": error
                and {"code": error.code, "message": error.message, "hint": error.hint},
            }
        )
    return {"items": items}
