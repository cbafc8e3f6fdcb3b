"""The cache that a template asks for: its weights, fetched before the first service needs them."""

from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.template import AIMServiceTemplate
from aim_engine.api.template_cache import TemplateScope
from aim_engine.objects import Manifest


def of_template(template: AIMServiceTemplate) -> Manifest:
    """A cache of the template's own name; that of a derived template is on the storage its service asked for."""
    assert template.spec is not None
    spec, caching = template.spec, template.spec.caching
    env = (caching.env if caching else ()) or spec.env
    wanted: dict[str, Any] = {
        "templateName": template.metadata.name,
        "templateScope": str(TemplateScope.NAMESPACE),
        "env": msgspec.to_builtins(env),
        "storageClassName": template.metadata.annotations.get(names.ANNOTATION_STORAGE_CLASS),
        "runtimeConfigName": spec.runtime_config_name,
    }
    headroom = template.metadata.annotations.get(names.ANNOTATION_HEADROOM)
    return {
        "apiVersion": names.API_VERSION,
        "kind": "AIMTemplateCache",
        "metadata": {
            "name": template.metadata.name,
            "namespace": template.metadata.namespace,
            **({"annotations": {names.ANNOTATION_HEADROOM: headroom}} if headroom is not None else {}),
        },
        "spec": {name: value for name, value in wanted.items() if value},
    }
