"""Container registries: who may read what, and what an image says of itself. It knows nothing of AIM's kinds.

    async with Registry(mirrors=mirrors.parse(settings.registry_mirrors)) as registry:
        keychain = credentials.keychain([PullSecret(name, type, data), ...])
        image = await registry.image("ghcr.io/acme/aim:1.0", keychain)
        image.labels["com.amd.aim.model.canonicalName"]

`client` has the Registry. Failures of one image are raised, as one of the tree in `errors`; a listing carries its
failure beside what it found.
"""
