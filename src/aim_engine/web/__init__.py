"""What the operator serves over HTTP: probes, metrics and the dashboard."""
