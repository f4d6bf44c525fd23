"""The scaletest library: profile, catalog, plan; imports point downwards only (docs/architecture.md)."""
