"""The whole test resolved to data before anything starts: geometry, inventory, slots, arrivals, gates, preflight."""
