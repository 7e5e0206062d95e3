"""The DCGM exporters of a cluster: where they are, and what they answer."""

import asyncio
from collections.abc import Iterable, Sequence

import httpx2

from ganglion.server.signals.scraper import MOST_AT_ONCE, PATIENCE_S, body_of
from ganglion.worlds.kubernetes.types.pod import Pod

EXPORTERS = ("nvidia-dcgm-exporter", "dcgm-exporter")
"""Names by which DCGM exporters go, in the labels `app` and `app.kubernetes.io/name`."""
EXPORTER_PORT = 9400
LONGEST_S = 15.0
"""Most that asking all of them takes: those that are silent must not keep others waiting."""


def exporters(pods: Iterable[Pod]) -> dict[str, list[str]]:
    """Node -> URLs of its exporters, the same ones first each time."""
    found: dict[str, list[str]] = {}
    for each in pods:
        if each.spec.node_name and _is_exporter(each):
            host = each.status.pod_ip
            host = f"[{host}]" if ":" in host else host
            url = f"http://{host}:{EXPORTER_PORT}/metrics"
            found.setdefault(each.spec.node_name, []).append(url)
    return {node: sorted(urls) for node, urls in found.items()}


def _is_exporter(pod: Pod) -> bool:
    labels = pod.metadata.labels
    named = (labels.get("app"), labels.get("app.kubernetes.io/name"))
    return bool(pod.status.pod_ip) and any(each in EXPORTERS for each in named)


async def answers(urls: Sequence[str]) -> dict[str, str]:
    """What exporters say, by URL; those that do not answer in time are left out.

    Args:
        urls: the first ones are asked first.
    """
    limits, turns = httpx2.Limits(max_connections=MOST_AT_ONCE), asyncio.Semaphore(MOST_AT_ONCE)
    async with httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False, limits=limits) as client:
        tasks = {url: asyncio.create_task(_answer(client, url, turns)) for url in urls}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=LONGEST_S)
        for each in tasks.values():
            each.cancel()
        said = await asyncio.gather(*tasks.values(), return_exceptions=True)
    return {url: text for url, text in zip(tasks, said, strict=True) if isinstance(text, str)}


async def _answer(client: httpx2.AsyncClient, url: str, turns: asyncio.Semaphore) -> str | None:
    """What one exporter says; None = nothing, or too much."""
    try:
        async with turns:
            return (await body_of(client, url)).decode("utf-8", "replace")
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ValueError):
        return None  # its GPUs are unknown
