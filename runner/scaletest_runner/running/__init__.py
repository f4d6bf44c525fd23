"""A run: the phases, the stage they play on, and the record that is kept of them."""
