"""Container registries: who may read what, and what an image says of itself. It knows nothing of AIM's kinds.

    async with Registry(mirrors=mirrors.parse(settings.registry_mirrors)) as registry:
        keychain = credentials.keychain([PullSecret(name, type, data), ...])
        image = await registry.image("ghcr.io/acme/aim:1.0", keychain)
        image.labels["com.amd.aim.model.canonicalName"]

Failures of one image are raised, as one of the tree in `errors`; a listing carries its failure beside what it found.
"""

from aim_engine.registry.client import Registry
from aim_engine.registry.credentials import Keychain, PullSecret
from aim_engine.registry.images import Image
from aim_engine.registry.limits import Limits
from aim_engine.registry.listing import Listing

__all__ = ["Image", "Keychain", "Limits", "Listing", "PullSecret", "Registry"]
