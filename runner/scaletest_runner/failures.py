"""The edge: outcomes become exit codes, and exceptions become a message that says what to do."""

import os
import sys
import traceback
from collections.abc import Callable

from scaletest_runner.exits import Exit

__all__ = ["reported"]


def reported(run: Callable[[], object]) -> int:
    """Run a command and return its exit code; nothing raised inside gets past this point."""
    try:
        return _exit_code(run)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`scaletest plan ... | head`): not our failure, and nothing more can be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PASS
    except Exception as error:  # noqa: BLE001 - the one place where everything ends
        from scaletest.profile import ProfileError
        from scaletest.world.kwok.errors import GroundError

        if isinstance(error, ProfileError):
            sys.stderr.write(f"{error}\n")
            return Exit.REFUSED
        from scaletest.world.kwok.programs import ToolchainError

        if isinstance(error, ToolchainError):
            sys.stderr.write(f"scaletest: {error}\n")
            return Exit.ENVIRONMENT
        if isinstance(error, GroundError):
            sys.stderr.write(f"scaletest: {error.what}: {error.why}\n  {error.remedy}\n")
            return Exit.ENVIRONMENT
        traceback.print_exc()
        sys.stderr.write(
            "scaletest: this is a fault of scaletest, not of your files; please report it with the above\n"
        )
        return Exit.BUG


def _exit_code(run: Callable[[], object]) -> int:
    """Run to the end, output included: what is still buffered may meet a reader that is gone."""
    code: object = Exit.PASS
    try:
        run()
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    return code if isinstance(code, int) else Exit.PASS
