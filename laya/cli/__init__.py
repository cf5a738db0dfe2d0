"""The command line: results on standard output, progress on standard error, errors as one line and exit status 2.

A command is a function in a file of its own name; what it needs is imported when it runs, so that ``--help`` is quick.
"""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from laya.cli.check import check
from laya.cli.evaluate import evaluate
from laya.cli.evidence import evidence
from laya.cli.explain import explain
from laya.cli.listing import list_
from laya.cli.profile import profile
from laya.cli.train import train
from laya.cli.verify import verify
from laya.errors import LayaError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("list")(list_)
for command in (explain, evaluate, check, profile, train, evidence, verify):
    app.command()(command)


@app.callback()
def everywhere(
    checkpoints: Annotated[
        list[Path] | None,
        typer.Option(exists=True, file_okay=False, help="A folder of checkpoints, beside ours; may be given again."),
    ] = None,
) -> None:
    """See how deep in the network an image classifier made its decision."""
    if checkpoints:
        more = [*map(str, checkpoints), os.environ.get("LAYA_CHECKPOINTS", "")]
        os.environ["LAYA_CHECKPOINTS"] = os.pathsep.join(filter(None, more))


def main() -> None:
    """Run the command line; a mistake ends with one line on standard error and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may hold bytes that are no text
    try:
        app(prog_name="python -m laya", standalone_mode=False)
    except LayaError as error:
        _fail(str(error))
    except typer.TyperException as error:  # a wrong option or argument
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "python -m laya"
        _fail(f"{getattr(error, 'format_message', error.__str__)().rstrip('.')}; see {command} --help")
    except (KeyboardInterrupt, typer.Abort):
        _fail("Stopped.", status=130)
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:  # the disk is full, a folder may not be entered, ...
        _fail(f"{error.strerror or error}; check the file, the folder and its permissions.")


def _fail(message: str, status: int = 2) -> None:
    print(f"laya: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(status)
