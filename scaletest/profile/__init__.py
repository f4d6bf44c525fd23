"""The door: strict YAML in, typed values or a full list of problems out."""
