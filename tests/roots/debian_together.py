# SPDX-License-Identifier: Apache-2.0
"""All commands of debian_test.py in one fleet: the texts that debian_lanes.cpp reads and writes."""

import io
import itertools
import shlex
import stat

FOLDER = "/own"


def by_program(chosen):
    """Commands, (program, line, whether its peer is native), so that those of one file follow each other."""
    return sorted(chosen, key=lambda command: shlex.split(command[1])[0])


def write_table(path, lines, standard_input, variables):
    def texts(all_of_them):
        yield len(all_of_them)
        yield from all_of_them

    environment = [f"{name}={value}" for name, value in variables.items()]
    commands = (texts(shlex.split(line)) for line in lines)
    with path.open("wb") as file:
        for item in itertools.chain([standard_input], texts(environment), [len(lines)], *commands):
            if isinstance(item, int):
                file.write(b"%d\n" % item)
            else:
                data = item if isinstance(item, bytes) else item.encode()
                file.write(b"%d\n%s\n" % (len(data), data))


class _Results:
    def __init__(self, path):
        self.file = io.BytesIO(path.read_bytes())

    def number(self):
        return int(self.file.readline())

    def text(self):
        data = self.file.read(self.number())
        assert self.file.read(1) == b"\n"
        return data


def read_results(path, lines):
    """{line: (standard output, standard error, status, files, instructions)}, files as left_in() has them;
    and the calls that were missing."""
    read, found, contents = _Results(path), {}, []
    for line in lines:
        status = read.text().decode()
        instructions, output, problem = read.number(), read.text(), read.text()
        files = {}
        for _ in range(read.number()):
            name, mode, number = read.text().decode(), read.number(), read.number()
            if number == len(contents):
                contents.append(read.text())
            data, content = contents[number], None
            if stat.S_ISLNK(mode):
                content = data.decode()
            elif stat.S_ISREG(mode):
                content = data
            if name != FOLDER:
                files[name.removeprefix(FOLDER + "/")] = (stat.filemode(mode), content)
        ended = int(status) if status.isdigit() else status
        found[line] = (output, problem, ended, files, instructions)
    return found, [read.text().decode() for _ in range(read.number())]
