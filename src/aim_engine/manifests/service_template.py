"""The templates that a model makes: from what its image recommends, and from its own spec."""

from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.api.hardware import CpuRequirements, RuntimeParameters
from aim_engine.api.model import AIMModelSpec
from aim_engine.core import container_resources, sizes
from aim_engine.core.custom_templates import WantedTemplate
from aim_engine.core.derived_name import label_value
from aim_engine.core.recommendations import RecommendedTemplate
from aim_engine.objects import Manifest, ObjectMeta


def recommended(model: ObjectMeta, spec: AIMModelSpec, template: RecommendedTemplate) -> Manifest:
    """The template of a recommended deployment; discovery finds out the rest."""
    own = {"profileId": template.profile_id}
    return _template(model, template.name, {}, {**_common(model, spec, template.parameters), **own})


def custom(model: ObjectMeta, spec: AIMModelSpec, template: WantedTemplate) -> Manifest:
    """The template of an entry of the spec; with the weights of a custom model nothing has to be found out."""
    own = {
        "modelSources": msgspec.to_builtins(sizes.canonical(spec.model_sources)),
        "type": str(template.type),
        "env": msgspec.to_builtins(template.env),
        "resources": msgspec.to_builtins(container_resources.of_cpu(_cpu(template.parameters))),
    }
    alias = label_value(template.alias)
    labels = {names.LABEL_TEMPLATE_ALIAS: alias} if alias else {}
    return _template(model, template.name, labels, {**_common(model, spec, template.parameters), **own})


def _common(model: ObjectMeta, spec: AIMModelSpec, parameters: RuntimeParameters) -> dict[str, Any]:
    return {
        "modelName": model.name,
        **msgspec.to_builtins(parameters),
        "imagePullSecrets": msgspec.to_builtins(spec.image_pull_secrets),
        "serviceAccountName": spec.service_account_name,
    }


def _cpu(parameters: RuntimeParameters) -> CpuRequirements | None:
    return parameters.hardware.cpu if parameters.hardware else None


def _template(model: ObjectMeta, name: str, labels: dict[str, str], spec: dict[str, Any]) -> Manifest:
    metadata = {
        "name": name,
        **({"namespace": model.namespace} if model.namespace else {}),
        "labels": {
            names.LABEL_MODEL: label_value(model.name) or "unnamed",
            names.LABEL_ORIGIN: names.ORIGIN_AUTO_GENERATED,
            **labels,
        },
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": "AIMServiceTemplate" if model.namespace else "AIMClusterServiceTemplate",
        "metadata": metadata,
        "spec": {key: value for key, value in spec.items() if value},
    }
