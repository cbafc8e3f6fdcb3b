"""Requests with bounds, retries and typed failures, over one pool of connections."""

import asyncio
import email.utils
import ssl
import time
import weakref
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType

import aiohttp
import msgspec
from yarl import URL

import aim_engine
from aim_engine.proxies import Proxies
from aim_engine.registry import failures
from aim_engine.registry.cache import Expiring
from aim_engine.registry.credentials import Credential
from aim_engine.registry.errors import ConnectionLost, InvalidSetting, RateLimited, TimedOut
from aim_engine.registry.exchange import Answer, Question
from aim_engine.registry.limits import Limits

TRANSIENT_STATUSES = frozenset({408, 500, 502, 503, 504})
REPEATED = frozenset({307, 308})
"""Redirects after which a form is sent again; after all others the new address is only read."""
REDIRECTS = frozenset({301, 302, 303}) | REPEATED
REMEMBERED_RATE_LIMITS = 1000
HEADERS = {"User-Agent": f"aim-engine/{aim_engine.__version__}", "Accept-Encoding": "identity"}


def trusting(ca_file: Path | None) -> ssl.SSLContext:
    """The system's certificate authorities, and those of the file; raises InvalidSetting if it holds none."""
    context = ssl.create_default_context()
    if ca_file is None:
        return context
    try:
        context.load_verify_locations(cafile=ca_file)
    except ssl.SSLError:
        raise InvalidSetting(f"AIM_REGISTRY_CA_FILE: {ca_file} holds no CA certificates in PEM form") from None
    except OSError as error:
        raise InvalidSetting(f"AIM_REGISTRY_CA_FILE: {ca_file} cannot be read: {error.strerror}") from error
    return context


class Transport:
    """An async context that owns the connections; no more than so many to one host at a time."""

    def __init__(self, limits: Limits, trust: ssl.SSLContext, proxies: Proxies) -> None:
        self._limits = limits
        self._trust = trust
        self._proxies = proxies
        self._slots: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._rate_limits: Expiring[tuple[str, Credential | None], RateLimited] = Expiring(REMEMBERED_RATE_LIMITS)

    async def __aenter__(self) -> "Transport":
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._trust, limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=HEADERS,
        )
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self._session.close()

    async def ask(self, question: Question) -> Answer:
        """The server's answer, whatever its status but 429; passing faults are retried."""
        if not all(value.isprintable() for value in question.headers.values()):
            raise failures.unsendable(question)  # aiohttp would raise a ValueError
        started = _now()
        pauses = list(self._limits.retry_pauses)
        while True:
            try:
                answer = await self._ask_once(question)
            except (ConnectionLost, TimedOut):
                if not self._again(pauses, started):
                    raise
            else:
                if answer.status not in TRANSIENT_STATUSES or not self._again(pauses, started):
                    return answer
            await asyncio.sleep(pauses.pop(0))

    def _again(self, pauses: list[float], started: float) -> bool:
        """Whether there is another try, and time for it."""
        return bool(pauses) and _now() + pauses[0] - started < self._limits.request

    async def _ask_once(self, question: Question) -> Answer:
        asker = (question.party.host, question.credential)
        waiting = self._rate_limits.get(asker)
        if waiting:
            raise self._rate_limited(question, self._rate_limits.seconds_left(asker))
        host = question.party.host
        slot = self._slots.get(host)
        if slot is None:
            self._slots[host] = slot = asyncio.Semaphore(self._limits.connections_per_host)
        async with slot:
            answer = await self._send(question)
        pause = rate_limit_pause(answer, self._limits, time.time())
        if pause is None:
            return answer
        failure = self._rate_limited(question, pause)
        self._rate_limits.put(asker, failure, pause)
        raise failure

    async def _send(self, question: Question) -> Answer:
        try:
            async with asyncio.timeout(self._limits.request):
                return await self._follow(question)
        except (aiohttp.ClientError, OSError) as error:
            raise failures.of_network(error, question.party) from error

    async def _follow(self, question: Question) -> Answer:
        """The answer at the end of all redirects; each is a question of its own, as another proxy may lead there."""
        followed = 0
        while True:
            async with self._request(question) as response:
                target = _target(response)
                if target is None:
                    return Answer(response.url, response.status, response.headers, await _read(response, question))
                followed += 1
                if followed >= self._limits.redirects:
                    raise aiohttp.TooManyRedirects(response.request_info, ())
            question = _redirected(question, target, response.status)

    def _request(self, question: Question) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session.request(
            "GET" if question.form is None else "POST",
            question.url,
            headers=dict(question.headers),
            data=None if question.form is None else dict(question.form),
            timeout=aiohttp.ClientTimeout(total=None, connect=self._limits.connect),
            allow_redirects=False,
            proxy=self._proxies.on_the_way_to(question.url),
        )

    def _rate_limited(self, question: Question, pause: float) -> RateLimited:
        party = question.party
        helps = party.login and not question.credential
        advice = f"wait, or add a pull secret for {party.login} to get a higher limit" if helps else "wait"
        return RateLimited(
            f"{party.words} takes no more requests for now, it limits how many it answers: {advice}",
            registry=party.registry,
            host=party.host,
            retry_after=pause,
        )


def rate_limit_pause(answer: Answer, limits: Limits, now: float) -> float | None:
    """For how many seconds the server wants to be left alone; None if it does not."""
    headers = answer.headers
    exhausted = headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in headers
    if answer.status != 429 and not (answer.status == 403 and exhausted):
        return None
    wanted = _seconds(headers, now)
    return min(max(wanted, 1.0) if wanted is not None else limits.rate_limit_pause, limits.longest_rate_limit_pause)


def _seconds(headers: Mapping[str, str], now: float) -> float | None:
    after = headers.get("Retry-After", "").strip()
    if after.isascii() and after.isdigit():
        return float(after)
    try:
        return email.utils.parsedate_to_datetime(after).timestamp() - now
    except ValueError:
        pass
    reset = headers.get("X-RateLimit-Reset") or headers.get("X-Retry-After") or ""
    return float(reset) - now if reset.isascii() and reset.isdigit() else None


def _target(response: aiohttp.ClientResponse) -> URL | None:
    """Where a redirect leads; None if the response is none."""
    location = response.headers.get("Location")
    if response.status not in REDIRECTS or not location:
        return None
    try:
        target = response.url.join(URL(location))
    except ValueError:
        raise aiohttp.InvalidUrlRedirectClientError(location) from None
    if target.scheme not in ("http", "https") or not target.host:
        raise aiohttp.InvalidUrlRedirectClientError(location)
    return target


def _redirected(question: Question, target: URL, status: int) -> Question:
    """The question for another address; credentials stay behind if that is another's, or brings some of its own."""
    headers = dict(question.headers)
    if target.user or target.password or target.origin() != question.url.origin():
        headers.pop("Authorization", None)
    form = question.form if status in REPEATED else None
    return msgspec.structs.replace(question, url=target, headers=headers, form=form)


async def _read(response: aiohttp.ClientResponse, question: Question) -> bytes:
    """The body, as long as it is no longer than wanted."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > question.most_bytes:
            why = f"its answer is larger than {question.most_bytes} bytes, which no proper one is"
            raise failures.malformed(question.party, question.subject, why)
    return bytes(body)


def _now() -> float:
    return asyncio.get_running_loop().time()
