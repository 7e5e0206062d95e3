"""Routes for secrets that are kept by name. No route answers with a value."""

from typing import Annotated

from fastapi import Path
from pydantic import Field, SecretStr

from ganglion.api.server import Done, SecretPage, SecretView
from ganglion.server.requests.context import Here
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes

router = Routes(tags=["secrets"], responses=ERRORS)

Name = Annotated[str, Path(max_length=200, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class SecretValue(Input):
    """What to keep."""

    value: SecretStr = Field(min_length=1, max_length=65_536)


@router.get("/secrets")
def list_secrets(here: Here) -> SecretPage:
    """List secrets that are kept by name, without their values."""
    found = here.service.secrets.stored(here.user)
    return SecretPage(items=tuple(SecretView(name=each.name, at=each.at) for each in found))


@router.put("/secrets/{name}")
def set_secret(here: Here, name: Name, body: SecretValue) -> Done:
    """Keep a value by name; attempts that start from now on get it."""
    value = body.value.get_secret_value()
    here.service.secrets.set(here.user, name, value, here.service.now())
    return Done()


@router.delete("/secrets/{name}")
def remove_secret(here: Here, name: Name) -> Done:
    """Forget a value; what runs keeps it to the end of the attempt."""
    here.service.secrets.remove(here.user, name)
    return Done()
