"""As much of the cluster's objects as a gateway reads."""

from typing import Final

import msgspec

from aim_engine.kube.resource import Resource
from aim_engine.objects import Condition, ObjectMeta, Wire

GROUP: Final = "gateway.networking.k8s.io"
CONTROLLER: Final = "aim.eai.amd.com/local-gateway"
CLASS: Final = "aim-local"

GATEWAY_CLASSES: Final = Resource(GROUP, "v1", "gatewayclasses", "GatewayClass", namespaced=False)
GATEWAYS: Final = Resource(GROUP, "v1", "gateways", "Gateway")
HTTP_ROUTES: Final = Resource(GROUP, "v1", "httproutes", "HTTPRoute")
REFERENCE_GRANTS: Final = Resource(GROUP, "v1beta1", "referencegrants", "ReferenceGrant")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICES: Final = Resource("", "v1", "services", "Service")


class GatewayClassSpec(Wire):
    controller_name: str = ""


class ClassStatus(Wire):
    conditions: tuple[Condition, ...] = ()


class GatewayClass(Wire):
    """Says which controller serves the Gateways of this class."""

    metadata: ObjectMeta
    spec: GatewayClassSpec = GatewayClassSpec()
    status: ClassStatus = ClassStatus()


class LabelExpression(Wire):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Wire):
    match_labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    match_expressions: tuple[LabelExpression, ...] = ()


class RouteNamespaces(Wire, rename={"source": "from"}):
    source: str = "Same"
    selector: LabelSelector | None = None


class RouteKind(Wire):
    kind: str
    group: str = GROUP


class AllowedRoutes(Wire):
    namespaces: RouteNamespaces = RouteNamespaces()
    kinds: tuple[RouteKind, ...] = ()


class Listener(Wire):
    """One way into a gateway."""

    name: str
    port: int
    protocol: str
    hostname: str = ""
    allowed_routes: AllowedRoutes = AllowedRoutes()


class GatewaySpec(Wire):
    gateway_class_name: str = ""
    listeners: tuple[Listener, ...] = ()


class ListenerStatus(Wire):
    name: str
    attached_routes: int = 0
    conditions: tuple[Condition, ...] = ()


class GatewayStatus(Wire):
    conditions: tuple[Condition, ...] = ()
    listeners: tuple[ListenerStatus, ...] = ()


class Gateway(Wire):
    metadata: ObjectMeta
    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus = GatewayStatus()


class ParentReference(Wire):
    """The gateway that a route wants to be attached to."""

    name: str
    group: str = GROUP
    kind: str = "Gateway"
    namespace: str | None = None
    section_name: str | None = None
    port: int | None = None


class PathMatch(Wire):
    type: str = "PathPrefix"
    value: str = "/"


class Match(Wire):
    path: PathMatch = PathMatch()
    method: str | None = None
    headers: tuple[dict[str, str], ...] = ()
    query_params: tuple[dict[str, str], ...] = ()


class PathModifier(Wire):
    type: str
    replace_full_path: str | None = None
    replace_prefix_match: str | None = None


class UrlRewrite(Wire):
    hostname: str | None = None
    path: PathModifier | None = None


class Filter(Wire):
    type: str
    url_rewrite: UrlRewrite | None = None


class BackendReference(Wire):
    name: str
    group: str = ""
    kind: str = "Service"
    namespace: str | None = None
    port: int | None = None
    weight: int = 1
    filters: tuple[Filter, ...] = ()


class Timeouts(Wire):
    request: str | None = None
    backend_request: str | None = None


class Rule(Wire):
    matches: tuple[Match, ...] = (Match(),)
    filters: tuple[Filter, ...] = ()
    backend_refs: tuple[BackendReference, ...] = ()
    timeouts: Timeouts = Timeouts()


class HTTPRouteSpec(Wire):
    parent_refs: tuple[ParentReference, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = (Rule(),)


class ParentStatus(Wire):
    """What one controller says of a route and one of its parents."""

    parent_ref: ParentReference
    controller_name: str = ""
    conditions: tuple[Condition, ...] = ()


class HTTPRouteStatus(Wire):
    parents: tuple[ParentStatus, ...] = ()


class HTTPRoute(Wire):
    metadata: ObjectMeta
    spec: HTTPRouteSpec = HTTPRouteSpec()
    status: HTTPRouteStatus = HTTPRouteStatus()


class GrantFrom(Wire):
    group: str
    kind: str
    namespace: str


class GrantTo(Wire):
    kind: str
    group: str = ""
    name: str | None = None


class ReferenceGrantSpec(Wire, rename={"sources": "from", "targets": "to"}):
    sources: tuple[GrantFrom, ...] = ()
    targets: tuple[GrantTo, ...] = ()


class ReferenceGrant(Wire):
    """Allows routes of another namespace to name Services of this one."""

    metadata: ObjectMeta
    spec: ReferenceGrantSpec = ReferenceGrantSpec()


class ServicePort(Wire):
    port: int
    target_port: int | str | None = None


class ServiceSpec(Wire):
    selector: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    ports: tuple[ServicePort, ...] = ()


class Service(Wire):
    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ContainerPort(Wire):
    container_port: int
    name: str = ""


class Container(Wire):
    ports: tuple[ContainerPort, ...] = ()


class PodSpec(Wire):
    containers: tuple[Container, ...] = ()


class PodCondition(Wire):
    type: str
    status: str


class PodStatus(Wire, rename={"pod_ip": "podIP", "conditions": "conditions"}):
    pod_ip: str = ""
    conditions: tuple[PodCondition, ...] = ()


class Pod(Wire):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Namespace(Wire):
    metadata: ObjectMeta
