"""The world of real API servers and real metrics: the only room with processes and foreign clients."""
