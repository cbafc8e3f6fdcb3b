"""Finding the API server: a kubeconfig (KUBECONFIG, ~/.kube/config) or the files every pod is given."""

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import msgspec
import yaml

from aim_engine.kube.connection import Certificate, Connection, Pem
from aim_engine.kube.errors import Misconfigured
from aim_engine.kube.plugin import Plugin
from aim_engine.kube.timings import Timings
from aim_engine.objects import Wire

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

T = TypeVar("T")
Named = Annotated[str, msgspec.Meta(min_length=1)]


class ClusterPart(Wire, rename="kebab"):
    """`clusters[].cluster`."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class Variable(Wire):
    """One `exec.env` entry."""

    name: str
    value: str = ""


class ExecPart(Wire):
    """`users[].user.exec`."""

    command: str
    api_version: str = "client.authentication.k8s.io/v1"
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class UserPart(Wire, rename="kebab"):
    """`users[].user`."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    exec: ExecPart | None = None
    auth_provider: dict[str, Any] | None = None


class ContextPart(Wire):
    """`contexts[].context`."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(Wire):
    name: Named
    cluster: ClusterPart


class NamedUser(Wire):
    name: Named
    user: UserPart


class NamedContext(Wire):
    name: Named
    context: ContextPart


class Kubeconfig(Wire):
    """One file, as written."""

    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
    current_context: str = msgspec.field(default="", name="current-context")


def discover(
    kubeconfig: str = "",
    context: str = "",
    *,
    environment: Mapping[str, str] = os.environ,
    timings: Timings | None = None,
) -> Connection:
    """The named kubeconfig; else, inside a pod, the pod's own; else KUBECONFIG or ~/.kube/config."""
    if kubeconfig:
        return from_kubeconfig([Path(kubeconfig)], context, timings=timings)
    if environment.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        return in_cluster(environment=environment)
    listed = [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return from_kubeconfig(listed or [Path.home() / ".kube" / "config"], context, timings=timings)


def in_cluster(directory: Path = SERVICE_ACCOUNT, *, environment: Mapping[str, str] = os.environ) -> Connection:
    """The API server of the cluster this pod runs in, with the pod's service account."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise Misconfigured("not inside a cluster: KUBERNETES_SERVICE_HOST is not set")
    namespace = directory / "namespace"
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        authority=directory / "ca.crt",
        token_file=directory / "token",
    )


def from_kubeconfig(paths: Sequence[Path], context: str = "", *, timings: Timings | None = None) -> Connection:
    """The way a kubeconfig describes; of several files the first that names a thing decides."""
    present = [path.expanduser() for path in paths if path.expanduser().exists()]
    names = ", ".join(map(str, paths))
    if not present:
        raise Misconfigured(f"no kubeconfig: {names} does not exist; name one with --kubeconfig or KUBECONFIG")
    files = [(path.absolute(), _read(path)) for path in present]
    wanted = context or next((file.current_context for _, file in files if file.current_context), "")
    if not wanted:
        raise Misconfigured(f"kubeconfig {names} has no current-context; choose one with kubectl config use-context")
    _, used = _find("context", wanted, ((p, c.name, c.context) for p, f in files for c in f.contexts or ()))
    home, cluster = _find("cluster", used.cluster, ((p, c.name, c.cluster) for p, f in files for c in f.clusters or ()))
    if not cluster.server:
        raise Misconfigured(f"cluster {used.cluster!r} in kubeconfig {home} has no server")
    user_home, user = home, UserPart()
    if used.user:
        user_home, user = _find("user", used.user, ((p, u.name, u.user) for p, f in files for u in f.users or ()))
    return _connection(used.namespace, (home, cluster), (user_home, user), timings or Timings())


def _connection(
    namespace: str, at: tuple[Path, ClusterPart], who: tuple[Path, UserPart], timings: Timings
) -> Connection:
    (home, cluster), (user_home, user) = at, who
    if user.auth_provider is not None:
        raise Misconfigured(f"kubeconfig {user_home} uses auth-provider, which Kubernetes removed; use an exec plugin")
    chain = _pem(user_home, user.client_certificate, user.client_certificate_data, "client-certificate-data")
    key = _pem(user_home, user.client_key, user.client_key_data, "client-key-data")
    basic = base64.b64encode(f"{user.username}:{user.password}".encode()).decode() if user.username else None
    return Connection(
        server=cluster.server.rstrip("/"),
        namespace=namespace or "default",
        authority=_pem(
            home, cluster.certificate_authority, cluster.certificate_authority_data, "certificate-authority-data"
        ),
        insecure=cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name or None,
        proxy=cluster.proxy_url or None,
        certificate=Certificate(chain, key) if chain and key else None,
        token=user.token or None,
        token_file=user_home.parent / user.token_file if user.token_file else None,
        basic=basic,
        plugin=_plugin(user.exec, user_home, cluster, timings) if user.exec else None,
        headers=_impersonation(user),
    )


def _plugin(part: ExecPart, home: Path, cluster: ClusterPart, timings: Timings) -> Plugin:
    facts: dict[str, Any] = {
        "server": cluster.server,
        "certificate-authority-data": cluster.certificate_authority_data or None,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify or None,
        "tls-server-name": cluster.tls_server_name or None,
        "proxy-url": cluster.proxy_url or None,
    }
    return Plugin(
        command=str(home.parent / part.command) if "/" in part.command else part.command,
        arguments=part.args or (),
        environment={variable.name: variable.value for variable in part.env or ()},
        api_version=part.api_version,
        interactive=part.interactive_mode != "Never",
        cluster={name: fact for name, fact in facts.items() if fact} if part.provide_cluster_info else None,
        install_hint=part.install_hint,
        timings=timings,
    )


def _impersonation(user: UserPart) -> list[tuple[str, str]]:
    groups = [("Impersonate-Group", group) for group in user.impersonate_groups or ()]
    headers = [("Impersonate-User", user.impersonate), ("Impersonate-Uid", user.impersonate_uid), *groups]
    return [(name, value) for name, value in headers if value]


def _read(path: Path) -> Kubeconfig:
    try:
        return msgspec.convert(cast("object", yaml.safe_load(path.read_text())) or {}, Kubeconfig)
    except (OSError, yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise Misconfigured(f"can't read kubeconfig {path}: {' '.join(str(error).split())}") from error


def _find(what: str, name: str, entries: Iterator[tuple[Path, str, T]]) -> tuple[Path, T]:
    for path, entry, value in entries:
        if entry == name:
            return path, value
    raise Misconfigured(f"the kubeconfig has no {what} named {name!r}")


def _pem(home: Path, file: str, data: str, field: str) -> Pem | None:
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise Misconfigured(f"{field} in kubeconfig {home} is not base64: {error}") from error
    return home.parent / file if file else None
