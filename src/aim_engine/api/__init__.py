"""The language of our users: the kinds of `aim.eai.amd.com/v1alpha1` as types, one file per concept. No I/O here."""
