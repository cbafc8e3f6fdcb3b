"""The OCI distribution API of one endpoint: the way in, and what lies behind it."""

from collections.abc import Mapping

import msgspec
from yarl import URL

from aim_engine.registry import failures
from aim_engine.registry.authorization import Authorization, Challenge, challenges
from aim_engine.registry.cache import Expiring, Turns
from aim_engine.registry.credentials import Credential
from aim_engine.registry.endpoint import Endpoint
from aim_engine.registry.errors import CertificateRefused, ConnectionLost, ConnectionRefused, InsecureConnection
from aim_engine.registry.exchange import Answer, Party, Question
from aim_engine.registry.limits import Limits
from aim_engine.registry.transport import Transport

REMEMBERED_DOORS = 1000


class Door(msgspec.Struct, frozen=True):
    """How an endpoint is entered: the scheme it speaks, and what it wants to hear (None: nothing)."""

    base: URL
    challenge: Challenge | None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to read from an endpoint."""

    endpoint: Endpoint
    path: str
    """Below /v2/, with its query."""
    subject: str
    scope: str
    most_bytes: int
    credential: Credential | None
    headers: Mapping[str, str] = {}


class Distribution:
    """Reads below /v2/ with the authorization that each endpoint asks for."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits
        self._authorization = Authorization(transport, limits)
        self._doors: Expiring[Endpoint, Door] = Expiring(REMEMBERED_DOORS)
        self._turns: Turns[Endpoint] = Turns()

    async def read(self, request: Request) -> Answer:
        """The answer with status 200; every other one is raised."""
        door = await self._door(request.endpoint)
        question = _question(door, request)
        met: Challenge | None = None  # a challenge to which we have just said all that we can say
        if door.challenge:
            challenge = msgspec.structs.replace(door.challenge, scope=request.scope)
            permit = await self._authorization.permit(challenge, question.party, request.subject, request.credential)
            question = _with(question, permit.header) if permit else question
            met = challenge if permit is None or permit.fresh else None
        answer = await self._transport.ask(question)
        if answer.status == 401:
            answer = await self._answer_challenge(question, answer, request, met)
        if answer.status == 200:
            return answer
        if answer.status not in failures.STATUSES:  # such as plain http where TLS is spoken by now
            self._doors.drop(request.endpoint)
        raise failures.of_status(answer, question)

    async def _answer_challenge(
        self, question: Question, refusal: Answer, request: Request, met: Challenge | None
    ) -> Answer:
        """Ask again as the refusal tells to; the refusal itself if that has been `met`."""
        wanted = next(iter(challenges(refusal.headers.getall("WWW-Authenticate", []))), None)
        if wanted is None:
            return refusal
        if not wanted.scope:
            wanted = msgspec.structs.replace(wanted, scope=request.scope)
        if wanted == met:
            return refusal
        self._authorization.forget(wanted, request.credential)
        permit = await self._authorization.permit(wanted, question.party, request.subject, request.credential)
        return await self._transport.ask(_with(question, permit.header)) if permit else refusal

    async def _door(self, endpoint: Endpoint) -> Door:
        async def work() -> Door:
            door = await self._knock(endpoint)
            self._doors.put(endpoint, door, self._limits.challenge_lifetime)
            return door

        return await self._turns.once(endpoint, lambda: self._doors.get(endpoint), work)

    async def _knock(self, endpoint: Endpoint) -> Door:
        """Try the endpoint's schemes in order; a certificate that is not trusted never leads to plain http."""
        for scheme in endpoint.schemes[:-1]:
            try:
                return await self._knock_with(endpoint, scheme)
            except CertificateRefused:
                raise
            except (InsecureConnection, ConnectionLost):
                continue
            except ConnectionRefused:
                if ":" in endpoint.host:
                    raise
        return await self._knock_with(endpoint, endpoint.schemes[-1])

    async def _knock_with(self, endpoint: Endpoint, scheme: str) -> Door:
        base = URL(f"{scheme}://{endpoint.host}/v2/")
        question = Question(party=party(endpoint), url=base, subject="/v2/", most_bytes=self._limits.page_bytes)
        answer = await self._transport.ask(question)
        if answer.status == 401:
            return Door(base, next(iter(challenges(answer.headers.getall("WWW-Authenticate", []))), None))
        if answer.status >= 500:
            raise failures.of_status(answer, question)
        return Door(base, None)


def party(endpoint: Endpoint) -> Party:
    """The endpoint as one who is asked."""
    login = endpoint.host if endpoint.mirrored else endpoint.registry
    return Party(str(endpoint), endpoint.registry, endpoint.host, login)


def _question(door: Door, request: Request) -> Question:
    return Question(
        party=party(request.endpoint),
        url=door.base.join(URL(request.path)),
        subject=request.subject,
        most_bytes=request.most_bytes,
        credential=request.credential,
        headers=request.headers,
    )


def _with(question: Question, authorization: str) -> Question:
    return msgspec.structs.replace(question, headers={**question.headers, "Authorization": authorization})
