"""Metrics reach those who may read them, over a certificate that can be rotated."""

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from prometheus_client import CollectorRegistry, Counter
from tests.web.pairs import write_pair
from tests.web.serving import served

from aim_engine.web import address, certificates, metrics


def collectors() -> CollectorRegistry:
    registry = CollectorRegistry()
    Counter("passes", "Passes so far", registry=registry).inc(3)
    return registry


async def test_open_metrics_are_plain_prometheus_text() -> None:
    async with served(metrics.application(collectors(), None)) as at, aiohttp.ClientSession() as session:
        answer = await session.get(f"{at}/metrics")
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert "passes_total 3.0" in await answer.text()


@pytest.mark.parametrize(
    ("header", "status"),
    [
        pytest.param(None, 401, id="no token"),
        pytest.param("Basic cHJvbTpwcm9t", 401, id="another scheme"),
        pytest.param("Bearer stranger", 403, id="a token without the right"),
        pytest.param("bearer prometheus", 200, id="a token with the right, scheme in any case"),
    ],
)
async def test_guarded_metrics_answer_by_the_verdict_on_the_token(header: str | None, status: int) -> None:
    async def access(token: str) -> int:
        return {"": 401, "prometheus": 200}.get(token, 403)

    async with served(metrics.application(collectors(), access)) as at, aiohttp.ClientSession() as session:
        answer = await session.get(f"{at}/metrics", headers={"Authorization": header} if header else {})
        assert answer.status == status
        assert ("passes_total" in await answer.text()) == (status == 200)


async def shown(at: str) -> str:
    """The common name of the certificate that a new connection is shown."""
    port = int(at.rsplit(":", 1)[1])
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    subject = x509.load_pem_x509_certificate(pem.encode()).subject
    return str(subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


async def test_a_rotated_certificate_is_shown_at_the_next_handshake(tmp_path: Path) -> None:
    write_pair(tmp_path, "before")
    tls = certificates.mounted(tmp_path, "tls.crt", "tls.key")
    async with served(metrics.application(collectors(), None), tls) as at:
        assert await shown(at) == "before"
        write_pair(tmp_path, "after")
        assert await shown(at) == "after"
        (tmp_path / "tls.crt").write_text("half a certif")
        assert await shown(at) == "after"


async def test_without_files_the_certificate_is_made_on_the_spot() -> None:
    async with served(metrics.application(collectors(), None), certificates.self_signed("aim-engine")) as at:
        assert await shown(at) == "aim-engine"


def test_a_missing_certificate_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"the serving certificate in {tmp_path} cannot be used: .*No such file"):
        certificates.mounted(tmp_path, "tls.crt", "tls.key")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", None, id="nowhere"),
        pytest.param(":8443", (None, 8443), id="every interface"),
        pytest.param("127.0.0.1:80", ("127.0.0.1", 80), id="one interface"),
        pytest.param("[::1]:80", ("::1", 80), id="IPv6"),
    ],
)
def test_bind_addresses_are_read_as_go_writes_them(text: str, expected: object) -> None:
    assert address.parse(text) == expected


@pytest.mark.parametrize("text", ["8443", ":http", "a:99999"])
def test_another_text_is_no_bind_address(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is no bind address; write :PORT, HOST:PORT, or 0 for nowhere"):
        address.parse(text)
