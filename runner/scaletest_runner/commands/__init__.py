"""The commands of the program, one module each; a module imports what it needs only when its command runs."""
