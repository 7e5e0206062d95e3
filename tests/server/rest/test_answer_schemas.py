"""What is sent is described once: by the structs of `ganglion.api`, which the client reads."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from msgspec import Struct

import ganglion.api
import ganglion.cli
import ganglion.client
import ganglion.server
from ganglion.api.nodes import DrainView
from ganglion.server.cluster.readonly import make_readonly_app
from ganglion.server.rest.answer_schemas import ANSWERS, is_struct, keys_of, schemas_of
from tests.server.cluster.test_readonly import Kept
from tests.server.conftest import Rig
from tests.server.test_workloads import API

PLACE = "#/components/schemas/"
SENT = {"api", "model", "transport"}
"""Packages of classes that answers consist of; `model` has those that `api` takes as they are,
`transport` those of refused requests, which the router answers as well."""


@pytest.fixture(params=["server", "cluster"])
def page(request: pytest.FixtureRequest, client: TestClient, rig: Rig) -> Any:
    if request.param == "server":
        return client.get(f"{API}/openapi.json").json()
    return TestClient(make_readonly_app(Kept(rig))).get("/v1/openapi.json").json()


def answers(page: Any) -> Iterator[tuple[str, Any]]:
    """Operation and schema of each answer that is no problem and no text."""
    for methods in page["paths"].values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                if "application/json" in answer.get("content", {}):
                    yield operation["operationId"], answer["content"]["application/json"]["schema"]


def structs(package: Any) -> Iterator[type[Struct]]:
    """Structs that modules of a package define."""
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(each.name)
        for kind in vars(module).values():
            if is_struct(kind) and kind.__module__ == each.name:
                yield kind


def test_every_answer_is_a_struct_of_the_api(page: Any) -> None:
    named = list(answers(page))
    assert len(named) >= 9
    for operation, schema in named:
        kind = ANSWERS[schema.get("$ref", "").removeprefix(PLACE)]
        assert kind.__module__.startswith("ganglion.api."), operation


def fields_of(kind: type[Struct]) -> list[str]:
    """Keys of a struct as it is sent: of one of several kinds, its kind comes first."""
    tag = kind.__struct_config__.tag_field
    return [*([tag] if tag else ()), *kind.__struct_fields__]


def test_every_schema_has_the_keys_of_its_struct_and_says_what_they_are(page: Any) -> None:
    known = {name: each for name, each in page["components"]["schemas"].items() if name in ANSWERS}
    assert {"WorkloadView", "NodeView", "Explained", "Placement"} <= set(known)
    for name, schema in known.items():
        kind = ANSWERS[name]
        assert kind.__module__.split(".")[1] in SENT
        assert list(schema["properties"]) == fields_of(kind), name
        assert schema["additionalProperties"] is False
        if not kind.__struct_config__.omit_defaults:
            assert schema["required"] == fields_of(kind), name
        described = {key for key, each in schema["properties"].items() if "description" in each}
        assert described == keys_of(kind).keys(), name
        assert "Attributes:" not in schema["description"]
        assert "None" not in schema["description"]


def test_a_docstring_lists_no_key_that_its_struct_lacks() -> None:
    for kind in structs(ganglion.api):
        assert keys_of(kind).keys() <= set(fields_of(kind)), kind.__name__


def test_no_struct_repeats_the_keys_of_one_that_is_sent() -> None:
    sent = {frozenset(each.__struct_fields__): each for each in structs(ganglion.api)}
    others = [*structs(ganglion.client), *structs(ganglion.cli), *structs(ganglion.server)]
    again = {
        each.__qualname__: sent[fields].__qualname__
        for each in others
        for fields in (frozenset(each.__struct_fields__),)
        if len(fields) > 1 and fields in sent
    }
    assert len(others) > 50
    assert again == {}


def test_names_of_schemas_are_unique() -> None:
    names = [each.__name__ for each in structs(ganglion.api)]
    assert sorted(set(names)) == sorted(names)


def test_a_page_that_refers_to_something_else_is_refused() -> None:
    page = {"a": {"$ref": f"{PLACE}Stranger"}, "components": {"schemas": {}}}
    with pytest.raises(KeyError, match="Stranger"):
        schemas_of(page)


def test_several_keys_of_one_line_are_described_alike_and_nothing_is_null_by_another_name() -> None:
    kinds = {each.__name__: keys_of(each) for each in structs(ganglion.api)}
    assert kinds["BookingView"]["begin"] == kinds["BookingView"]["end"] == "times in ms."
    assert "None" not in "".join(text for each in kinds.values() for text in each.values())
    assert keys_of(DrainView)["by"] == "when what is still there is stopped, in ms."
