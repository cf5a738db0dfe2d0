"""A Python process that reaches no machine but its own: ``python -m tests.unplugged MODULE ARGS...`` runs one so."""

import runpy
import sys
from typing import Any

LOCAL = ("127.0.0.1", "::1", "localhost", "0.0.0.0", None, "")
MARK = "UNPLUGGED"


def unplug() -> None:
    """From now on a connection or a name look-up that leaves this machine raises, and says so on standard error."""

    def check(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo":
            host = args[0].decode() if isinstance(args[0], bytes) else args[0]
        elif event == "socket.connect" and isinstance(args[1], tuple):
            host = args[1][0]
        else:
            return
        if host not in LOCAL:
            print(f"{MARK}: something tried to reach {host}", file=sys.stderr, flush=True)
            raise OSError(f"{MARK}: {host}")

    sys.addaudithook(check)


if __name__ == "__main__":
    unplug()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
