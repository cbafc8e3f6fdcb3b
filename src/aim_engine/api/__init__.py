"""The language of our users: the kinds of `aim.eai.amd.com/v1alpha1` as types, one file per concept. No I/O here.

kinds.py                                  the eleven kinds in one table
service, model, model_source, template,   what users write and read, a file per concept
template_cache, artifact, runtime_config
hardware, sources, runtime, autoscaling,  parts that several kinds share
image_metadata, environment, placement,
status, quantity
names, reasons                            labels, annotations, finalizers, conditions
declare, schema                           how a type says what its CRD says, and how that becomes one
foreign/                                  what we read of other people's kinds
"""
