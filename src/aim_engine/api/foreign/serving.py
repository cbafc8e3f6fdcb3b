"""What serves a model: KServe, autoscaling and the Gateway API."""

from aim_engine.api.foreign.common import ForeignCondition
from aim_engine.objects import Manifest, ObjectMeta, Wire


class PredictorContainer(Wire):
    name: str = ""
    image: str = ""
    volume_mounts: tuple[Manifest, ...] = ()


class Predictor(Wire):
    """Volumes and mounts stay plain dicts: the operator hands those of an existing service on as they are."""

    containers: tuple[PredictorContainer, ...] = ()
    volumes: tuple[Manifest, ...] = ()
    min_replicas: int | None = None
    max_replicas: int | None = None


class InferenceServiceSpec(Wire):
    predictor: Predictor = Predictor()


class InferenceServiceStatus(Wire):
    conditions: tuple[ForeignCondition, ...] = ()
    url: str = ""


class InferenceService(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: InferenceServiceSpec = InferenceServiceSpec()
    status: InferenceServiceStatus = InferenceServiceStatus()


class HorizontalPodAutoscalerSpec(Wire):
    min_replicas: int | None = None
    max_replicas: int = 0


class HorizontalPodAutoscalerStatus(Wire):
    current_replicas: int | None = None
    desired_replicas: int | None = None
    conditions: tuple[ForeignCondition, ...] = ()


class HorizontalPodAutoscaler(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
    status: HorizontalPodAutoscalerStatus = HorizontalPodAutoscalerStatus()


class Parent(Wire):
    """A Gateway a route attaches to, with the Gateway API's defaults."""

    group: str = "gateway.networking.k8s.io"
    kind: str = "Gateway"
    namespace: str | None = None
    name: str = ""
    section_name: str | None = None
    port: int | None = None


class PathMatch(Wire):
    type: str = "PathPrefix"
    value: str = "/"


class RouteMatch(Wire):
    path: PathMatch = PathMatch()


class RouteRule(Wire):
    matches: tuple[RouteMatch, ...] = ()


class HTTPRouteSpec(Wire):
    parent_refs: tuple[Parent, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[RouteRule, ...] = ()


class RouteParentStatus(Wire):
    parent_ref: Parent = Parent()
    conditions: tuple[ForeignCondition, ...] = ()


class HTTPRouteStatus(Wire):
    parents: tuple[RouteParentStatus, ...] = ()


class HTTPRoute(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: HTTPRouteSpec = HTTPRouteSpec()
    status: HTTPRouteStatus = HTTPRouteStatus()
