"""What went wrong, as an error that people can act on: one place for every sentence about a request."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import aiohttp
import msgspec

from aim_engine.registry import errors
from aim_engine.registry.decoding import NotUnderstood, decode
from aim_engine.registry.errors import RegistryError
from aim_engine.registry.exchange import Answer, Party, Question

_CODE = re.compile(r"[A-Z][A-Z_]{2,40}")

NETWORK: Sequence[tuple[type[BaseException], type[RegistryError], str]] = (
    (
        aiohttp.ClientConnectorDNSError,
        errors.NameNotResolved,
        "the host name {host} of {party} cannot be resolved: check its spelling and the cluster's DNS",
    ),
    (
        aiohttp.ClientConnectorCertificateError,
        errors.CertificateRefused,
        "the certificate of {party} is not trusted ({cause}): name its CA with AIM_REGISTRY_CA_FILE, or renew it",
    ),
    (
        aiohttp.ClientSSLError,
        errors.InsecureConnection,
        "{party} cannot be spoken to over TLS: check that https is served at {host}",
    ),
    (
        TimeoutError,
        errors.TimedOut,
        "{party} did not answer in time: check that it runs and that the cluster's network lets {host} be reached",
    ),
    (
        aiohttp.ClientProxyConnectionError,
        errors.Unreachable,
        "the proxy on the way to {party} cannot be reached: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
    ),
    (
        aiohttp.ClientHttpProxyError,
        errors.Unreachable,
        "the proxy on the way to {party} refused the connection: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
    ),
    (
        ConnectionRefusedError,
        errors.ConnectionRefused,
        "{party} refused the connection: check that it runs and listens at {host}",
    ),
    (
        aiohttp.ClientConnectorError,
        errors.Unreachable,
        "{party} cannot be reached: check the cluster's network and that {host} is right",
    ),
    (
        aiohttp.TooManyRedirects,
        errors.MalformedAnswer,
        "{party} redirects again and again: check the registry's configuration",
    ),
    (
        aiohttp.ClientResponseError,
        errors.MalformedAnswer,
        "{host} does not answer as {party} should (no proper HTTP): check that a registry runs there",
    ),
    (
        aiohttp.InvalidURL,
        errors.MalformedAnswer,
        "{party} redirects to an address that is none: check the registry's configuration",
    ),
    (
        OSError,
        errors.ConnectionLost,
        "{party} ended the connection: check that it runs, and any proxy or firewall on the way",
    ),
    (
        aiohttp.ClientError,
        errors.ConnectionLost,
        "{party} ended the connection in the middle of its answer: check it, and any proxy on the way",
    ),
)
"""The first row whose exception fits, at any depth of causes, tells the kind and the sentence."""


def of_network(error: BaseException, party: Party) -> RegistryError:
    """The error for a request that got no whole answer."""
    causes = _causes(error)
    for exception, kind, sentence in NETWORK:
        for cause in causes:
            if isinstance(cause, exception):
                text = sentence.format(party=party.words, host=party.host, cause=_certificate_words(cause))
                return kind(text, registry=party.registry, host=party.host)
    raise error


class Refusal(NamedTuple):
    """What a status means, to one who came with credentials and to one without."""

    kind: type[RegistryError]
    known: str
    anonymous: str


STATUSES = {
    401: Refusal(
        errors.Unauthorized,
        "{party} refused the credentials of {who} for {subject}: check its user name and password",
        "{party} wants credentials for {subject} and there are none for it: check that it exists{or_secret}",
    ),
    403: Refusal(
        errors.Forbidden,
        "{party} does not let the user of {who} read {subject}: grant it pull access",
        "{party} does not let anonymous users read {subject}: check that it is public{or_secret}",
    ),
    404: Refusal(
        errors.NotFound,
        "{party} has no {subject}{code}: check the name, or publish it there",
        "{party} has no {subject}{code}: check the name, or publish it there",
    ),
}


def of_status(answer: Answer, question: Question) -> RegistryError:
    """The error for an answer that is not the one hoped for."""
    party, credential, code = question.party, question.credential, _code(answer)
    refusal = STATUSES.get(answer.status)
    if refusal is None:
        return errors.ServerFailed(
            f"{party.words} answered {question.subject} with HTTP status {answer.status}{code}: look at its logs, "
            "it is asked again later",
            registry=party.registry,
            host=party.host,
            status=answer.status,
        )
    sentence = (refusal.known if credential else refusal.anonymous).format(
        party=party.words,
        subject=question.subject,
        who=credential.source if credential else "",
        or_secret=f", or add a pull secret for {party.login}" if party.login else "",
        code=code,
    )
    return refusal.kind(sentence, registry=party.registry, host=party.host)


def malformed(party: Party, subject: str, why: str) -> errors.MalformedAnswer:
    """The error for an answer that makes no sense; `why` says what is wrong with it and what to do."""
    return errors.MalformedAnswer(
        f"{party.words} cannot be read for {subject}: {why}", registry=party.registry, host=party.host
    )


def unsendable(question: Question) -> errors.InvalidCredentials:
    """The error for credentials that no header can carry; they are not repeated."""
    party = question.party
    source = question.credential.source if question.credential else "this request"
    return errors.InvalidCredentials(
        f"the password of {source} cannot be sent to {party.words}: there is a line break in it, or another character "
        "that no token has; write the secret anew without it",
        registry=party.registry,
        host=party.host,
    )


def _causes(error: BaseException) -> list[BaseException]:
    """The error and what it was raised from, outermost first."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = getattr(cause, "os_error", None) or cause.__cause__
    return causes


def _certificate_words(error: BaseException) -> str:
    """What OpenSSL says against a certificate, without its numbers."""
    if not isinstance(error, aiohttp.ClientConnectorCertificateError):
        return ""
    return str(getattr(error.certificate_error, "verify_message", "") or "it cannot be verified")


class _Listed(msgspec.Struct):
    code: str = ""


class _Errors(msgspec.Struct):
    errors: list[_Listed] = []


def _code(answer: Answer) -> str:
    """The registry's own word for it, such as MANIFEST_UNKNOWN; its message is left out, as it may hold anything."""
    try:
        listed = decode(answer.body, _Errors).errors
    except NotUnderstood:
        return ""
    return f" ({listed[0].code})" if listed and _CODE.fullmatch(listed[0].code) else ""
