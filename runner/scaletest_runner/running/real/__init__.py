"""A run on real clusters: the runner, the driver with the provider, and the engine, each a process of its own."""
