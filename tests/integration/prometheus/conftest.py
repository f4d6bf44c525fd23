"""A real Prometheus on loopback: databases made by promtool, servers that end with their test."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer

import pytest

from scaletest.world.kwok.prometheus import Server
from scaletest.world.kwok.toolchain import Places, survey

START_S = 30.0
STOP_S = 10.0


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    (prometheus,) = (search for search in survey(Places.of()) if search.family.name == "prometheus")
    if prometheus.supply is None:
        pytest.skip(f"prometheus and promtool are missing ({prometheus.reason}): run `make toolchain`")
    return dict(prometheus.supply.paths)


@pytest.fixture
def loaded(programs: dict[str, Path], tmp_path: Path) -> Callable[[bytes], Path]:
    """Return what turns OpenMetrics text into a Prometheus database, by promtool and by nothing of ours."""

    def load(text: bytes) -> Path:
        source, database = tmp_path / "metrics.om", tmp_path / "database"
        source.write_bytes(text)
        done = subprocess.run(
            [programs["promtool"], "tsdb", "create-blocks-from", "openmetrics", source, database],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return database

    return load


@pytest.fixture
def serving(programs: dict[str, Path], tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return what starts a server on a database; each is stopped after the test."""
    with ExitStack() as stack:

        def start(database: Path, config: str = "{}") -> Server:
            file = tmp_path / "prometheus.yml"
            file.write_text(config, encoding="utf-8")
            argv = [
                str(programs["prometheus"]),
                f"--config.file={file}",
                f"--storage.tsdb.path={database}",
                "--storage.tsdb.retention.time=100y",  # staged runs happened at a fixed instant, years ago
                "--web.listen-address=127.0.0.1:0",
            ]
            return Server(stack.enter_context(_running(argv)))

        yield start


@contextmanager
def _running(argv: list[str]) -> Iterator[str]:
    """Start a server and yield its address once it says that it is ready."""
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.terminate()
            # Its log is read to the end, or it could block on writing it instead of ending.
            try:
                process.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(process: "subprocess.Popen[str]") -> str:
    """Return where the server listens: the system chose the port, so no two tests can want the same."""
    late = Timer(START_S, process.kill)
    late.start()
    assert process.stderr is not None
    address, ready, log = "", False, list[str]()
    for line in process.stderr:  # the two lines come in either order
        log.append(line)
        if found := re.search(r'"Listening on" address=(\S+)', line):
            address = f"http://{found[1]}"
        ready = ready or "ready to receive web requests" in line
        if ready and address:
            late.cancel()
            return address
    late.cancel()
    pytest.fail(f"prometheus did not start:\n{''.join(log)}")
