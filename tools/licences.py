"""Licences of everything that is installed with the product, and a software bill of materials.

python -m tools.licences                 write docs/licences.md from what is installed
python -m tools.licences --check         1 = the page is out of date
python -m tools.licences --sbom FILE     write a bill in CycloneDX 1.6, as `make sbom` does

Packages, versions and hashes are those of requirements/runtime.txt, and of portal/package-lock.json
for what the built files of the portal contain; licences are SPDX expressions, from the metadata of
each package. Equal requirements give the same bill, byte by byte.
"""

import json
import re
import sys
from argparse import ArgumentParser
from base64 import b64decode
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from ganglion import __version__

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements" / "runtime.txt"
LOCK = ROOT / "portal" / "package-lock.json"
PAGE = ROOT / "docs" / "licences.md"

STATED = {
    "colorama": "BSD-3-Clause",
    "cronsim": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "nvidia-ml-py": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "tzdata": "Apache-2.0",
}
"""Licences of packages that some platforms lack, and of those whose metadata names a family."""

SPELLINGS = {
    "Apache 2.0": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD-3-Clause": "BSD-3-Clause",
    "MIT": "MIT",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSF-2.0": "PSF-2.0",
}
"""What packages write in place of an SPDX expression."""

INTRODUCTION = """\
# Packages and licences

What `pip install` brings along, by extra:

| Command | What it is for |
|---|---|
| `pip install ganglion` | the [SDK](cli.md): `ganglion.client`, `ganglion.checkpoint` |
| `pip install 'ganglion[cli]'` | the command line, against a server or a cluster |
| `pip install 'ganglion[server]'` | `ganglion up`: server, router and local world |
| `pip install 'ganglion[router]'` | `python -m ganglion.router` alone |
| `pip install 'ganglion[kubernetes]'` | `ganglion scheduler` for clusters |
| `pip install 'ganglion[postgres]'` | a server with its ledger in PostgreSQL |
| `pip install 'ganglion[mcp]'` | `ganglion mcp`, for [agents](agents.md) |

A command whose extra is missing names it. `make setup` installs all of them in the exact versions
of `requirements/runtime.txt`, each file checked by its hash; `make sbom` writes them with hashes
and licences to `out/sbom.cdx.json` (CycloneDX 1.6).

Ganglion itself is under Apache-2.0. Its packages:

| Package | Licence | Where |
|---|---|---|
"""

BUNDLED = """
## In the files of the portal

[The portal](portal.md) is built from these packages of npm; `/notices.txt` of a server that serves
it has the texts of their licences.

| Package | Version | Licence |
|---|---|---|
"""

_LINE = re.compile(r"^([A-Za-z0-9_.-]+)==([^\s;]+)(?: ; (.+?))? \\$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class Package(NamedTuple):
    """One line of the requirements.

    Attributes:
        name, version: as pinned.
        marker: where it is installed; empty = everywhere.
        hashes: SHA-256 of each file that may be installed, in hexadecimal.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


class BundledPackage(NamedTuple):
    """A package of npm of which the built files of the portal contain parts.

    Attributes:
        name, version: as locked.
        licence: SPDX expression.
        hash: SHA-512 of its archive, in hexadecimal.
    """

    name: str
    version: str
    licence: str
    hash: str


def bundled(lock: str) -> tuple[BundledPackage, ...]:
    """The packages of a lock of npm that are no tools, by name.

    Raises:
        LookupError: one of them states no licence.
    """
    found = []
    for path, each in json.loads(lock)["packages"].items():
        name = path.rpartition("node_modules/")[2]
        if not name or each.get("dev") or each.get("devOptional"):
            continue
        if not each.get("license"):
            raise LookupError(f"{name}: no licence in {LOCK.name}")
        digest = b64decode(each["integrity"].removeprefix("sha512-")).hex()
        found.append(BundledPackage(name, each["version"], each["license"], digest))
    return tuple(sorted(found))


def packages(text: str) -> Iterator[Package]:
    """Every package of a file of hashed requirements, in its order."""
    starts = list(_LINE.finditer(text))
    for number, found in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        hashes = tuple(_HASH.findall(text[found.end() : end]))
        yield Package(found[1], found[2], found[3] or "", hashes)


def licence(name: str) -> str:
    """SPDX expression of a package.

    Raises:
        LookupError: neither its metadata nor `STATED` says one.
    """
    if name in STATED:
        return STATED[name]
    try:
        found = _written(metadata(name))
    except PackageNotFoundError:
        found = ""
    if not found:
        raise LookupError(f"{name}: no known licence; add it to STATED or SPELLINGS")
    return found


def _written(about: PackageMetadata) -> str:
    fields = about.json
    if expression := fields.get("license_expression"):
        return str(expression)
    listed = fields.get("classifier", [])
    classes = [each.rpartition(" :: ")[2] for each in listed if each.startswith("License ::")]
    said = str(fields.get("license", "")).partition("\n")[0].strip()
    return next((SPELLINGS[each] for each in (said, *classes) if each in SPELLINGS), "")


def page(text: str, lock: str) -> str:
    """The page for a file of requirements, and a lock of the portal."""
    rows = (
        f"| {each.name} | {licence(each.name)} | {_cell(each.marker)} |" for each in packages(text)
    )
    others = (f"| {each.name} | {each.version} | {each.licence} |" for each in bundled(lock))
    return INTRODUCTION + "\n".join(rows) + "\n" + BUNDLED + "\n".join(others) + "\n"


def _cell(marker: str) -> str:
    return f"`{marker}`" if marker else ""


def bill(text: str, lock: str) -> dict[str, Any]:
    """The software bill of materials of requirements and portal, in CycloneDX 1.6."""
    components = [_component(each) for each in packages(text)]
    components += [_bundled_component(each) for each in bundled(lock)]
    own = f"pkg:pypi/ganglion@{__version__}"
    product = {
        "type": "application",
        "bom-ref": own,
        "name": "ganglion",
        "version": __version__,
        "purl": own,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, own + text + lock)}",
        "version": 1,
        "metadata": {"component": product},
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [each["bom-ref"] for each in components]}],
    }


def _component(package: Package) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": _purl(package),
        "name": package.name,
        "version": package.version,
        "purl": _purl(package),
        "licenses": [{"expression": licence(package.name)}],
        "hashes": [{"alg": "SHA-256", "content": each} for each in package.hashes],
    }
    if package.marker:
        found["properties"] = [{"name": "ganglion:marker", "value": package.marker}]
    return found


def _bundled_component(package: BundledPackage) -> dict[str, Any]:
    purl = f"pkg:npm/{package.name.replace('@', '%40')}@{package.version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "licenses": [{"expression": package.licence}],
        "hashes": [{"alg": "SHA-512", "content": package.hash}],
    }


def _purl(package: Package) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def main() -> int:
    """Run the tool."""
    parser = ArgumentParser(prog="python -m tools.licences")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sbom", type=Path, metavar="FILE")
    given = parser.parse_args()
    text, lock = REQUIREMENTS.read_text("utf-8"), LOCK.read_text("utf-8")
    if given.sbom:
        given.sbom.write_text(json.dumps(bill(text, lock), indent=1) + "\n", "utf-8")
        return 0
    right = page(text, lock)
    current = PAGE.exists() and PAGE.read_text("utf-8") == right
    if not given.check:
        PAGE.write_text(right, "utf-8")
    print(f"{PAGE.name}: {'current' if current else 'out of date' if given.check else 'written'}")
    return int(given.check and not current)


if __name__ == "__main__":
    sys.exit(main())
