"""A Python process that reaches no machine but its own: ``python -m tests.unplugged MODULE ARGS...`` runs one so."""

import runpy
import socket
import sys
from typing import Any

LOCAL = ("127.0.0.1", "::1", "localhost", "0.0.0.0", None, "")
MARK = "UNPLUGGED"


def unplug() -> None:
    """From now on a connection or a name look-up that leaves this machine raises, and says so on standard error."""
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(host: Any) -> None:
        if host not in LOCAL:
            print(f"{MARK}: something tried to reach {host}", file=sys.stderr, flush=True)
            raise OSError(f"{MARK}: {host}")

    def guarded(original: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if isinstance(address, tuple):
                check(address[0])
            return original(self, address)

        return call

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        check(host.decode() if isinstance(host, bytes) else host)
        return look_up(host, *args, **kwargs)

    socket.socket.connect = guarded(connect)
    socket.socket.connect_ex = guarded(connect_ex)
    socket.getaddrinfo = guarded_look_up


if __name__ == "__main__":
    unplug()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
