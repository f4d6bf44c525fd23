"""The ports: what the engine, the load and the run's phases may ask of a world. No caller can tell which one it is in.

Protocols and small frozen values, nothing that does anything. Instants are microseconds of the run's clock.
"""
