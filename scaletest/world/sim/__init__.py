"""The simulated world: the same program on virtual time, with clusters in memory."""
