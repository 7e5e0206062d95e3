"""Finding the files of one source of traces."""

from pathlib import Path

from ganglion.model.errors import FileError, NotFound

SUFFIXES = (".csv.gz", ".csv")


def csv_files(folder: Path) -> dict[str, Path]:
    """CSV files of a folder by name without ending, in order of name; a plain file wins over `.gz`.

    Raises:
        FileError: there is no such folder, or it cannot be read.
    """
    if not folder.is_dir():
        what = f"{folder} is not a folder" if folder.exists() else f"no folder {folder}"
        raise FileError(what, "give the folder of one source with --traces")
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise FileError(f"cannot read {folder}: {error.strerror}") from error
    return {
        path.name.removesuffix(suffix): path
        for suffix in SUFFIXES
        for path in paths
        if path.name.endswith(suffix)
    }


def workload_files(folder: Path, prefix: str, *, only: bool = False) -> dict[str, Path]:
    """Files by workload: what follows `prefix` in the name, or the whole name without it.

    Args:
        folder: where to look.
        prefix: as `openb_pod_list_`.
        only: leave out files that lack the prefix.

    Raises:
        FileError: there is no such folder, or it cannot be read.
    """
    named = {
        stem.removeprefix(prefix): path
        for stem, path in csv_files(folder).items()
        if not only or (stem.startswith(prefix) and stem != prefix)
    }
    return dict(sorted(named.items()))


def choose(found: dict[str, Path], wanted: str, folder: Path) -> Path:
    """The file of a workload.

    Raises:
        NotFound: there is none; the message names those there are.
    """
    if wanted in found:
        return found[wanted]
    if not found:
        raise NotFound(f"{folder} has no CSV files", "give the folder of one source with --traces")
    raise NotFound(f"{folder} has no workload {wanted!r}", f"found: {', '.join(found)}")


def main_file(folder: Path, usual: str) -> Path:
    """The job table of a folder: the one of the usual name, or the only one.

    Raises:
        FileError: there is no such folder.
        NotFound: which file is meant is unclear; the message names those there are.
    """
    found = csv_files(folder)
    if len(found) == 1:
        return next(iter(found.values()))
    return choose(found, usual, folder)
