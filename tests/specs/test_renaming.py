from ganglion.model.behaviour import Signal
from ganglion.specs.reading.renaming import Renaming, Vocabulary
from ganglion.specs.reading.yaml import parse_documents
from ganglion.specs.workload.schema import SCOPES, VOCABULARY


def renaming(text: str) -> Renaming:
    return Renaming(parse_documents(text, "f")[0], VOCABULARY)


def test_what_the_user_wrote_is_remembered_for_errors() -> None:
    pass_ = renaming("slices: {count: 4, level: rack}\nnum_nodes: 8\ngpu: 2")
    assert pass_.known() == {
        "groups": [{"size": 4, "required": "rack"}],
        "nodes": 8,
        "resources": {"gpus": 2},
    }
    assert pass_.source(("nodes",)) == ("num_nodes",)
    assert pass_.source(("resources", "gpus")) == ("gpu",)
    assert pass_.wrong("odd", ("nodes",)).line == 2


def test_the_document_itself_is_left_alone() -> None:
    (document,) = parse_documents("resources: {cpu: 1}\ngpus: 2")
    Renaming(document, VOCABULARY).known()
    assert document.data == {"resources": {"cpu": 1}, "gpus": 2}


def test_every_alias_stands_for_a_key_that_exists_and_hides_none() -> None:
    for scope, table in VOCABULARY.aliases.items():
        own = VOCABULARY.keys[scope]
        for alias, target in table.items():
            first, _, rest = target.partition(".")
            assert alias not in own
            assert first in own
            below = VOCABULARY.children.get(scope, {}).get(first)
            inner = VOCABULARY.keys[below] if below else tuple(Signal)
            assert not rest or rest in inner


def test_every_scope_has_its_keys() -> None:
    assert set(VOCABULARY.keys) == set(SCOPES)


def test_a_shorthand_is_written_out_and_errors_name_the_short_form() -> None:
    words = Vocabulary(
        keys={"": ("retry",), "retry": ("limit",)},
        aliases={},
        children={"": {"retry": "retry"}},
        shorthands={"retry": "limit"},
    )
    pass_ = Renaming(parse_documents("retry: 3", "f")[0], words)
    assert pass_.known() == {"retry": {"limit": 3}}
    assert pass_.wrong("odd", ("retry", "limit")).key == "retry"


def test_dashes_are_underscores() -> None:
    assert renaming("time-limit: 2h\nprocs-per-node: 2").known() == {
        "time_limit": "2h",
        "procs_per_node": 2,
    }
    twice = renaming("time_limit: 2h\ntime-limit: 3h")
    assert twice.known() == {"time_limit": "2h"}
    (problem,) = twice.problems
    assert "says the same as `time_limit`" in problem.message
