"""Labels that children get from their parent: what propagates, and by what they are found."""

from collections.abc import Mapping

from aim_engine.api import names
from aim_engine.api.runtime_config import LabelPropagation
from aim_engine.core import globs
from aim_engine.core.parent import Parent
from aim_engine.objects import Manifest

_OWN_PREFIX = f"{names.GROUP}/"


def propagated(labels: Mapping[str, str], propagation: LabelPropagation | None) -> dict[str, str]:
    """The labels of a parent that its children get too: the operator's own always, others as the config says."""
    patterns = propagation.match if propagation and propagation.enabled else ()
    return {
        key: value
        for key, value in labels.items()
        if key.startswith(_OWN_PREFIX) or any(globs.matches(pattern, key) for pattern in patterns)
    }


def dressed(child: Manifest, parent: Parent, propagation: LabelPropagation | None) -> Manifest:
    """The child with its parent's labels; what it says itself is never overwritten.

    Pods of a Job get them as well, all but the one that names who manages the object.
    """
    inherited = propagated(parent.metadata.labels, propagation)
    key, value = parent.name_label
    for_pods = {key: value, **inherited}
    managed = {names.LABEL_MANAGED_BY: parent.field_owner}
    labelled = _with_labels(child, {**managed, **for_pods})
    return _with_pod_labels(labelled, for_pods) if child.get("kind") == "Job" else labelled


def _with_labels(thing: Manifest, labels: Mapping[str, str]) -> Manifest:
    metadata = thing.get("metadata", {})
    return {**thing, "metadata": {**metadata, "labels": {**labels, **metadata.get("labels", {})}}}


def _with_pod_labels(job: Manifest, labels: Mapping[str, str]) -> Manifest:
    spec = job.get("spec", {})
    return {**job, "spec": {**spec, "template": _with_labels(spec.get("template", {}), labels)}}
