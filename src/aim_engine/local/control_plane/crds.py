"""Installs CustomResourceDefinitions in a running cluster."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import msgspec
import yaml

from aim_engine.local.control_plane.cluster import Cluster
from aim_engine.local.control_plane.connection import connect, refusal
from aim_engine.local.errors import LocalError
from aim_engine.objects import Manifest

SERVED_SECONDS = 300.0
POLL_SECONDS = 0.1
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HEADERS = {
    "Content-Type": "application/apply-patch+yaml",
    "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
}
"""The answer is not to be the whole CRD, which can be megabytes long."""
CONTENT = "local.aim.eai.amd.com/content"
"""Annotation with the hash of what was applied: to apply a large CRD anew costs the API server most of a second."""


async def install(cluster: Cluster, paths: Sequence[Path]) -> None:
    """Apply the CRDs in `paths`, files of one CRD each or directories of such, and wait until their kinds are known."""
    files = [file for path in paths for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]
    crds = [(file, _read(file)) for file in files]
    try:
        async with asyncio.timeout(SERVED_SECONDS), connect(cluster) as session:
            installed = await _installed(session)
            for file, crd in crds:
                if installed.get(crd["metadata"]["name"]) != _content(crd):
                    await _apply(session, file, crd)
            for _, crd in crds:
                while not await _known(session, crd):
                    await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise LocalError(f"The API server did not take all CRDs in {SERVED_SECONDS:.0f} s.") from None
    except aiohttp.ClientError as failure:
        raise LocalError(f"The API server does not answer: {failure}.") from failure


def _read(file: Path) -> Manifest:
    return yaml.load(file.read_text(), yaml.CSafeLoader)  # the loader in Python takes ten times as long


async def _installed(session: aiohttp.ClientSession) -> dict[str, str]:
    """Name -> content of the CRDs that were applied from here."""
    headers = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    async with session.get(CRDS, headers=headers) as response:
        if response.status != 200:
            raise LocalError(f"The API server does not tell its CRDs: {await refusal(response)}")
        items: list[Manifest] = (await response.json())["items"] or []  # null, if there are none
    return {item["metadata"]["name"]: item["metadata"].get("annotations", {}).get(CONTENT, "") for item in items}


def _content(crd: Manifest) -> str:
    return hashlib.sha256(msgspec.json.encode(crd)).hexdigest()[:16]


async def _apply(session: aiohttp.ClientSession, file: Path, crd: Manifest) -> None:
    name, parameters = crd["metadata"]["name"], {"fieldManager": "aim-engine", "force": "true"}
    annotations = {**crd["metadata"].get("annotations", {}), CONTENT: _content(crd)}
    marked = {**crd, "metadata": {**crd["metadata"], "annotations": annotations}}
    body = msgspec.json.encode(marked)  # which is YAML too, and takes the API server half as long to read
    async with session.patch(f"{CRDS}/{name}", params=parameters, headers=HEADERS, data=body) as response:
        if response.status >= 300:
            raise LocalError(f"The API server refuses {file}: {await refusal(response)}")


async def _known(session: aiohttp.ClientSession, crd: Manifest) -> bool:
    spec = crd["spec"]
    version = next(version["name"] for version in spec["versions"] if version["served"])
    async with session.get(f"/apis/{spec['group']}/{version}") as response:
        if response.status != 200:
            return False
        resources: list[dict[str, str]] = (await response.json())["resources"]
        return any(resource["name"] == spec["names"]["plural"] for resource in resources)
