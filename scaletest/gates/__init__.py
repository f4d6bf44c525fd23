"""Evidence in, verdict out: one file per family of gate. Pure: the same bytes on any machine, any day."""
