# SPDX-License-Identifier: Apache-2.0
"""Text for people who explore a program: instructions with symbols, and registers with what has changed."""

from __future__ import annotations

import bisect
import html
import re
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

from . import _core

# Instructions whose last operand is an address that disassemble() has computed.
_TARGET = re.compile(r"(?:b|b\.\w\w|bl|cbn?z|tbn?z|adrp?) (?:.*, )?(0x[0-9a-f]+)")
# Farther behind a symbol than this, an address is not shown by it.
_FAR = 1 << 20
_COLUMNS = 4


class Symbols:
    """Names of addresses, for lookups in both directions."""

    def __init__(self, by_name: Mapping[str, int]) -> None:
        self.by_name: Dict[str, int] = dict(by_name)
        self._names: Dict[int, List[str]] = {}
        for name, address in self.by_name.items():
            self._names.setdefault(address, []).append(name)
        self._addresses = sorted(self._names)

    def at(self, address: int) -> List[str]:
        """The names of exactly this address."""
        return self._names.get(address, [])

    def near(self, address: int) -> str:
        """ "main+0x8", or "" where no symbol is near."""
        i = bisect.bisect_right(self._addresses, address) - 1
        if i < 0 or address - self._addresses[i] > _FAR:
            return ""
        into = address - self._addresses[i]
        return self._names[self._addresses[i]][0] + (f"+{into:#x}" if into else "")


def instruction(word: int, address: int, symbols: Symbols) -> str:
    """One instruction as text; where a branch goes has its name."""
    text = _core.disassemble(word, address)
    target = _TARGET.fullmatch(text)
    name = symbols.near(int(target[1], 16)) if target else ""
    return f"{text} <{name}>" if name else text


def listing(words: Iterable[Tuple[int, int]], pc: int, marks: Iterable[int], symbols: Symbols) -> List[str]:
    """A line for each (address, word): "=>" at pc, "*" at the addresses of `marks`; labels on lines of
    their own."""
    stops = set(marks)
    lines = []
    for address, word in words:
        lines += [f"{name}:" for name in symbols.at(address)]
        arrow, star = "=>" if address == pc else "  ", "*" if address in stops else " "
        lines.append(f"{arrow}{star} {address:#10x}  {word:08x}  {instruction(word, address, symbols)}")
    return lines


def flags(nzcv: int) -> str:
    """ "N-C-": the letter of each flag that is set."""
    return "".join(letter if nzcv >> bit & 1 else "-" for letter, bit in zip("NZCV", (3, 2, 1, 0)))


def _shown(name: str, value: int) -> str:
    return flags(value) if name == "nzcv" else f"{value:032x}" if name[0] == "v" else f"{value:016x}"


def _rows(registers: Mapping[str, int]) -> List[List[str]]:
    """Names by line: x0 to x30, sp and pc in columns, the rest if they are not zero."""
    general = [name for name in registers if name[0] == "x"] + ["sp", "pc", "nzcv"]
    vectors = [name for name in registers if name[0] == "v" and registers[name]]
    others = [name for name in registers if name not in general and name[0] != "v" and registers[name]]
    rows = [general[i : i + _COLUMNS] for i in range(0, len(general), _COLUMNS)]
    rows += [vectors[i : i + 2] for i in range(0, len(vectors), 2)]
    return rows + ([others] if others else [])


def dump(registers: Mapping[str, int], before: Optional[Mapping[str, int]]) -> List[str]:
    """Lines of registers in hexadecimal; those that are not as in `before` have a "*"."""
    lines = []
    for row in _rows(registers):
        cells = []
        for name in row:
            star = "*" if before is not None and before[name] != registers[name] else " "
            cells.append(f"{star}{name:>5} {_shown(name, registers[name])}")
        lines.append(" ".join(cells).rstrip())
    return lines


def dump_html(
    registers: Mapping[str, int], before: Optional[Mapping[str, int]], title: str, code: List[str]
) -> str:
    """The same as a table, and the listing below it; what has changed is bold."""
    rows = []
    for row in _rows(registers):
        cells = ""
        for name in row:
            value = _shown(name, registers[name])
            changed = before is not None and before[name] != registers[name]
            cells += f"<th>{name}</th><td>{f'<b>{value}</b>' if changed else value}</td>"
        rows.append(f"<tr>{cells}</tr>")
    table = f"<table style='font-family: monospace'>{''.join(rows)}</table>"
    return f"<p>{html.escape(title)}</p>{table}<pre>{html.escape(chr(10).join(code))}</pre>"
