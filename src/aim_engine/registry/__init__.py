"""Container registries: who may read what, and what an image says of itself. It knows nothing of AIM's kinds."""
