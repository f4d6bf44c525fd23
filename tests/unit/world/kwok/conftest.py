"""What tests of clients share."""

from fake_servers import no_keys

__all__ = ["no_keys"]
