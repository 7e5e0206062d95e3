"""Built files of a small portal, as the build writes them."""

import json
from hashlib import sha256
from pathlib import Path

FILES = {
    "index.html": b"<!doctype html><title>portal</title>" + b" " * 500,
    "assets/index-abc.js": b"console.log(1)" * 100,
    "favicon.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
}


def write_portal(folder: Path) -> Path:
    """Write the files and their manifest into a folder."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    files = {name: sha256(content).hexdigest() for name, content in FILES.items()}
    (folder / "manifest.json").write_text(json.dumps({"build": "b1", "files": files}))
    return folder
