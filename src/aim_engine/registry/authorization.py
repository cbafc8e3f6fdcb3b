"""What a registry wants to hear before it answers: challenges, tokens and the Authorization header."""

import re
from collections.abc import Sequence

import msgspec
from yarl import URL

from aim_engine.registry import failures
from aim_engine.registry.cache import Expiring, Turns
from aim_engine.registry.credentials import Credential
from aim_engine.registry.decoding import NotUnderstood, decode
from aim_engine.registry.endpoint import may_speak_plain_http
from aim_engine.registry.exchange import Party, Question
from aim_engine.registry.limits import Limits
from aim_engine.registry.transport import Transport

CLIENT = "aim-engine"
REMEMBERED_TOKENS = 10_000

_PIECE = re.compile(
    r'(?P<key>[\w-]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s",]+))|(?P<scheme>[A-Za-z][\w-]*)'
)


class Challenge(msgspec.Struct, frozen=True):
    """One way in that a registry offers; the scheme is in lower case."""

    scheme: str
    realm: str = ""
    service: str = ""
    scope: str = ""


class Permit(msgspec.Struct, frozen=True):
    """An Authorization header, and whether it was asked for just now."""

    header: str
    fresh: bool

    def __repr__(self) -> str:
        return f"Permit(fresh={self.fresh})"


def challenges(headers: Sequence[str]) -> tuple[Challenge, ...]:
    """The challenges of WWW-Authenticate headers that we can meet: Bearer before Basic."""
    found: list[dict[str, str]] = []
    for header in headers:
        challenge: dict[str, str] = {}
        for piece in _PIECE.finditer(header):
            if piece["scheme"]:
                challenge = {"scheme": piece["scheme"].lower()}
                found.append(challenge)
            else:
                value = piece["bare"] or re.sub(r"\\(.)", r"\1", piece["quoted"] or "")
                challenge.setdefault(piece["key"].lower(), value)
    known = [challenge for challenge in found if challenge["scheme"] in ("bearer", "basic")]
    known.sort(key=lambda challenge: challenge["scheme"], reverse=True)
    return tuple(msgspec.convert(challenge, Challenge) for challenge in known)


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""
    expires_in: float | None = None


class Authorization:
    """Meets challenges; tokens are kept until shortly before they end."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits
        self._tokens: Expiring[tuple[Challenge, Credential | None], str] = Expiring(REMEMBERED_TOKENS)
        self._turns: Turns[tuple[Challenge, Credential | None]] = Turns()

    async def permit(
        self, challenge: Challenge, party: Party, subject: str, credential: Credential | None
    ) -> Permit | None:
        """What to send to meet the challenge; None if we have nothing to say to it."""
        if challenge.scheme == "basic":
            return Permit(credential.basic, fresh=True) if credential and credential.password else None
        key = (challenge, credential)

        def look() -> Permit | None:
            token = self._tokens.get(key)
            return Permit(f"Bearer {token}", fresh=False) if token else None

        async def work() -> Permit:
            token, lifetime = await self._request_token(challenge, party, subject, credential)
            self._tokens.put(key, token, lifetime - self._limits.token_margin)
            return Permit(f"Bearer {token}", fresh=True)

        return await self._turns.once(key, look, work)

    def forget(self, challenge: Challenge, credential: Credential | None) -> None:
        """The registry no longer takes the token."""
        self._tokens.drop((challenge, credential))

    async def _request_token(
        self, challenge: Challenge, party: Party, subject: str, credential: Credential | None
    ) -> tuple[str, float]:
        question = self._token_question(challenge, party, subject, credential)
        answer = await self._transport.ask(question)
        if answer.status != 200:
            raise failures.of_status(answer, question)
        try:
            decoded = decode(answer.body, _Token)
        except NotUnderstood:
            decoded = _Token()
        token = decoded.token or decoded.access_token
        if not token or not token.isascii() or not token.isprintable():
            raise failures.malformed(question.party, subject, "there is no token in its answer; check the token server")
        return token, decoded.expires_in or self._limits.token_lifetime

    def _token_question(
        self, challenge: Challenge, party: Party, subject: str, credential: Credential | None
    ) -> Question:
        realm = _address(challenge.realm)
        if realm is None:
            raise failures.malformed(party, subject, "the token server that it names is no http or https address")
        server = Party(
            f"the token server {realm.authority} of {party.words}", party.registry, realm.authority, party.login
        )
        asked = {"service": challenge.service, "scope": challenge.scope}
        question = Question(
            party=server, url=realm, subject=subject, most_bytes=self._limits.token_bytes, credential=credential
        )
        if realm.scheme == "http" and not may_speak_plain_http(realm.authority) and realm.authority != party.host:
            raise failures.malformed(server, subject, "it wants credentials over plain http; make it serve https")
        if credential and credential.identity_token:
            form = {"grant_type": "refresh_token", "client_id": CLIENT, "refresh_token": credential.identity_token}
            return msgspec.structs.replace(question, form={**form, **asked})
        headers = {"Authorization": credential.basic} if credential else {}
        url = realm.update_query({name: value for name, value in asked.items() if value})
        return msgspec.structs.replace(question, url=url, headers=headers)


def _address(text: str) -> URL | None:
    try:
        url = URL(text)
    except ValueError:
        return None
    return url if url.scheme in ("http", "https") and url.host and not url.user else None
