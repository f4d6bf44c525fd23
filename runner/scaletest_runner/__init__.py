"""The application: commands, wiring and what a person sees in a terminal."""
