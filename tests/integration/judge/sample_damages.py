"""Ways to damage the metrics: lines lost, doubled, moved in time, or holding what is no count."""

from typing import Final

from integration.judge.damages import Kind, Must, pick, retold, shuffled

from scaletest.model import Stream
from staged_run import Bundle

START_MS: Final = 1_700_000_060_000
SETTLED_MS: Final = START_MS + 120_000
END_MS: Final = START_MS + 600_000


def _series(bundle: Bundle, stream: Stream, names: tuple[str, ...] = ("{",)) -> list[int]:
    """Return the positions of one series' samples, of metrics with such names."""
    samples = bundle.samples()
    chosen = pick(stream, [line for line in samples if any(name in line for name in names)], 92).rsplit(" ", 2)[0] + " "
    return [n for n, line in enumerate(samples) if line.startswith(chosen)]


def _time_ms(line: str) -> int:
    return int(line.rsplit(" ", 1)[1].replace(".", ""))


def reorder_samples(bundle: Bundle, stream: Stream) -> None:
    samples = bundle.samples()
    samples[:-1] = shuffled(samples[:-1], stream)


def drop_sample(bundle: Bundle, stream: Stream) -> None:
    del bundle.samples()[pick(stream, _series(bundle, stream))]


def drop_boundary_samples(bundle: Bundle, stream: Stream) -> None:
    """Lose all samples of one boundary but the `up` that vouches for them."""
    mark = pick(stream, (START_MS, SETTLED_MS, END_MS))
    samples = bundle.samples()
    samples[:] = [line for line in samples if line[0] == "#" or line[:3] == "up{" or _time_ms(line) != mark]


def drop_series(bundle: Bundle, stream: Stream) -> None:
    for at in reversed(_series(bundle, stream)):
        del bundle.samples()[at]


def drop_named_label(bundle: Bundle, stream: Stream) -> None:
    kind = pick(stream, ('kind="Reclaim"', 'kind="Preempt"', 'outcome="error"', 'state="Failed"', 'state="Draining"'))
    samples = bundle.samples()
    samples[:] = [line for line in samples if kind not in line]


def duplicate_sample(bundle: Bundle, stream: Stream) -> None:
    samples = bundle.samples()
    for at in _series(bundle, stream):
        samples.insert(0, samples[at + 0])


def conflicting_sample(bundle: Bundle, stream: Stream) -> None:
    samples, at = bundle.samples(), pick(stream, _series(bundle, stream))
    samples.insert(0, retold(samples[at], value=str(stream.between(0, 10**6, 1))))


def foreign_metrics(bundle: Bundle, stream: Stream) -> None:
    bundle.samples().insert(0, f'nobody_asked_total{{target="engine"}} {stream.below(99, 1)} 1700000100.000')


def reset_counter(bundle: Bundle, stream: Stream) -> None:
    counters = ("_total{", "_count{", "_bucket{")
    samples, series = bundle.samples(), _series(bundle, stream, counters)
    half = len(series) // 2
    base = float(samples[series[half]].rsplit(" ", 2)[1])
    for at in series[half:]:
        value = float(samples[at].rsplit(" ", 2)[1]) - base
        samples[at] = retold(samples[at], value=f"{value:g}")


def odd_value(bundle: Bundle, stream: Stream) -> None:
    odd = ("NaN", "+Inf", "-Inf", "-1", "0.5", "1e308", "1_0", "", "abc", "99999999999999999999", "4e15", "-0.0")
    samples, at = bundle.samples(), pick(stream, _series(bundle, stream))
    samples[at] = retold(samples[at], value=pick(stream, odd, 1))


def odd_time(bundle: Bundle, stream: Stream) -> None:
    odd = ("NaN", "-5.000", "9" * 30 + ".000", "1_7.000", "", "17e8", "0")
    samples, at = bundle.samples(), pick(stream, _series(bundle, stream))
    samples[at] = samples[at].rsplit(" ", 1)[0] + " " + pick(stream, odd, 1)


def shift_scrapes(bundle: Bundle, stream: Stream) -> None:
    shift = stream.between(2_000, 200_000, 1) * (1 if stream.chance(0.5, 2) else -1)
    samples = bundle.samples()
    samples[:-1] = [line if line[0] == "#" else retold(line, shift_ms=shift) for line in samples[:-1]]


def shift_series(bundle: Bundle, stream: Stream) -> None:
    samples = bundle.samples()
    for at in _series(bundle, stream):
        samples[at] = retold(samples[at], shift_ms=stream.between(1, 40_000, 1))


def swap_times(bundle: Bundle, stream: Stream) -> None:
    samples, series = bundle.samples(), _series(bundle, stream)
    a, b = pick(stream, series, 1), pick(stream, series, 2)
    apart = _time_ms(samples[b]) - _time_ms(samples[a])
    samples[a], samples[b] = retold(samples[a], shift_ms=apart), retold(samples[b], shift_ms=-apart)


def restart(bundle: Bundle, stream: Stream) -> None:
    samples = bundle.samples()
    when = stream.between(START_MS + 1, END_MS, 1)
    for at, line in enumerate(samples):
        if line.startswith("process_start_time_seconds") and _time_ms(line) >= when:
            samples[at] = retold(line, value="1700000300")


def down(bundle: Bundle, stream: Stream) -> None:
    """Stop answering around a boundary for longer than two intervals."""
    mark = pick(stream, (START_MS, SETTLED_MS, END_MS))
    samples = bundle.samples()
    for at, line in enumerate(samples):
        if line.startswith("up{") and mark <= _time_ms(line) <= mark + 30_000:
            samples[at] = retold(line, value=pick(stream, ("0", "NaN", "2"), 1))


def late_boundary(bundle: Bundle, stream: Stream) -> None:
    """Fail one boundary scrape; the next one is still in time."""
    mark = pick(stream, (START_MS, END_MS))
    samples = bundle.samples()
    samples[:] = [line for line in samples if line[0] == "#" or _time_ms(line) != mark]


def second_target(bundle: Bundle, _: Stream) -> None:
    bundle.touch("run.json")
    bundle.run["targets"] = ["engine", "engine-2"]


def silent_shard(bundle: Bundle, stream: Stream) -> None:
    """Add a second shard that runs cycles, and lose everything else that it said, or some of it."""
    said = {
        0: ("up{", "cycle_seconds"),
        1: ("up{", "cycle_seconds", "process_"),
        2: ("up{", "cycle_seconds", "process_", "inventory"),
    }[stream.below(3, 1)]
    bundle.run["targets"] = ["engine", "engine-2"]
    samples = bundle.samples()
    samples[:0] = [line.replace('"engine"', '"engine-2"') for line in samples if line.startswith(said)]


def garbage_lines(bundle: Bundle, stream: Stream) -> None:
    junk = ("actions_total{kind=Reclaim} 1 1.000", "actions_total", 'up{target="engine" 1 1.000', "up x 1.000")
    bundle.samples().insert(stream.below(100, 1), pick(stream, junk, 2))


def no_end_mark(bundle: Bundle, stream: Stream) -> None:
    del bundle.samples()[-stream.between(1, 2000, 1) :]


SAMPLE_KINDS: Final = (
    Kind("reorder samples", Must.BE_THE_SAME, reorder_samples),
    Kind("drop a sample", Must.NOT_IMPROVE, drop_sample),
    Kind("drop a boundary", Must.NOT_PASS, drop_boundary_samples),
    Kind("drop a series", Must.NOT_IMPROVE, drop_series),
    Kind("drop a named label", Must.NOT_PASS, drop_named_label),
    Kind("duplicate samples", Must.BE_THE_SAME, duplicate_sample),
    Kind("conflicting sample", Must.NOT_IMPROVE, conflicting_sample),
    Kind("foreign metrics", Must.BE_THE_SAME, foreign_metrics),
    Kind("counter reset", Must.NOT_IMPROVE, reset_counter),
    Kind("odd value", Must.NOT_IMPROVE, odd_value),
    Kind("odd time", Must.NOT_IMPROVE, odd_time),
    Kind("scrapes shifted", Must.NOT_IMPROVE, shift_scrapes),
    Kind("series shifted", Must.NOT_IMPROVE, shift_series),
    Kind("sample times swapped", Must.NOT_IMPROVE, swap_times),
    Kind("restart", Must.NOT_PASS, restart),
    Kind("down at a boundary", Must.NOT_PASS, down),
    Kind("boundary a little late", Must.NOT_IMPROVE, late_boundary),
    Kind("second target lost", Must.NOT_PASS, second_target),
    Kind("second shard silent", Must.NOT_PASS, silent_shard),
    Kind("garbage lines", Must.NOT_PASS, garbage_lines),
    Kind("metrics cut off", Must.NOT_PASS, no_end_mark),
)
