"""Certificates that cannot be read, and keys that find no room on the disk."""

import errno
import os
import ssl
import tempfile
from base64 import b64encode
from pathlib import Path

import pytest

from ganglion.model.errors import FieldError
from ganglion.seams.effects import SYSTEM
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person, Server
from ganglion.worlds.kubernetes.sign_in.tls import context_of
from tests.controlplane.cluster import Cluster
from tests.faults.effects import failing
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth, at_every_call

URL = "https://127.0.0.1:1"


def text_of(path: Path) -> str:
    return b64encode(path.read_bytes()).decode()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_key_that_finds_no_room_is_named_and_leaves_nothing_behind(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    person = Person(
        client_cert_data=text_of(cluster.plane.ca), client_key_data=text_of(cluster.plane.key)
    )
    endpoint = ApiEndpoint(name="one", url=URL, person=person, file="config")
    keys = set[str]()

    def story(plan: Nth) -> None:
        try:
            assert isinstance(context_of(endpoint, failing(plan, number)), ssl.SSLContext)
        except FieldError as error:
            assert os.strerror(number) in error.message
            assert error.file == "config"
            assert plan.struck in ("scratch", "open") or f"{tmp_path}/ganglion-" in error.message
            keys.add(error.key)
        assert list(tmp_path.iterdir()) == []

    assert at_every_call(story, "scratch", "open", "write") == 6
    assert keys == {"client-certificate", "client-key"}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_of_three_files_the_one_that_cannot_be_read_is_named(
    cluster: Cluster, tmp_path: Path, number: int
) -> None:
    paths = {each: tmp_path / each for each in ("authority", "certificate", "key")}
    for each, path in paths.items():
        path.write_bytes((cluster.plane.key if each == "key" else cluster.plane.ca).read_bytes())
    authority, certificate, key = map(str, paths.values())
    endpoint = ApiEndpoint(
        name="one",
        url=URL,
        server=Server(certificate_auth=authority),
        person=Person(client_cert=certificate, client_key=key),
    )
    named = []

    def story(plan: Nth) -> None:
        try:
            context_of(endpoint, SYSTEM._replace(files=FaultyFiles(plan, number)))
        except FieldError as error:
            named.append((error.key, error.message))

    assert at_every_call(story, "read") == 3
    assert named == [
        (field, f"{field}: cannot be used: {path}: {os.strerror(number)}")
        for field, path in (
            ("certificate-authority", authority),
            ("client-certificate", certificate),
            ("client-key", key),
        )
    ]
