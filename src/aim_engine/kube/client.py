"""The verbs of the Kubernetes API. Answers are decoded into the type asked for, or plain dicts if none is."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from types import TracebackType
from typing import Any, Literal

import msgspec
from typing_extensions import TypeVar

from aim_engine.kube.connection import Connection
from aim_engine.kube.errors import Gone, Status, Unparsable, from_status
from aim_engine.kube.resource import PODS, Resource
from aim_engine.kube.selection import EVERYTHING, Listing, Page, Selection, WatchEvent
from aim_engine.kube.timings import Timings
from aim_engine.kube.transport import JSON, Call, Fence, Observer, Transport
from aim_engine.objects import Key, Manifest

T = TypeVar("T", default=Manifest)

RAW: Any = dict
"""Asks for plain dicts."""

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
OPERATIONS = "application/json-patch+json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

Propagation = Literal["Background", "Foreground", "Orphan"]


class Client:
    """Speaks to one API server; use it inside `async with`."""

    def __init__(
        self,
        connection: Connection,
        timings: Timings | None = None,
        *,
        fence: Fence | None = None,
        observer: Observer | None = None,
        agent: str = "aim-engine",
    ) -> None:
        self.connection = connection
        self.timings = timings or Timings()
        self.observer = observer or Observer()
        self._transport = Transport(connection, self.timings, fence=fence, observer=self.observer, agent=agent)

    async def __aenter__(self) -> "Client":
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def read(self, path: str) -> bytes:
        """The answer to a plain GET of any path, such as `/readyz` or `/version`."""
        return await self._transport.answer(Call("GET", path, "get", path, accept="*/*"))

    async def get(self, resource: Resource, key: Key, into: type[T] = RAW) -> T:
        """One object; `NotFound` if it or its kind isn't there."""
        call = Call("GET", resource.path(*key), "get", str(resource), str(key))
        return await self._answer(call, into)

    async def list(self, resource: Resource, selection: Selection = EVERYTHING, into: type[T] = RAW) -> Listing[T]:
        """All objects of a selection; `Unparsable` if one of them is."""
        return await self.list_each(resource, selection, lambda raw: decode(raw, into, f"list {resource}"))

    async def list_each(
        self, resource: Resource, selection: Selection, read: Callable[[msgspec.Raw], T], *, metadata_only: bool = False
    ) -> Listing[T]:
        """All objects of a selection page by page, each given to `read` while its page is at hand."""
        limit, more, items = 500, "", list[T]()
        while True:
            query = {
                **selection.query(),
                **({"limit": str(limit)} if limit else {}),
                **({"continue": more} if more else {}),
            }
            accept = METADATA_LIST if metadata_only else JSON
            path = resource.path(selection.namespace)
            call = Call("GET", path, "list", str(resource), selection.namespace, query=query, accept=accept)
            try:
                page = decode(await self._transport.answer(call), Page, call.doing)
            except Gone:
                if not more:
                    raise
                # The list grew old between two pages: take it whole, as of now.
                limit, more, items = 0, "", list[T]()
                continue
            items.extend(map(read, page.items or ()))
            more = page.metadata.more
            if not more:
                return Listing(items, page.metadata.resource_version)

    async def watch(
        self,
        resource: Resource,
        selection: Selection,
        since: str,
        *,
        seconds: float,
        metadata_only: bool = False,
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[WatchEvent]:
        """What happens after `since`, bookmarks included, until the server ends it; an ERROR event is raised.

        `opened` is called when the server has accepted the watch, which may be long before the first event.
        """
        asked = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": since}
        query = {**selection.query(), **asked, "timeoutSeconds": str(max(1, round(seconds)))}
        accept = METADATA if metadata_only else JSON
        path = resource.path(selection.namespace)
        call = Call("GET", path, "watch", str(resource), selection.namespace, query=query, accept=accept)
        async with self._transport.stream(call) as stream, aclosing(_lines(stream.iter_any())) as lines:
            opened()
            async for line in lines:
                event = decode(line, WatchEvent, call.doing)
                if event.type == "ERROR":
                    raise from_status(decode(event.object, Status, call.doing), call.doing)
                yield event

    async def create(
        self,
        resource: Resource,
        manifest: Manifest,
        into: type[T] = RAW,
        *,
        manager: str = "",
        subresource: str = "",
    ) -> T:
        """The new object; `AlreadyExists` if the name is taken. A subresource (`token`) is created of the one named."""
        metadata = manifest.get("metadata", {})  # reviews have none
        namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
        query = {"fieldManager": manager} if manager else {}
        path = resource.path(namespace, name, subresource) if subresource else resource.path(namespace)
        call = Call("POST", path, "create", str(resource), str(Key(namespace, name)), query, _encode(manifest))
        return await self._answer(call, into)

    async def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        into: type[T] = RAW,
        *,
        manager: str,
        force: bool = False,
        subresource: str = "",
    ) -> T:
        """The object after a server-side apply; `Conflict` if another manager owns a field and `force` is not given."""
        query = {"fieldManager": manager, "force": "true" if force else "false"}
        key, body = resource.key(manifest), _encode(manifest)
        path = resource.path(*key, subresource)
        return await self._answer(Call("PATCH", path, "apply", str(resource), str(key), query, body, APPLY), into)

    async def replace(
        self,
        resource: Resource,
        manifest: Manifest,
        into: type[T] = RAW,
        *,
        manager: str = "",
        subresource: str = "",
    ) -> T:
        """The object after a whole update; `Conflict` if its resourceVersion is not the newest."""
        query = {"fieldManager": manager} if manager else {}
        key, body = resource.key(manifest), _encode(manifest)
        path = resource.path(*key, subresource)
        return await self._answer(Call("PUT", path, "update", str(resource), str(key), query, body), into)

    async def patch(
        self,
        resource: Resource,
        key: Key,
        change: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        into: type[T] = RAW,
        *,
        manager: str = "",
        subresource: str = "",
        strategic: bool = False,
    ) -> T:
        """The object after a merge patch (a mapping) or a JSON patch (a sequence of operations).

        A `strategic` merge, which only built-in kinds know, adds to lists with a key instead of replacing them.
        """
        query = {"fieldManager": manager} if manager else {}
        merge = STRATEGIC if strategic else MERGE
        kind = merge if isinstance(change, Mapping) else OPERATIONS
        path = resource.path(*key, subresource)
        call = Call("PATCH", path, "patch", str(resource), str(key), query, _encode(change), kind)
        return await self._answer(call, into)

    async def delete(
        self,
        resource: Resource,
        key: Key,
        *,
        uid: str = "",
        propagation: Propagation = "Background",
        grace: int | None = None,
    ) -> None:
        """Ask for the deletion; `NotFound` if it is gone, `Conflict` if it is another object than `uid` says."""
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": {"uid": uid} if uid else {},
        }
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        call = Call("DELETE", resource.path(*key), "delete", str(resource), str(key), body=_encode(options))
        await self._transport.answer(call)

    async def logs(
        self,
        key: Key,
        container: str = "",
        *,
        tail: int | None = None,
        limit: int | None = None,
        previous: bool = False,
    ) -> str:
        """What a container printed: its last `tail` lines, at most `limit` bytes."""
        asked = {
            "container": container,
            "tailLines": "" if tail is None else str(tail),
            "limitBytes": "" if limit is None else str(limit),
            "previous": "true" if previous else "",
        }
        query = {name: value for name, value in asked.items() if value}
        call = Call("GET", PODS.path(*key, "log"), "get", "pods/log", str(key), query, accept="*/*")
        return (await self._transport.answer(call)).decode(errors="replace")

    async def _answer(self, call: Call, into: type[T]) -> T:
        return decode(await self._transport.answer(call), into, call.doing)


def decode(content: bytes | msgspec.Raw, into: type[T], doing: str) -> T:
    """JSON as the type asked for; `Unparsable` says where it does not fit."""
    try:
        return _decoder(into).decode(content)
    except msgspec.DecodeError as error:
        raise Unparsable(f"can't {doing}: the answer is not what was asked for: {error}") from error


@cache
def _decoder(into: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(into)


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Whole lines of any length; a last one that was cut off is dropped."""
    pending: list[bytes] = []
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*pending, line))
            pending.clear()
        if rest:
            pending.append(rest)
