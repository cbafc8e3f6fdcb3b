"""Where the weights of a model come from."""

from typing import Annotated

from aim_engine.api.declare import doc, pattern
from aim_engine.api.environment import EnvVars
from aim_engine.api.quantity import Quantity
from aim_engine.objects import Wire

MODEL_ID_PATTERN = r"^[a-zA-Z0-9_-]+/[a-zA-Z0-9._-]+$"
SOURCE_URI_PATTERN = r"^(hf|s3)://[^ \t\r\n]+$"
MODEL_ID = pattern(MODEL_ID_PATTERN)
SOURCE_URI = pattern(SOURCE_URI_PATTERN)


class ModelSource(Wire):
    """One set of weights to download."""

    model_id: Annotated[
        str,
        doc("Canonical `{org}/{name}` of the model; pods find the weights in /workspace/model-cache/{org}/{name}."),
        MODEL_ID,
    ]
    source_uri: Annotated[
        str,
        doc("Where the weights are: `hf://org/model` for Hugging Face, `s3://bucket/key` for S3-compatible storage."),
        SOURCE_URI,
    ]
    size: Annotated[
        Quantity | None, doc("Size of the weights, which sizes the volume; found out by a job when absent or 0.")
    ] = None
    env: Annotated[
        EnvVars,
        doc("Variables, such as credentials, for this download only; they win over the enclosing `env` by name."),
    ] = ()
