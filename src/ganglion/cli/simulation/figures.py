"""What commands that measure have in common: a file of figures."""

from pathlib import Path

from ganglion.cli.output.screen import note
from ganglion.model.errors import EnvironmentFault


def check_target(target: Path | None) -> None:
    """Fail before minutes of work rather than after them. Raises EnvironmentFault."""
    if target and not target.absolute().parent.is_dir():
        raise EnvironmentFault(f"cannot write {target}: no folder {target.parent}")


def write_figures(target: Path, data: object) -> None:
    """Write plain data as JSON, and say so on stderr. Raises EnvironmentFault."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(data), indent=2)
    try:
        target.write_bytes(text + b"\n")
    except OSError as error:
        raise EnvironmentFault(f"cannot write {target}: {error.strerror}") from error
    note(f"figures written to {target}")
