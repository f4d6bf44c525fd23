"""Pure functions of plan, evidence and verdict: JSON, JUnit, Markdown and what a terminal shows."""
