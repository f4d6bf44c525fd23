"""Pure functions of plan, evidence and verdict: JSON, JUnit, Markdown and what a terminal shows."""

from scaletest.report.junit import junit_text
from scaletest.report.markdown import markdown_text
from scaletest.report.summary_json import summary_text
from scaletest.report.verdict_json import VerdictError, read_verdict, verdict_text

__all__ = ["VerdictError", "junit_text", "markdown_text", "read_verdict", "summary_text", "verdict_text"]
