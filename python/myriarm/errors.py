# SPDX-License-Identifier: Apache-2.0
"""The exceptions of myriarm. They report mistakes of the host program; what a guest does is reported as data
and never raises an exception."""

from __future__ import annotations


class Error(Exception):
    """The base of all exceptions of myriarm; the message is one sentence that says what to do."""


class ArgumentError(Error, ValueError):
    """An impossible argument: a wrong type or shape, no such lane, an address outside the window."""


class LaneIndexError(ArgumentError, IndexError):
    """A subscript of a LaneArray that is outside its shape, or is of a type that NumPy does not take."""


class DeviceError(Error, RuntimeError):
    """The device is missing, too small, or has failed."""


class StateError(Error, RuntimeError):
    """The call does not fit what the fleet is doing: it runs, it is closed, or another thread uses it."""
