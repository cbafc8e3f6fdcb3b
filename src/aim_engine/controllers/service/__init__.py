"""AIMService: one manifest becomes a served model."""
