"""Every environment variable and flag of the operator, read once into one frozen value."""
