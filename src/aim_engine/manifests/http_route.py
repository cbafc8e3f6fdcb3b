"""The Gateway API HTTPRoute for a service: one path prefix, cut off before the request reaches the pods."""

import msgspec

from aim_engine.api import names
from aim_engine.api.runtime import ParentReference, Routing
from aim_engine.core import durations
from aim_engine.core.derived_name import label_value
from aim_engine.core.naming import predictor
from aim_engine.core.service import Service
from aim_engine.objects import Manifest


def build(
    service: Service, name: str, inference_service: str, routing: Routing, gateway: ParentReference, path: str
) -> Manifest:
    """A route from this path of the gateway to the pods of the InferenceService."""
    namespace = service.metadata.namespace
    limit = durations.parse(routing.request_timeout) if routing.request_timeout else None
    timeouts = {"timeouts": {"request": durations.text(limit)}} if limit is not None else {}
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": path}}],
        "filters": [
            {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}}
        ],
        "backendRefs": [{"kind": "Service", "name": predictor(inference_service), "namespace": namespace, "port": 80}],
        **timeouts,
    }
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {
                names.LABEL_APP_COMPONENT: names.COMPONENT_ROUTING,
                names.LABEL_MANAGED_BY: "aim-engine",
                names.LABEL_SERVICE: label_value(service.metadata.name) or "unnamed",
            },
            **({"annotations": routing.annotations} if routing.annotations else {}),
        },
        "spec": {"parentRefs": [msgspec.to_builtins(gateway)], "rules": [rule]},
    }
