"""Narrow views of a container as a pod's spec has it: environment, mounts, probes, hooks."""

from typing import Literal

import msgspec

from aim_engine.objects import Wire

RestartPolicy = Literal["Always", "OnFailure", "Never"]


class KeySelector(Wire):
    """One key of a ConfigMap or Secret."""

    name: str = ""
    key: str
    optional: bool = False


class FieldSelector(Wire):
    """A field of the pod itself, such as `metadata.name` or `status.podIP`."""

    field_path: str


class ResourceSelector(Wire):
    """A request or limit of one container of the pod, such as `limits.memory`."""

    container_name: str = ""
    resource: str
    divisor: str = "0"


class EnvironmentSource(Wire):
    """Where the value of a variable comes from; exactly one is set."""

    field_ref: FieldSelector | None = None
    resource_field_ref: ResourceSelector | None = None
    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None


class EnvironmentVariable(Wire):
    """One entry of a container's `env`."""

    name: str
    value: str = ""
    value_from: EnvironmentSource | None = None


class WholeReference(Wire):
    """All keys of a ConfigMap or Secret."""

    name: str = ""
    optional: bool = False


class EnvironmentBundle(Wire):
    """One entry of a container's `envFrom`."""

    prefix: str = ""
    config_map_ref: WholeReference | None = None
    secret_ref: WholeReference | None = None


class ContainerPort(Wire):
    """A port that probes may name."""

    container_port: int
    name: str = ""


class VolumeMount(Wire):
    """Where a volume appears inside a container."""

    name: str
    mount_path: str
    sub_path: str = ""
    sub_path_expr: str = ""
    read_only: bool = False


class HttpHeader(Wire):
    """One header of an HTTP probe."""

    name: str
    value: str = ""


class HttpAction(Wire):
    """Ask by HTTP; 200 to 399 is a success."""

    port: int | str
    path: str = "/"
    host: str = ""
    scheme: Literal["HTTP", "HTTPS"] = "HTTP"
    http_headers: tuple[HttpHeader, ...] = ()


class TcpAction(Wire):
    """Open a connection; being accepted is a success."""

    port: int | str
    host: str = ""


class ExecAction(Wire):
    """Run a command inside the container; exit code 0 is a success."""

    command: tuple[str, ...] = ()


class GrpcAction(Wire):
    """Ask by the gRPC health protocol."""

    port: int
    service: str = ""


class SleepAction(Wire):
    """Wait; a way to delay the end of a container."""

    seconds: int = 0


class Probe(Wire):
    """A question asked again and again while a container runs."""

    http_get: HttpAction | None = None
    tcp_socket: TcpAction | None = None
    exec: ExecAction | None = None
    grpc: GrpcAction | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class Hook(Wire):
    """What to do after a container's start or before its end."""

    http_get: HttpAction | None = None
    tcp_socket: TcpAction | None = None
    exec: ExecAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Wire):
    """The hooks of a container."""

    post_start: Hook | None = None
    pre_stop: Hook | None = None


class Resources(Wire):
    """Requests and limits by resource name."""

    requests: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    limits: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class SecurityContext(Wire):
    """Who a container's process is."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool = False


class Container(Wire):
    """One container of a pod; `restart_policy` is only there for native sidecars among the init containers."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[EnvironmentVariable, ...] = ()
    env_from: tuple[EnvironmentBundle, ...] = ()
    resources: Resources = Resources()
    volume_mounts: tuple[VolumeMount, ...] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: Literal["File", "FallbackToLogsOnError"] = "File"
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    security_context: SecurityContext = SecurityContext()
    restart_policy: RestartPolicy | None = None
