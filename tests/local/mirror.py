"""A mirror of the official releases on a loopback address, with programs that only say their name."""

import hashlib
import io
import platform
import tarfile
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from aim_engine.local.binaries import release
from aim_engine.local.binaries.catalog import CONTROL_PLANE

KUBERNETES = CONTROL_PLANE.required("k8s.io/kubernetes")
ETCD = CONTROL_PLANE.required("go.etcd.io/etcd/server/v3")
ARCHITECTURE = release.ARCHITECTURES[platform.machine()]


def program(name: str) -> bytes:
    return f"#!/bin/sh\necho I am {name}\n".encode()


def etcd_archive() -> bytes:
    content, directory = io.BytesIO(), f"etcd-{ETCD}-linux-{ARCHITECTURE}"
    with tarfile.open(fileobj=content, mode="w:gz") as files:
        for name in ("README.md", "etcd", "etcdctl"):
            member = tarfile.TarInfo(f"{directory}/{name}")
            member.size = len(program(name))
            files.addfile(member, io.BytesIO(program(name)))
    return content.getvalue()


@dataclass
class Mirror:
    """What the mirror offers, and what was asked of it."""

    files: dict[str, bytes]
    address: str = ""
    asked: Counter[str] = field(default_factory=Counter[str])

    async def answer(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        if request.path not in self.files:
            raise web.HTTPNotFound
        return web.Response(body=self.files[request.path])


@asynccontextmanager
async def mirror() -> AsyncGenerator[Mirror]:
    """A mirror that has everything, until the test takes something away."""
    kubernetes = f"/kubernetes/{KUBERNETES}/bin/linux/{ARCHITECTURE}"
    archive, etcd = etcd_archive(), f"etcd-{ETCD}-linux-{ARCHITECTURE}.tar.gz"
    sums = f"{'0' * 64}  etcd-{ETCD}-darwin-amd64.zip\n{hashlib.sha256(archive).hexdigest()}  {etcd}\n"
    files = {f"/etcd/{ETCD}/{etcd}": archive, f"/etcd/{ETCD}/SHA256SUMS": sums.encode()}
    for name in CONTROL_PLANE.programs[1:]:
        files[f"{kubernetes}/{name}"] = program(name)
        files[f"{kubernetes}/{name}.sha256"] = hashlib.sha256(program(name)).hexdigest().encode()
    offered = Mirror(files)
    application = web.Application()
    application.router.add_get("/{path:.*}", offered.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        offered.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield offered
    finally:
        await runner.cleanup()
