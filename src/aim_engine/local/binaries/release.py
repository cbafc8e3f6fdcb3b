"""The official releases of Kubernetes and etcd, or a mirror of them, with their checksums."""

import hashlib
import platform
import shutil
import tarfile
from pathlib import Path
from typing import NamedTuple

import aiohttp

from aim_engine.local.binaries import catalog, progress
from aim_engine.local.binaries.catalog import Module
from aim_engine.local.binaries.errors import Unavailable
from aim_engine.local.binaries.sources import Sources

CONNECT_SECONDS = 5.0
"""A machine that cannot reach the releases should get on to the next way soon."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
CHUNK = 1 << 20


class Release(NamedTuple):
    """One file to download, and where its checksum stands."""

    address: str
    checksums: str
    """Holds the checksum alone, or lines of checksum and file name."""

    @property
    def file(self) -> str:
        return self.address.rpartition("/")[2]


async def download(module: Module, into: Path, sources: Sources) -> None:
    """Put the programs of `module` into `into`, each one proven by its checksum."""
    releases = _releases(module, sources)
    timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=60)
    try:
        async with aiohttp.ClientSession(timeout=timeout, trust_env=True, raise_for_status=True) as session:
            checksums = {release: await _checksum(session, release) for release in releases}
            for release, checksum in checksums.items():
                await _fetch(session, release, checksum, into)
    except aiohttp.ConnectionTimeoutError as failure:
        raise Unavailable(f"{_hosts(sources)} did not answer within {CONNECT_SECONDS:.0f} s") from failure
    except (aiohttp.ClientError, OSError, tarfile.TarError) as failure:
        raise Unavailable(f"{_hosts(sources)} cannot be used: {failure or type(failure).__name__}") from failure


def _hosts(sources: Sources) -> str:
    return f"{sources.kubernetes_releases} or {sources.etcd_releases}"


def _releases(module: Module, sources: Sources) -> list[Release]:
    if module is not catalog.CONTROL_PLANE:
        raise Unavailable(f"there is no release to download of {', '.join(module.programs)}")
    architecture = ARCHITECTURES.get(platform.machine())
    if platform.system() != "Linux" or architecture is None:
        raise Unavailable(f"there is no release for {platform.system()} on {platform.machine()}")
    kubernetes = f"{sources.kubernetes_releases}/{module.required('k8s.io/kubernetes')}/bin/linux/{architecture}"
    version = module.required("go.etcd.io/etcd/server/v3")
    etcd = f"{sources.etcd_releases}/{version}"
    return [
        Release(f"{etcd}/etcd-{version}-linux-{architecture}.tar.gz", f"{etcd}/SHA256SUMS"),
        *(
            Release(f"{kubernetes}/{program}", f"{kubernetes}/{program}.sha256")
            for program in module.programs
            if program != "etcd"
        ),
    ]


async def _checksum(session: aiohttp.ClientSession, release: Release) -> str:
    async with session.get(release.checksums) as response:
        for line in (await response.text()).splitlines():
            checksum, _, file = line.strip().partition(" ")
            if file.strip() in {"", release.file}:
                return checksum
    raise Unavailable(f"{release.checksums} does not name {release.file}")


async def _fetch(session: aiohttp.ClientSession, release: Release, checksum: str, into: Path) -> None:
    target, digest = into / release.file, hashlib.sha256()
    async with session.get(release.address) as response:
        size = response.content_length or 0
        with (
            progress.step(f"downloading {release.address}", f"{size >> 20} MB, once") as step,
            target.open("wb") as file,
        ):
            async for chunk in response.content.iter_chunked(CHUNK):
                digest.update(chunk)
                file.write(chunk)
                step.advance(len(chunk), total=size)
    if digest.hexdigest() != checksum:
        raise Unavailable(f"{release.address} has the checksum {digest.hexdigest()} instead of {checksum}")
    if target.suffix == ".gz":
        target = _unpacked(target)
    target.chmod(0o755)


def _unpacked(archive: Path) -> Path:
    """Replace etcd's archive by the program in it."""
    target = archive.with_name("etcd")
    with tarfile.open(archive) as files:
        member = next((member for member in files if member.isfile() and member.name.endswith("/etcd")), None)
        content = files.extractfile(member) if member else None
        if content is None:
            raise Unavailable(f"{archive.name} holds no etcd")
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)
    archive.unlink()
    return target
