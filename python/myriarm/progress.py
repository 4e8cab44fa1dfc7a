# SPDX-License-Identifier: Apache-2.0
"""The progress bar of a run. tqdm draws it on a terminal or in a notebook; elsewhere there is none."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Callable, Iterator, Optional, Protocol, Tuple

Tick = Callable[[Tuple[Any, ...]], None]


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell = ipython.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _bar_class() -> Optional[Any]:
    """tqdm's class for this notebook or terminal, or None if there is neither or tqdm is not installed."""
    notebook = _in_notebook()
    if not notebook and not (sys.stderr is not None and sys.stderr.isatty()):
        return None
    try:
        if notebook:
            from tqdm.notebook import tqdm
        else:
            from tqdm import tqdm
    except ImportError:
        return None
    return tqdm


@contextlib.contextmanager
def make_tick(progress: Any, instructions: Optional[int], lanes: int) -> Iterator[Optional[Tick]]:
    """A function that draws the bar, which a run calls some times a second with the values of its Poll; None
    if there is no bar. instructions: the most that each lane may retire, or None."""
    bar_class = _bar_class() if progress else None
    if bar_class is None:
        yield None
        return
    total = None if instructions is None else instructions * lanes
    with bar_class(total=total, unit=" instructions", unit_scale=True) as bar:

        def tick(poll: Tuple[Any, ...]) -> None:
            _, retired, lanes_running, _, _ = poll
            bar.set_postfix_str(f"{lanes_running} of {lanes} lanes run", refresh=False)
            bar.update(max(0, retired - bar.n))

        yield tick


class QueueTick(Protocol):
    def __call__(self, progress: Callable[[], Any], *, last: bool = False) -> None:
        """Draws the bar again, if some time has passed, or at the end. progress: gives a QueueProgress."""


@contextlib.contextmanager
def make_queue_tick(
    progress: Any, inputs: Optional[int], clock: Callable[[], float] = time.monotonic
) -> Iterator[Optional[QueueTick]]:
    """A function that draws the bar of a queue; None if there is no bar. inputs: how many there are, if that
    is known; then the bar has the time that is left."""
    bar_class = _bar_class() if progress else None
    if bar_class is None:
        yield None
        return
    next_time = clock()
    with bar_class(total=inputs, unit=" inputs", unit_scale=True) as bar:

        def tick(progress: Callable[[], Any], *, last: bool = False) -> None:
            nonlocal next_time
            if not last and clock() < next_time:
                return
            next_time = clock() + 0.1
            now = progress()
            rate = f"{now.instructions_per_second:.3g} IPS"
            bar.set_postfix_str(f"{now.running} running, {now.failed} failed, {rate}", refresh=False)
            bar.update(max(0, now.done - bar.n))

        yield tick
