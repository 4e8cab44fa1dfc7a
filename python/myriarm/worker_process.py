# SPDX-License-Identifier: Apache-2.0
"""A process that has one device and works slices off for the process that started it (multi_device.py). It
ends as soon as that one has ended or wants it to: then the connection is at its end."""

from __future__ import annotations

import os
import queue
import signal
import threading
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from .slices import WorkerHost


def main(descriptor: int) -> NoReturn:
    """descriptor: of a socket. It brings (class of the worker, program, options), and then for each part the
    arguments of WorkerHost.work(); it takes an answer for each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal
    connection: Connection[Any, Any] = Connection(descriptor)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_serve, args=(connection, requests), daemon=True).start()
    try:
        while True:
            requests.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)  # without waiting for a guest that may never end


def _serve(connection: Connection[Any, Any], requests: queue.SimpleQueue[Any]) -> None:
    try:
        host = WorkerHost(*requests.get())
        connection.send(host.start())
        while True:
            connection.send(host.work(*requests.get()))
    except OSError:
        os._exit(0)
