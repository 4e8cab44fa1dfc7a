# SPDX-License-Identifier: Apache-2.0
# Selectors, asyncio with subprocesses, pipes, event descriptors, memory files, locks.
import asyncio
import fcntl
import os
import selectors
import socket


async def main():
    process = await asyncio.create_subprocess_exec(
        "sort", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate(b"c\na\nb\n")
    print(output, process.returncode)
    print(await asyncio.gather(*(asyncio.sleep(0.001 * i, i) for i in range(5))))
    queue = asyncio.Queue()
    await queue.put(7)
    print(await queue.get(), await asyncio.to_thread(sum, [1, 2]))


selector = selectors.DefaultSelector()
left, right = socket.socketpair()
selector.register(right, selectors.EVENT_READ)
print(selector.select(0))
left.sendall(b"ready")
print([key.fileobj is right for key, _ in selector.select(1)], right.recv(10))
print(type(selector).__name__, os.eventfd_read(os.eventfd(3)))
memory = os.memfd_create("memory")
os.write(memory, b"kept")
print(os.pread(memory, 10, 0))
with open("text") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print(file.read().split())
asyncio.run(main())
