"""Where a plan runs: simulated ground, or a real control plane with kwok."""
