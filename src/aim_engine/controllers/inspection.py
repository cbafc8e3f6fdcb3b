"""Reading what an image says of itself, with the credentials its model may use."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from aim_engine.api.model import AIMModelSpec, Model
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import metadata, models, problems
from aim_engine.core.metadata import Malformed
from aim_engine.core.models import Inspection
from aim_engine.core.problems import Category, Failure, NetworkFault, Problem
from aim_engine.kube.errors import KubeError, NotFound
from aim_engine.objects import Key
from aim_engine.registry import credentials, errors
from aim_engine.registry.credentials import Keychain, PullSecret

FAILED: Final = "MetadataExtractionFailed"

REASONS: Final = (
    (errors.AccessRefused, Category.UNKNOWN, "ImagePullAuthFailure"),
    (errors.NotFound, Category.UNKNOWN, "ImageNotFound"),
    (errors.InvalidCredentials, Category.INFRASTRUCTURE, "SecretAccessFailed"),
)
"""What an answer is called; all others are `MetadataExtractionFailed`."""

FAULTS: Final = (
    (errors.NameNotResolved, NetworkFault.NAME_NOT_RESOLVED),
    (errors.ConnectionRefused, NetworkFault.REFUSED),
    (errors.ConnectionLost, NetworkFault.RESET),
    (errors.TimedOut, NetworkFault.TIMED_OUT),
    (errors.Unreachable, NetworkFault.OTHER),
    (errors.InsecureConnection, NetworkFault.OTHER),
)
"""What the network did if no answer came; the first that fits counts."""


async def inspect(model: Model, cluster: Cluster) -> Inspection:
    """The metadata of the image, or what is wrong."""
    assert model.spec is not None
    spec = model.spec
    keys = await keychain(spec, model.metadata.namespace or cluster.operator_namespace, cluster)
    if isinstance(keys, Problem):
        return Inspection(problem=keys)
    try:
        image = await cluster.registry.image(spec.image, keys, waited=models.waiting_for(model, datetime.now(UTC)))
    except errors.RegistryError as error:
        return Inspection(problem=problem(spec.image, error))
    found = metadata.of_labels(image.labels)
    if isinstance(found, Malformed):
        return Inspection(problem=Problem(Category.UNKNOWN, FAILED, f'image "{spec.image}": {found.message}'))
    return Inspection(found)


async def keychain(spec: AIMModelSpec, namespace: str, cluster: Cluster) -> Keychain | Problem:
    """The credentials of the pull secrets that the model names, which must exist, and of its service account.

    All of them live in `namespace`.
    """
    own = [reference.name for reference in spec.image_pull_secrets if reference.name]
    account = cluster.service_accounts.store.get(Key(namespace, spec.service_account_name or "default"))
    inherited = [reference.name for reference in account.image_pull_secrets if reference.name] if account else []
    secrets = await read(own, namespace, cluster, needed=True)
    more = await read([name for name in inherited if name not in own], namespace, cluster, needed=False)
    for problem in (secrets, more):
        if isinstance(problem, Problem):
            return problem
    found = [secret for part in (secrets, more) if not isinstance(part, Problem) for secret in part]
    try:
        return credentials.keychain(found)
    except errors.InvalidCredentials as error:
        return Problem(Category.INFRASTRUCTURE, "SecretAccessFailed", str(error))


async def read(wanted: Sequence[str], namespace: str, cluster: Cluster, *, needed: bool) -> list[PullSecret] | Problem:
    """The secrets of these names; one that is needed and missing is a problem."""
    found: list[PullSecret] = []
    for name in wanted:
        try:
            found.append(await cluster.pull_secret(Key(namespace, name)))
        except NotFound:
            if needed:
                return models.secret_missing(name, namespace)
        except KubeError as error:
            said = f'imagePullSecret "{name}" in namespace "{namespace}" cannot be read: {error.message}'
            return Problem(Category.INFRASTRUCTURE, "SecretAccessFailed", said)
    return found


def problem(image: str, error: errors.RegistryError) -> Problem:
    """A failure to read an image as its user reads it."""
    if fault := next((fault for kind, fault in FAULTS if isinstance(error, kind)), None):
        subject = error.host if fault is NetworkFault.NAME_NOT_RESOLVED else f"reading {error.host}"
        told = problems.of_failure(Failure(text=str(error), network=fault, subject=subject))
        return Problem(told.category, told.reason, f'{told.message} (image "{image}"): {error}')
    said = f'failed to fetch image "{image}": {error}'
    for kind, category, reason in REASONS:
        if isinstance(error, kind):
            return Problem(category, reason, said)
    return Problem(Category.UNKNOWN, FAILED, said)
