"""The page of licences and the bill of materials say what the hashed requirements install."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.licences import PAGE, REQUIREMENTS, bill, licence, packages, page

TEXT = REQUIREMENTS.read_text("utf-8")
PERMITTED = re.compile(
    r"(?:0BSD|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|MIT(?:-0)?|PSF-2\.0|Zlib| AND | OR )+"
)
WEAK = {"psycopg": "LGPL-3.0-only", "psycopg-binary": "LGPL-3.0-only", "pathspec": "MPL-2.0"}
"""Used as they are, unchanged: the driver of PostgreSQL, and a part of the build tool."""


def test_the_page_is_what_the_requirements_say() -> None:
    assert PAGE.read_text("utf-8") == page(TEXT), "run: python -m tools.licences"


def test_every_licence_lets_the_product_be_given_on() -> None:
    found = {each.name: licence(each.name) for each in packages(TEXT)}
    others = {name: each for name, each in found.items() if not PERMITTED.fullmatch(each)}
    assert others == WEAK


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
    assert [(each["name"], each["version"]) for each in found["components"]] == pinned
    assert sum(len(each["hashes"]) for each in found["components"]) == TEXT.count("--hash=sha256:")
    assert all(each["hashes"] and each["licenses"] for each in found["components"])
    assert found["dependencies"][0]["dependsOn"] == [
        each["bom-ref"] for each in found["components"]
    ]
    assert {"psycopg", "msgspec"} <= {each["name"] for each in found["components"]}


def test_equal_requirements_give_the_same_bill_and_others_another_number() -> None:
    assert bill(TEXT) == bill(TEXT)
    assert bill(TEXT)["serialNumber"] != bill(TEXT + "\n")["serialNumber"]
