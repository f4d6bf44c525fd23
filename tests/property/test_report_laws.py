"""Laws of the outputs: any text survives, totals agree, bytes are stable, and no cap is exceeded."""

from collections import Counter
from html.parser import HTMLParser
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from rich.console import Console
from verdict_examples import RECORD, gate, texts, verdict, verdicts

from scaletest.gates.outcomes import Outcome, RunOutcome, Verdict
from scaletest.report.junit import junit_text
from scaletest.report.markdown import markdown_text
from scaletest.report.verdict_json import read_verdict, verdict_text
from scaletest.report.wording import visible, worst_first
from scaletest_runner.verdict_view import print_verdict


@given(verdicts())
def test_what_is_written_as_json_is_read_back(each: Verdict) -> None:
    assert read_verdict(verdict_text(each)) == each


@given(verdicts())
def test_equal_verdicts_give_equal_bytes(each: Verdict) -> None:
    assert verdict_text(read_verdict(verdict_text(each))) == verdict_text(each)


@given(verdicts())
def test_every_text_survives_junit(each: Verdict) -> None:
    (suite,) = JUnitXml.fromstring(junit_text(each, RECORD))
    cases = list(suite)
    assert suite.name == visible(each.profile)
    expected = [*(g.name for g in each.gates), *(name for name, _, _ in each.phases), "validity"]
    assert [case.name for case in cases] == [visible(name) for name in expected]
    for found, given_gate in zip(cases, each.gates, strict=False):
        if given_gate.outcome in {Outcome.FAIL, Outcome.UNMEASURED}:
            (result,) = found.result
            wanted = (given_gate.reason, given_gate.window, given_gate.source, given_gate.look_at)
            assert all(visible(text) in result.text for text in wanted)


@given(verdicts())
def test_totals_of_junit_are_those_of_its_cases(each: Verdict) -> None:
    whole = JUnitXml.fromstring(junit_text(each, RECORD))
    (suite,) = whole
    kinds = Counter(type(result) for case in suite for result in case.result)
    for level in (whole, suite):
        assert level.tests == len(list(suite)) == len(each.gates) + len(each.phases) + 1
        assert (level.failures, level.errors, level.skipped) == (kinds[Failure], kinds[Error], kinds[Skipped])
        assert level.time == sum(case.time for case in suite)


@given(verdicts())
def test_junit_is_green_only_when_the_run_passed(each: Verdict) -> None:
    (suite,) = JUnitXml.fromstring(junit_text(each, RECORD))
    assert suite.failures or suite.errors or each.outcome is RunOutcome.PASS


@given(verdicts(), st.integers(1024, 20_000))
def test_markdown_never_exceeds_its_cap(each: Verdict, cap: int) -> None:
    assert len(markdown_text(each, cap_bytes=cap).encode()) <= cap


@given(texts(), st.integers(0, 1000), st.integers(1, 9))
def test_markdown_of_many_long_texts_never_exceeds_its_cap(text: str, repeat: int, count: int) -> None:
    long = text * repeat
    many = verdict(*[gate(long, reason=long, look_at=long)] * count, profile=long, reason=long)
    assert len(markdown_text(many, cap_bytes=20_000).encode()) <= 20_000


class _Cells(HTMLParser):
    """The table cells of a page as texts, and every element that it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self._inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.add(tag)
        if tag == "td":
            self._inside = True
            self.cells.append("")
        elif tag == "br" and self._inside:
            self.cells[-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.cells[-1] += data


@given(verdicts())
def test_every_text_survives_markdown(each: Verdict) -> None:
    page = _Cells(MarkdownIt("commonmark").enable("table").render(markdown_text(each)))
    ours = {"h2", "h3", "p", "strong", "em", "br", "ul", "li", "details", "summary"}
    assert page.tags <= ours | {"table", "thead", "tbody", "tr", "th", "td"}
    assert len(page.cells) == 9 * len(each.gates)
    for place, one in enumerate(worst_first(each.gates)):
        assert page.cells[9 * place].split() == visible(one.name).split()
        assert page.cells[9 * place + 6].split() == visible(one.window).split()


@given(verdicts(), st.sampled_from([40, 80, 160]))
def test_any_verdict_can_be_printed_and_nothing_in_it_moves_the_cursor(each: Verdict, width: int) -> None:
    file = StringIO()
    print_verdict(each, Console(file=file, width=width, highlight=False))
    text = file.getvalue()
    assert visible(text) == text
    assert text.encode()
