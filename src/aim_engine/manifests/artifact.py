"""The download object that a template cache makes for a source nobody holds yet."""

from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.sources import ModelSource
from aim_engine.api.template_cache import TemplateScope
from aim_engine.core import merge, naming
from aim_engine.core.derived_name import label_value
from aim_engine.core.template_caches import Cache
from aim_engine.objects import Manifest


def build(cache: Cache, source: ModelSource, index: int, scope: TemplateScope) -> Manifest:
    """An AIMArtifact with the cache's settings; `index` is the place of the source, `scope` where the template is."""
    spec = cache.spec
    env = merge.variables(spec.env, source.env)
    storage_class = spec.storage_class_name or ""
    dedicated_to = None if cache.is_shared else cache.metadata.name
    headroom = cache.metadata.annotations.get(names.ANNOTATION_HEADROOM)
    wanted: dict[str, Any] = {
        "sourceUri": source.source_uri,
        "modelId": source.model_id,
        "size": source.size,
        "storageClassName": storage_class,
        "env": msgspec.to_builtins(env),
        "modelDownloadImage": spec.download_image,
        "imagePullSecrets": msgspec.to_builtins(spec.image_pull_secrets),
        "runtimeConfigName": spec.runtime_config_name,
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": "AIMArtifact",
        "metadata": {
            "name": naming.artifact(source.source_uri, env, storage_class, dedicated_to),
            "namespace": cache.metadata.namespace,
            "labels": {
                names.LABEL_TEMPLATE_CREATED: "true",
                names.LABEL_TEMPLATE_NAME: label_value(spec.template_name),
                names.LABEL_TEMPLATE_SCOPE: str(scope),
                names.LABEL_TEMPLATE_INDEX: str(index),
                names.LABEL_TEMPLATE_CACHE_NAME: label_value(cache.metadata.name),
            },
            **({"annotations": {names.ANNOTATION_HEADROOM: headroom}} if headroom is not None else {}),
        },
        "spec": {name: value for name, value in wanted.items() if value},
    }
