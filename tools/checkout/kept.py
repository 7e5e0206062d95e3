"""Folders that take long to make, kept in `~/.cache/ganglion` for every checkout of this user.

    python -m tools.checkout.kept NAME FOLDER COMMAND...

puts what was kept of a name into a folder that is not there, runs a command, and keeps the folder
as it is after that, if it has changed. What is kept is a copy: the command may write to the folder.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

CACHE = Path.home() / ".cache" / "ganglion"
MOST = 9
"""How many versions of one kind are kept."""


def take(name: str, folder: Path, copy: Callable[[str, str], object] = shutil.copy2) -> bool:
    """Make a folder of what was kept; false = nothing was, or the folder is there.

    Args:
        name: of what is kept.
        folder: where it goes.
        copy: copies one file; `os.link` is for files that are never written to.
    """
    kept = CACHE / name
    if folder.exists() or not kept.is_dir():
        return False
    part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    try:
        shutil.copytree(kept, part, symlinks=True, copy_function=copy)
    except (OSError, shutil.Error):
        # Another process has replaced it, or it is on another disk.
        shutil.rmtree(part, ignore_errors=True)
        return False
    part.rename(folder)
    with suppress(OSError):
        os.utime(kept)
    return True


def keep(name: str, folder: Path) -> None:
    """Keep a folder, if there is room, in place of what was kept of this name."""
    CACHE.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(prefix="part-kept-", dir=CACHE))
    try:
        shutil.copytree(folder, made / "new", symlinks=True)
        with suppress(FileNotFoundError):
            (CACHE / name).rename(made / "old")
        (made / "new").rename(CACHE / name)
    except (OSError, shutil.Error) as error:
        print(f"{folder} is not kept for the next checkout: {error}", file=sys.stderr)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    forget(name.partition("-")[0])


def forget(kind: str) -> None:
    """Remove the versions of a kind that were not used for longest."""
    used = dict[Path, float]()
    for each in CACHE.glob(f"{kind}-*"):
        with suppress(OSError):
            used[each] = each.stat().st_mtime
    for each in sorted(used, key=used.__getitem__, reverse=True)[MOST:]:
        shutil.rmtree(each, ignore_errors=True)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for each in sorted(folder.rglob("*")):
        if each.is_file():
            status = each.stat()
            found[str(each)] = (status.st_size, status.st_mtime_ns)
    return found


def main() -> int:
    """Run the tool."""
    name, folder, command = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    take(name, folder)
    before = _state(folder)
    code = subprocess.run(command, check=False).returncode
    if code == 0 and _state(folder) != before:
        keep(name, folder)
    return code


if __name__ == "__main__":
    sys.exit(main())
