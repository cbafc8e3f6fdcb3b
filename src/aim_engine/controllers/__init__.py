"""The reconcilers: one pipeline, and one file per concept with what it fetches, observes, plans and reports."""
