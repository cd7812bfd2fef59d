"""One folder a provider. They do not know one another."""
