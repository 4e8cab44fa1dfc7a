# SPDX-License-Identifier: Apache-2.0
"""Assembly text to machine code, by an assembler that this machine has: GNU binutils for AArch64, or the
Python package keystone-engine. Nothing here knows an instruction."""

from __future__ import annotations

import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional, Tuple

from .errors import ArgumentError, DeviceError

ASSEMBLERS = ("auto", "binutils", "keystone")

# Prefixes of the tools: a cross-assembler of Debian, and the host's own on an ARM64 host.
_PREFIXES: Tuple[str, ...] = (
    ("aarch64-linux-gnu-", "") if platform.machine() == "aarch64" else ("aarch64-linux-gnu-",)
)
_LABEL = re.compile(r"(?:^|;)[ \t]*((?:[A-Za-z_.$][\w.$]*[ \t]*:[ \t]*)+)", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def assemble(text: str, address: int, assembler: str) -> Tuple[bytes, Dict[str, int]]:
    """The bytes of the text for this address, and the addresses of its labels in rising order."""
    if assembler not in ASSEMBLERS:
        raise ArgumentError(f"assembler is {assembler!r}; use one of {', '.join(ASSEMBLERS)}")
    prefix = _binutils() if assembler in ("auto", "binutils") else None
    keystone = _keystone() if prefix is None and assembler in ("auto", "keystone") else None
    if prefix is not None:
        code, symbols = _with_binutils(text, address, prefix)
        return code, _in_order(symbols)
    if keystone is not None:
        code, symbols = _with_keystone(text, address, keystone)
        return code, _in_order(symbols)
    wanted = "an assembler" if assembler == "auto" else f"the assembler {assembler}"
    raise DeviceError(
        f"{wanted} for AArch64 is not there; install binutils-aarch64-linux-gnu (Debian), or pip install"
        " myriarm[assembler]"
    )


def _in_order(symbols: Dict[str, int]) -> Dict[str, int]:
    """By address, then by name: each assembler has an order of its own."""
    return dict(sorted(symbols.items(), key=lambda symbol: (symbol[1], symbol[0])))


def _binutils() -> Optional[str]:
    for prefix in _PREFIXES:
        if all(shutil.which(prefix + tool) for tool in ("as", "ld", "objcopy", "nm")):
            return prefix
    return None


def _with_binutils(text: str, address: int, prefix: str) -> Tuple[bytes, Dict[str, int]]:
    if not _COMMENT.sub("", text).strip():
        return b"", {}  # objcopy refuses a file without sections
    with tempfile.TemporaryDirectory() as folder:
        source, linked, code = (pathlib.Path(folder) / name for name in ("text.s", "linked", "code"))
        source.write_text(text + "\n")

        def call(tool: str, *arguments: str) -> str:
            done = subprocess.run(
                [prefix + tool, *arguments], cwd=folder, capture_output=True, text=True, errors="replace"
            )
            if done.returncode != 0:
                raise _refused(done.stderr)
            return done.stdout

        call("as", "-o", "object", source.name)
        call("ld", "-N", f"-Ttext={address:#x}", "-e", "0", "-o", linked.name, "object")
        call("objcopy", "-O", "binary", linked.name, code.name)
        symbols = {}
        for line in call("nm", linked.name).splitlines():
            value, kind, name = line.split(maxsplit=2)
            # What the linker adds is absolute, or a name that begins so.
            if kind not in "aA" and not name.startswith(("$", "__bss_", "_bss_", "_end", "__end", "_edata")):
                symbols[name] = int(value, 16)
        return code.read_bytes() if code.exists() else b"", symbols


def _refused(stderr: str) -> ArgumentError:
    """What as and ld say of the first mistake, without the names of files."""
    first = next((line for line in stderr.splitlines() if "Error:" in line or "undefined" in line), stderr)
    where = re.search(r"text\.s:(\d+): (?:Error: )?(.*)", first)
    if where:
        return ArgumentError(f"line {where[1]} of the assembly: {where[2]}; correct it")
    return ArgumentError(f"the assembly is refused: {first.split(': ', 2)[-1].strip()}; correct it")


def _keystone() -> Any:
    try:
        import keystone
    except ImportError:
        return None
    return keystone


def _with_keystone(text: str, address: int, keystone: Any) -> Tuple[bytes, Dict[str, int]]:
    engine = keystone.Ks(keystone.KS_ARCH_ARM64, keystone.KS_MODE_LITTLE_ENDIAN)

    def words(source: str) -> bytes:
        try:
            octets, _ = engine.asm(source, address)
        except keystone.KsError as error:
            raise ArgumentError(f"the assembly is refused: {error}; correct it") from None
        return bytes(octets or b"")

    code = words(text)
    labels = _labels(text)
    if not labels:
        return code, {}
    # It does not tell where labels are, but it can be asked to write their addresses behind the code.
    table = words(text + "\n.balign 8\n" + "\n".join(f".quad {label}" for label in labels) + "\n")
    values = table[-8 * len(labels) :]
    return code, {
        label: int.from_bytes(values[8 * i : 8 * i + 8], "little") for i, label in enumerate(labels)
    }


def _labels(text: str) -> List[str]:
    found = (match[1] for match in _LABEL.finditer(_COMMENT.sub(" ", text)))
    return list(
        dict.fromkeys(label.strip() for group in found for label in group.split(":") if label.strip())
    )
