# SPDX-License-Identifier: Apache-2.0
"""Functions of the user that threads of the library call."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Callable, NoReturn, Optional


def guarded(user: Callable[..., Any]) -> Callable[..., Any]:
    """A handler as the library may call it. A child that it fork()s ends when it returns, as one that any
    thread forks ends with the thread's function: the main thread, which waits for the run, is not in the
    child."""

    def call(*arguments: Any) -> Any:
        process = os.getpid()
        try:
            answer = user(*arguments)
        except BaseException as error:
            if os.getpid() != process:
                _end_child(error)
            raise
        if os.getpid() != process:
            _end_child(None)
        return answer

    return call


def _end_child(error: Optional[BaseException]) -> NoReturn:
    status = 0 if error is None else 1
    try:
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            traceback.print_exception(type(error), error, error.__traceback__)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)
