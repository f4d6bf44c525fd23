"""The reference engine: a system under test that ships with the harness.

`decide` is its pure, synchronous heart. `reference` puts it to work: an agent per cluster makes demand rows, the shard
decides cycle by cycle, the execute pool carries out. All of it knows ports only.
"""

__all__: list[str] = []
