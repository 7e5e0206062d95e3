"""The directory in which a submitted program runs: that of the caller, unless it says otherwise."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ganglion.specs.workload.aliases import ALIASES

TARGETS = ("workdir", "image")
WORDS = frozenset((*TARGETS, *(word for word, key in ALIASES[""].items() if key in TARGETS)))


def placed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the directory of the caller as `workdir`.

    One that names a directory or an image is left as it is.

    Args:
        document: keys as in a workload file.
    """
    given = {str(key).replace("-", "_") for key, value in document.items() if value}
    if given & WORDS:
        return dict(document)
    return {**document, "workdir": str(Path.cwd())}
