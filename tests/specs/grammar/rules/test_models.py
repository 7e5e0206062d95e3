"""References to models."""

import pytest

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.rules.models import parse_model, reference_of
from ganglion.specs.workload.workload import document, from_document

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("text", "canonical", "moves"),
    [
        ("models:/chat@champion", "models:/chat@champion", True),
        (" MODELS:/chat/3 ", "models:/chat/3", False),
        ("hf://org/repo", "hf://org/repo@main", True),
        ("hf://org/repo@refs/pr/1", "hf://org/repo@refs/pr/1", True),
        (f"hf://org/repo@{COMMIT}", f"hf://org/repo@{COMMIT}", False),
        ("oci://reg.example:5000/team/chat", "oci://reg.example:5000/team/chat:latest", True),
        ("oci://reg.example/team/chat:v3", "oci://reg.example/team/chat:v3", True),
        (f"oci://reg.example/chat@{DIGEST}", f"oci://reg.example/chat@{DIGEST}", False),
        ("s3://bucket/a/b.tar", "s3://bucket/a/b.tar", True),
        ("s3://bucket/a/", "s3://bucket/a/", True),
        ("s3://bucket/a/b.tar?versionId=x1", "s3://bucket/a/b.tar?versionId=x1", False),
        ("file:///models//chat/", "file:///models/chat", True),
    ],
)
def test_a_reference_has_one_canonical_form_and_says_whether_it_may_move(
    text: str, canonical: str, moves: bool
) -> None:
    assert parse_model(text) == canonical
    assert parse_model(canonical) == canonical
    assert reference_of(text).moves is moves


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("chat", "no reference to a model", "models:/chat@champion"),
        (7, "no reference to a model", "models:/chat/3"),
        ("model:/chat/3", "not kept at", "models"),
        ("models:/chat", "has no version or alias", "models:/chat@champion"),
        ("models:/chat/latest", "no version of chat", "models:/chat@champion"),
        ("models:/chat/Production", "no version of chat", "an alias"),
        ("models:/chat@", "no reference", "models:/chat@champion"),
        ("models://chat/3", "no reference", "models:/chat@champion"),
        ("hf://repo", "no reference", "hf://org/repo@main"),
        ("hf://org/repo@a/../b", "no reference", "hf://org/repo@main"),
        ("oci://reg.example/Chat", "no reference", "oci://"),
        ("oci://reg.example/chat@sha256:12", "no reference", "oci://"),
        ("s3://bucket", "no reference", "s3://bucket/path"),
        ("s3://bucket/folder/?versionId=x1", "a folder of a bucket", "s3://bucket/path/"),
        ("file://models/chat", "no reference", "file:///models/chat"),
        ("file:///models/../etc", "no reference", "file:///models/chat"),
        ("file:///", "no reference", "file:///models/chat"),
        ("hf://ada:pa55word@org/repo", "no credentials", "models.yaml"),
        ("models:/a b@c", "no reference", "models:/chat@champion"),
        (f"models:/{'a' * 2000}@x", "no reference", "models:/chat@champion"),
    ],
)
def test_what_is_no_reference_is_refused_with_its_key_and_a_hint(
    text: object, said: str, hint: str
) -> None:
    with pytest.raises(FieldError) as refused:
        from_document({"run": "true", "model": text})
    assert (refused.value.key, said in refused.value.message) == ("model", True), refused.value
    assert hint in refused.value.hint, refused.value.hint


def test_a_file_prints_its_reference_again() -> None:
    file = from_document({"name": "a", "run": "true", "model": "hf://org/repo"})
    assert document(file)["model"] == "hf://org/repo@main"
