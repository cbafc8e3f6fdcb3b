"""What the labels of an AIM container image say about the model inside."""

from typing import Annotated

from aim_engine.api.declare import INT32, doc
from aim_engine.objects import Wire


class RecommendedDeployment(Wire):
    """A deployment the publisher of the image recommends; each becomes a service template."""

    gpu_model: Annotated[str | None, doc("GPU model, for example MI300X.")] = None
    gpu_count: Annotated[int | None, INT32, doc("GPUs per replica.")] = None
    precision: Annotated[str | None, doc("Recommended precision.")] = None
    metric: Annotated[str | None, doc("What the deployment is optimised for.")] = None
    profile_id: Annotated[str | None, doc("AIM profile to pin; copied to the template's `profileId`.")] = None
    description: Annotated[str | None, doc("Remarks of the publisher.")] = None


class ModelMetadata(Wire):
    """The model, as the AIM labels of the image describe it."""

    canonical_name: Annotated[str | None, doc("Canonical name, for example meta-llama/Llama-3.1-8B-Instruct.")] = None
    source: Annotated[str | None, doc("Where the model lives.")] = None
    tags: Annotated[tuple[str, ...], doc("Tags such as text-generation or chat.")] = ()
    versions: Annotated[tuple[str, ...], doc("Versions of the model in this image.")] = ()
    variants: Annotated[tuple[str, ...], doc("Variants of the model in this image.")] = ()
    hf_token_required: Annotated[bool | None, doc("Whether downloading the weights needs a Hugging Face token.")] = None
    title: Annotated[str | None, doc("Title for display.")] = None
    description_full: Annotated[str | None, doc("Long description.")] = None
    release_notes: Annotated[str | None, doc("What is new in this version.")] = None
    recommended_deployments: Annotated[
        tuple[RecommendedDeployment, ...], doc("Deployments the publisher recommends; each becomes a service template.")
    ] = ()


class OciMetadata(Wire):
    """The image, as its `org.opencontainers.image` labels describe it."""

    title: Annotated[str | None, doc("Title of the image.")] = None
    description: Annotated[str | None, doc("What the image is for.")] = None
    licenses: Annotated[str | None, doc("Licences of its contents, as an SPDX expression.")] = None
    vendor: Annotated[str | None, doc("Who distributes it.")] = None
    authors: Annotated[str | None, doc("Who is responsible for it.")] = None
    source: Annotated[str | None, doc("Address of its source code.")] = None
    documentation: Annotated[str | None, doc("Address of its documentation.")] = None
    created: Annotated[str | None, doc("When it was built.")] = None
    revision: Annotated[str | None, doc("Revision of its source code.")] = None
    version: Annotated[str | None, doc("Version of the packaged software.")] = None


class ImageMetadata(Wire):
    """What the labels of a container image say."""

    model: Annotated[ModelMetadata | None, doc("The model inside the image.")] = None
    oci: Annotated[OciMetadata | None, doc("The image itself.")] = None
    original_labels: Annotated[dict[str, str], doc("All labels of the image, unchanged.")] = {}
