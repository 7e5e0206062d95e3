"""What a container image is by its digest, asked of its registry before a submission's turn.

The local world runs no images. The digest is recorded all the same: it says what was asked for.
"""

import asyncio
from collections.abc import Awaitable, Callable

from ganglion.model.errors import FieldError, GanglionError
from ganglion.model.fleet.images import full_name
from ganglion.model.workload import ResolvedImage, ResolvedModel
from ganglion.server.models.watch import ModelWatch
from ganglion.specs.grammar.rules.models import reference_of

DEADLINE_S = 3.0
"""Longest that a submission waits for what it does not need."""
NO_NAME = "it is no name of an image in a registry"

FindModel = Callable[[str], Awaitable[ResolvedModel]]


def has_digest(image: str) -> bool:
    """Whether an image has its digest in its name, so that nothing is to be found out."""
    return "@" in image


def watched_as(image: str) -> str:
    """The reference by which what an image is can be asked for; empty = there is nothing to ask."""
    reference = "" if not image or has_digest(image) else f"oci://{full_name(image)}"
    try:
        return reference if reference and reference_of(reference) else ""
    except FieldError:
        return ""


def image_now(watch: ModelWatch, image: str) -> ResolvedImage | None:
    """What a watched image was when that was found out last; None = there is nothing to find out.

    Args:
        watch: asks about the images of schedules.
        image: as the workload file has it.
    """
    if not image or has_digest(image):
        return None
    reference = watched_as(image)
    if not reference:
        return ResolvedImage(problem=NO_NAME)
    found = watch.found(reference)
    if found and found.model:
        return ResolvedImage(found.model.digest)
    return ResolvedImage(problem=found.trouble if found else "its registry was not asked yet")


async def found_image(image: str, find: FindModel) -> ResolvedImage:
    """Say what an image is now, or why that is not known; raises nothing.

    Args:
        image: as the workload file has it, without a digest.
        find: asks the registry, of which `models.yaml` knows the host.
    """
    reference = watched_as(image)
    if not reference:
        return ResolvedImage(problem=NO_NAME)
    try:
        async with asyncio.timeout(DEADLINE_S):
            return ResolvedImage((await find(reference)).digest)
    except TimeoutError:
        return ResolvedImage(problem=f"its registry did not answer within {DEADLINE_S:g} s")
    except FieldError as error:
        return ResolvedImage(problem=error.problem)
    except GanglionError as error:
        return ResolvedImage(problem=error.message)
