"""Calls to the API server of a local cluster as its administrator, for the little that starting it takes."""

import ssl

import aiohttp

from aim_engine.local.control_plane.cluster import Cluster


def connect(cluster: Cluster) -> aiohttp.ClientSession:
    """A session whose addresses are relative to the API server; nothing but the cluster's own authority is trusted."""
    tls = ssl.create_default_context(cafile=cluster.ca_certificate)
    tls.load_cert_chain(cluster.keys / "admin.crt", cluster.keys / "admin.key")
    return aiohttp.ClientSession(cluster.server, connector=aiohttp.TCPConnector(ssl=tls))
