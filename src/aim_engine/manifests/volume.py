"""The claim for the volume that the weights of one download object live on."""

from aim_engine.api import names
from aim_engine.core.derived_name import label_value
from aim_engine.core.downloads import Download
from aim_engine.objects import Manifest


def build(download: Download, name: str, request: str, storage_class: str) -> Manifest:
    """A claim that many pods on many nodes may mount; an empty class leaves the choice to the cluster."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": download.metadata.namespace, "labels": labels(download)},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": request}},
            **({"storageClassName": storage_class} if storage_class else {}),
        },
    }


def labels(download: Download) -> dict[str, str]:
    """By what users find the volume of an artifact or of a model."""
    source = download.spec.source_uri.partition("://")[2]
    made_by_cache = download.metadata.labels.get(names.LABEL_TEMPLATE_CREATED) == "true"
    found_by = {
        names.LABEL_CACHE_NAME: label_value(download.metadata.name),
        names.LABEL_ARTIFACT: label_value(download.metadata.name),
        names.LABEL_CACHE_TYPE: names.CACHE_TYPE_TEMPLATE_CACHE if made_by_cache else None,
        names.LABEL_SOURCE_MODEL: label_value(source),
    }
    return {key: value for key, value in found_by.items() if value}
