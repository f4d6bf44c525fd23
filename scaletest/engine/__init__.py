"""The reference engine: a system under test that ships with the harness. `decide` is its pure, synchronous heart."""

__all__: list[str] = []
