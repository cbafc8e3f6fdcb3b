"""A demo AIM image and its weights: what an image of AMD does on a GPU, on any CPU, with answers that show the weights.

`python -m aim_engine.local.demo dry-run --format=json` and `… serve` are the two ways in which the operator and KServe
start an AIM image; the node's image book says so for `registry.local/aim-demo`. `publish` puts the image's labels where
the registry stand-in finds them, and the weights where the hub stand-in does.
"""
