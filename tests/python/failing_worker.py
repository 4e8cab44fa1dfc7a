# SPDX-License-Identifier: Apache-2.0
"""A worker whose device fails, for test_multi_device.py; its process imports this module."""

from myriarm import DeviceError
from myriarm.slices import SliceWorker


class FailingWorker(SliceWorker):
    """Fails in the second slice that it gets, after some of its results."""

    def __init__(self, program, options):
        super().__init__(program, options)
        self.slices = self.parts = 0

    def begin(self, new, run):
        self.slices, self.parts = self.slices + 1, 0
        if self.slices == 2:
            # Its first input alone has a result.
            new = new._replace(numbers=new.numbers[:1], inputs=new.inputs[:1])
        super().begin(new, run)

    def part(self):
        self.parts += 1
        if self.slices == 2 and self.parts == 2:
            raise DeviceError("the device has fallen off the bus; plug it in")
        part = super().part()
        return part._replace(ended=False) if self.slices == 2 else part


class MissingDevice(SliceWorker):
    def __init__(self, program, options):
        raise DeviceError("there is no such device; buy one")
