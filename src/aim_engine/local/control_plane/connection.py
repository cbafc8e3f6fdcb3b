"""Calls to the API server of a local cluster as its administrator, for the little that starting it takes."""

import ssl

import aiohttp
import msgspec

from aim_engine.kube.errors import Status
from aim_engine.local.control_plane.cluster import Cluster


def connect(cluster: Cluster) -> aiohttp.ClientSession:
    """A session whose addresses are relative to the API server; nothing but the cluster's own authority is trusted."""
    tls = ssl.create_default_context(cafile=cluster.ca_certificate)
    tls.load_cert_chain(cluster.keys / "admin.crt", cluster.keys / "admin.key")
    return aiohttp.ClientSession(cluster.server, connector=aiohttp.TCPConnector(ssl=tls))


async def refusal(response: aiohttp.ClientResponse) -> str:
    """Why a call was refused, in the words of the API server, or whatever else answered in its place."""
    try:
        said = msgspec.json.decode(await response.read(), type=Status).message
    except msgspec.DecodeError:
        said = ""
    return said or f"HTTP status {response.status}"
