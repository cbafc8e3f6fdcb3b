"""What a registry has: repositories and tags, page by page.

A listing that breaks off keeps what came before and says why it is not whole; whether that is enough is for the caller
to decide.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
from yarl import URL

from aim_engine.registry import distribution, failures
from aim_engine.registry.credentials import Credential
from aim_engine.registry.decoding import NotUnderstood, decode
from aim_engine.registry.distribution import Distribution, Request
from aim_engine.registry.endpoint import Endpoint
from aim_engine.registry.errors import MalformedAnswer, RegistryError
from aim_engine.registry.exchange import Answer, Party, Question
from aim_engine.registry.limits import Limits
from aim_engine.registry.reference import DOCKER_HUB, is_repository
from aim_engine.registry.transport import Transport

T = TypeVar("T")

CATALOG = "its catalog"
GHCR = "ghcr.io"
DOCKER_HUB_LISTING = "https://hub.docker.com"
GITHUB_API = "https://api.github.com"
NOBODY = ""
"""Docker Hub's listing takes no credentials."""
GITHUB_PAGE = 100
GITHUB_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}

_LINK = re.compile(r"<([^>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]+))*)")
_NEXT = re.compile(r";\s*rel\s*=\s*\"?next\"?(?=$|[\s;])", re.IGNORECASE)


class Listing(msgspec.Struct, frozen=True):
    """Names in the registry's order, each once, and why there may be more."""

    names: tuple[str, ...] = ()
    failure: RegistryError | None = None


class Page(msgspec.Struct, frozen=True):
    """Names, and where the next ones are, or why that cannot be told."""

    names: Sequence[str]
    next: str | RegistryError | None


class _Tags(msgspec.Struct):
    tags: tuple[str, ...] | None = None


class _Catalog(msgspec.Struct):
    repositories: tuple[str, ...] | None = None


class _Named(msgspec.Struct):
    name: str


class _HubPage(msgspec.Struct):
    results: tuple[_Named, ...]
    next: str | None = None


class Listings:
    """Asks registries, Docker Hub's listing and GitHub's packages for what they have."""

    def __init__(
        self, transport: Transport, source: Distribution, limits: Limits, *, docker_hub: str, github: str
    ) -> None:
        self._transport = transport
        self._source = source
        self._limits = limits
        self._docker_hub = URL(docker_hub)
        self._github = URL(github)

    async def tags(self, endpoint: Endpoint, repository: str, credential: Credential | None) -> Listing:
        """The tags of a repository."""
        path = endpoint.path(repository)
        request = self._request(endpoint, repository, f"repository:{path}:pull", credential)
        asked = _Asked(distribution.party(endpoint), repository)

        async def page(where: str) -> Page:
            answer = await self._source.read(msgspec.structs.replace(request, path=where))
            return Page(asked.decoded(answer.body, _Tags).tags or (), asked.next_link(answer))

        return await self._collect(f"{path}/tags/list?n={self._limits.page_size}", page, asked)

    async def catalog(self, endpoint: Endpoint, credential: Credential | None) -> Listing:
        """The repositories of a whole registry; of a mirror with a prefix those behind it, without it."""
        request = self._request(endpoint, CATALOG, "registry:catalog:*", credential)
        asked = _Asked(distribution.party(endpoint), CATALOG)

        async def page(where: str) -> Page:
            answer = await self._source.read(msgspec.structs.replace(request, path=where))
            paths = asked.decoded(answer.body, _Catalog).repositories or ()
            return Page([name for path in paths if (name := endpoint.name(path))], asked.next_link(answer))

        return _repositories(await self._collect(f"_catalog?n={self._limits.page_size}", page, asked))

    async def docker_hub(self, namespace: str) -> Listing:
        """The public repositories of a Docker Hub namespace."""
        party = Party("Docker Hub's listing", DOCKER_HUB, _host(self._docker_hub), NOBODY)
        asked = _Asked(party, f"namespace {namespace}")
        first = self._docker_hub / "v2/namespaces" / namespace / "repositories"

        async def page(where: str) -> Page:
            answer = await self._ask(self._question(asked, URL(where)))
            found = asked.decoded(answer.body, _HubPage)
            names = [f"{namespace}/{repository.name}" for repository in found.results]
            following = asked.at_the_same_host(answer.url, found.next) if found.next else None
            return Page(names, str(following) if isinstance(following, URL) else following)

        where = str(first.with_query(page_size=self._limits.hub_page_size))
        return _repositories(await self._collect(where, page, asked))

    async def github_packages(self, organisation: str, credential: Credential) -> Listing:
        """The container packages of a GitHub organisation, as repositories of ghcr.io."""
        party = Party("GitHub's package listing", GHCR, _host(self._github), GHCR)
        asked = _Asked(party, f"organisation {organisation}")
        packages = self._github / "orgs" / organisation / "packages"
        headers = {**GITHUB_HEADERS, "Authorization": f"Bearer {credential.password}"}

        async def page(where: str) -> Page:
            url = packages.with_query(package_type="container", per_page=GITHUB_PAGE, page=where)
            question = msgspec.structs.replace(self._question(asked, url), credential=credential, headers=headers)
            found = asked.decoded((await self._ask(question)).body, tuple[_Named, ...])
            names = [f"{organisation}/{package.name}" for package in found]
            return Page(names, str(int(where) + 1) if len(found) >= GITHUB_PAGE else None)

        return _repositories(await self._collect("1", page, asked))

    async def _collect(self, first: str, page: Callable[[str], Awaitable[Page]], asked: "_Asked") -> Listing:
        """All names from the first page on; a page that fails ends it, and is told beside what came before."""
        names: dict[str, None] = {}
        where: str | RegistryError | None = first
        seen: set[str] = set()
        while isinstance(where, str) and where not in seen and len(seen) < self._limits.pages:
            seen.add(where)
            try:
                found = await page(where)
            except RegistryError as failure:
                return Listing(tuple(names), failure)
            names.update(dict.fromkeys(found.names))
            where = found.next
        if isinstance(where, str):
            why = "its pages lead in a circle" if where in seen else "it has too many pages"
            where = asked.malformed(f"{why}; narrow the pattern, or name the repositories")
        return Listing(tuple(names), where)

    async def _ask(self, question: Question) -> Answer:
        answer = await self._transport.ask(question)
        if answer.status != 200:
            raise failures.of_status(answer, question)
        return answer

    def _question(self, asked: "_Asked", url: URL) -> Question:
        return Question(party=asked.party, url=url, subject=asked.subject, most_bytes=self._limits.page_bytes)

    def _request(self, endpoint: Endpoint, subject: str, scope: str, credential: Credential | None) -> Request:
        return Request(
            endpoint=endpoint,
            path="",
            subject=subject,
            scope=scope,
            most_bytes=self._limits.page_bytes,
            credential=credential,
        )


def _host(server: URL) -> str:
    """As people write it: without the port that goes without saying."""
    return server.host_port_subcomponent or ""


def _repositories(listing: Listing) -> Listing:
    """Only names that can be asked for."""
    return msgspec.structs.replace(listing, names=tuple(name for name in listing.names if is_repository(name)))


class _Asked(msgspec.Struct, frozen=True):
    """Who was asked for what, to read his answers and to tell what is wrong with them."""

    party: Party
    subject: str

    def malformed(self, why: str) -> MalformedAnswer:
        return failures.malformed(self.party, self.subject, why)

    def decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return decode(body, kind)
        except NotUnderstood:
            why = "its listing is not understood; check that it is a registry, and any proxy on the way"
            raise self.malformed(why) from None

    def next_link(self, answer: Answer) -> str | RegistryError | None:
        """The path of the next page that the Link headers name; only a path, it is asked where the first one was."""
        for header in answer.headers.getall("Link", []):
            for target, parameters in _LINK.findall(header):
                if _NEXT.search(parameters):
                    url = self.at_the_same_host(answer.url, target)
                    return url if isinstance(url, RegistryError) else url.raw_path_qs
        return None

    def at_the_same_host(self, current: URL, target: str) -> URL | RegistryError:
        """The address of the next page; credentials and trust do not follow to another host."""
        try:
            url = current.join(URL(target))
        except ValueError:
            url = URL()
        if url.host != current.host:
            return self.malformed("the next page of its listing is at another host; check the registry")
        return current.origin().join(url.relative())
