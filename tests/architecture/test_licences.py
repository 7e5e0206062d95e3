"""The page of licences and the bill of materials say what the hashed requirements install."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.licences import LOCK, PAGE, REQUIREMENTS, bill, bundled, licence, packages, page

TEXT, LOCKED = REQUIREMENTS.read_text("utf-8"), LOCK.read_text("utf-8")
PERMITTED = re.compile(
    r"(?:0BSD|ISC|Unlicense|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|MIT(?:-0)?|PSF-2\.0|Zlib"
    r"| AND | OR )+"
)
WEAK = {"psycopg": "LGPL-3.0-only", "psycopg-binary": "LGPL-3.0-only", "pathspec": "MPL-2.0"}
"""Used as they are, unchanged: the driver of PostgreSQL, and a part of the build tool."""


def test_the_page_is_what_the_requirements_say() -> None:
    assert PAGE.read_text("utf-8") == page(TEXT, LOCKED), "run: python -m tools.licences"


def test_every_licence_lets_the_product_be_given_on() -> None:
    found = {each.name: licence(each.name) for each in packages(TEXT)}
    others = {name: each for name, each in found.items() if not PERMITTED.fullmatch(each)}
    assert others == WEAK
    assert all(PERMITTED.fullmatch(each.licence) for each in bundled(LOCKED))


def test_what_the_portal_is_built_from_is_listed_and_its_tools_are_not() -> None:
    names = {each.name for each in bundled(LOCKED)}
    assert {"react", "react-dom", "react-aria-components", "yaml"} <= names
    assert not names & {"vite", "typescript", "vitest", "axe-core", "playwright-core"}
    with pytest.raises(LookupError, match="nameless: no licence"):
        bundled(json.dumps({"packages": {"node_modules/nameless": {"version": "1"}}}))


def test_the_lock_of_the_portal_names_no_registry_and_pins_everything() -> None:
    locked = json.loads(LOCKED)["packages"]
    assert '"resolved"' not in LOCKED
    assert all("integrity" in each for path, each in locked.items() if path)
    asked = json.loads((LOCK.parent / "package.json").read_text("utf-8"))
    given = asked["dependencies"] | asked["devDependencies"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in given} == given


def test_a_package_without_a_known_licence_is_named() -> None:
    with pytest.raises(LookupError, match="no-such-package: no known licence"):
        licence("no-such-package")


def test_the_bill_names_every_package_with_all_its_hashes(tmp_path: Path) -> None:
    file = tmp_path / "sbom.cdx.json"
    subprocess.run([sys.executable, "-m", "tools.licences", "--sbom", str(file)], check=True)
    found = json.loads(file.read_text("utf-8"))
    assert (found["bomFormat"], found["specVersion"], found["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", found["serialNumber"])
    pinned = re.findall(r"^(\S+)==(\S+)", TEXT, re.M)
    pinned += [(each.name, each.version) for each in bundled(LOCKED)]
    assert [(each["name"], each["version"]) for each in found["components"]] == pinned
    assert sum(
        hashed["alg"] == "SHA-256" for each in found["components"] for hashed in each["hashes"]
    ) == TEXT.count("--hash=sha256:")
    assert all(each["hashes"] and each["licenses"] for each in found["components"])
    assert found["dependencies"][0]["dependsOn"] == [
        each["bom-ref"] for each in found["components"]
    ]
    assert {"psycopg", "msgspec"} <= {each["name"] for each in found["components"]}


def test_equal_requirements_give_the_same_bill_and_others_another_number() -> None:
    assert bill(TEXT, LOCKED) == bill(TEXT, LOCKED)
    others = bill(TEXT + "\n", LOCKED), bill(TEXT, LOCKED + "\n")
    assert bill(TEXT, LOCKED)["serialNumber"] not in [each["serialNumber"] for each in others]
