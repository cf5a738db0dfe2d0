"""The real app in a process of its own that reaches no other machine, for the browser tests and the benchmarks."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.unplugged import MARK

PROJECT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Server:
    """The running app."""

    address: str  # with its base path
    pid: int
    log: Path

    def loads(self) -> int:
        """How many times a model was loaded, by Streamlit's own count."""
        text = requests.get(f"{self.address}/_stcore/metrics", timeout=30).text
        # prometheus_client reads this format, too; for one number a pattern will do
        found = re.findall(r"cache_compute_duration_seconds_count\{([^}]*)\} (\d+)", text)
        return sum(int(count) for labels, count in found if "cache._load" in labels)

    def faults(self) -> list[str]:
        """What the log must not hold: tracebacks, by their last line, and attempts to reach another machine."""
        text = self.log.read_text()
        parts = text.split("Traceback (most recent call last)")[1:]
        ends = [next((line for line in part.splitlines() if re.match(r"[\w.]+(:|$)", line)), "?") for part in parts]
        return ends + [line for line in text.splitlines() if MARK in line]


@contextmanager
def serving(log: Path, *options: str, path: str = "", threads: int | None = None) -> Iterator[Server]:
    """A fresh app under ``path``, with options of ``streamlit run``; ``threads`` are torch's, None as here."""
    port = free_port()
    command = [sys.executable, "-m", "tests.unplugged", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.headless", "true", "--server.fileWatcherType", "none", "--server.baseUrlPath", path, *options]
    environment = os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)})
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}{path}"
    try:
        wait_for(address, process, log)
        yield Server(address, process.pid, log)
    finally:
        process.terminate()
        process.wait(timeout=60)  # a busy machine takes its time to take an interpreter with torch apart


def free_port() -> int:
    """A port that nobody listens on; Streamlit and nginx must be told theirs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def wait_for(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until the app answers there; a process that ended, or a minute, raises RuntimeError with what it wrote."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)  # the benchmark of the start waits for no more than this
        try:
            requests.get(f"{address}/_stcore/health", timeout=2).raise_for_status()
        except requests.RequestException:
            continue
        return
    raise RuntimeError("it did not start: " + log.read_text())
