"""The model that a source makes of an image it found, and how it makes one its own that nobody holds any more."""

from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.model import AIMClusterModel
from aim_engine.api.model_source import AIMClusterModelSource
from aim_engine.core.model_sources import Found, label
from aim_engine.core.parent import Parent
from aim_engine.core.plan import Patch, aim_target
from aim_engine.objects import Manifest


def build(source: AIMClusterModelSource, image: Found) -> Manifest:
    """A model of the image and nothing more, so that everything else is found out."""
    assert source.spec is not None
    secrets: Any = msgspec.to_builtins(source.spec.image_pull_secrets)
    return {
        "apiVersion": names.API_VERSION,
        "kind": "AIMClusterModel",
        "metadata": {
            "name": image.model_name,
            "labels": {
                names.LABEL_MODEL_SOURCE: label(source.metadata.name),
                names.LABEL_ORIGIN: names.ORIGIN_AUTO_GENERATED,
            },
            "annotations": {
                names.ANNOTATION_SOURCE_REGISTRY: image.registry,
                names.ANNOTATION_SOURCE_REPOSITORY: image.repository,
                names.ANNOTATION_SOURCE_TAG: image.reference,
            },
        },
        "spec": {"image": image.uri, **({"imagePullSecrets": secrets} if secrets else {})},
    }


def take_over(model: AIMClusterModel, parent: Parent) -> Patch:
    """Replace whose model it is, if nobody changed it meanwhile; all else stays."""
    key, value = parent.name_label
    return Patch(
        target=aim_target("AIMClusterModel", model.metadata),
        body={
            "metadata": {
                "resourceVersion": model.metadata.resource_version,
                "labels": {names.LABEL_MODEL_SOURCE: label(parent.metadata.name), key: value},
                "ownerReferences": [parent.owner_reference],
            }
        },
    )
