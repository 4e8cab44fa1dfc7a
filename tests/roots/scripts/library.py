# SPDX-License-Identifier: Apache-2.0
# A long script: classes, generators, a parser and a machine for a small language, json, re, hashlib,
# collections, itertools, decimal, fractions, struct, datetime, dataclasses, threads, subprocesses, files,
# zlib, random numbers with a seed.
import bisect
import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import math
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import textwrap
import threading
import zlib


# A small language: numbers, names, operators, calls, assignments.
class Kind(enum.Enum):
    NUMBER = r"\d+(?:\.\d+)?"
    NAME = r"[a-z_]\w*"
    OPERATOR = r"\*\*|[-+*/%()=,<>!]=?"
    SPACE = r"\s+"


@dataclasses.dataclass(frozen=True)
class Token:
    kind: Kind
    text: str


class Mistake(Exception):
    pass


TOKENS = re.compile("|".join(f"(?P<{kind.name}>{kind.value})" for kind in Kind))


def tokens(text):
    at = 0
    while at < len(text):
        match = TOKENS.match(text, at)
        if not match:
            raise Mistake(f"{text[at]!r} at {at}")
        at = match.end()
        if match.lastgroup != "SPACE":
            yield Token(Kind[match.lastgroup], match.group())


class Parser:
    LEVELS = [("==", "!=", "<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%")]

    def __init__(self, text):
        self.tokens = collections.deque(tokens(text))

    def next_is(self, *texts):
        return bool(self.tokens) and self.tokens[0].text in texts

    def take(self, *texts):
        if not self.tokens or (texts and self.tokens[0].text not in texts):
            raise Mistake(f"expected {texts}, got {self.tokens[0].text if self.tokens else 'the end'}")
        return self.tokens.popleft()

    def statement(self):
        if len(self.tokens) > 1 and self.tokens[0].kind is Kind.NAME and self.tokens[1].text == "=":
            name = self.take().text
            self.take("=")
            result = ("set", name, self.level(0))
        else:
            result = self.level(0)
        if self.tokens:
            raise Mistake(f"left over: {self.tokens[0].text}")
        return result

    def level(self, depth):
        if depth == len(self.LEVELS):
            return self.power()
        left = self.level(depth + 1)
        while self.next_is(*self.LEVELS[depth]):
            left = (self.take().text, left, self.level(depth + 1))
        return left

    def power(self):
        if self.next_is("-"):
            self.take()
            return ("negative", self.power())
        base = self.atom()
        if self.next_is("**"):
            self.take()
            return ("**", base, self.power())
        return base

    def atom(self):
        token = self.take()
        if token.text == "(":
            inner = self.level(0)
            self.take(")")
            return inner
        if token.kind is Kind.NUMBER:
            return ("number", fractions.Fraction(token.text))
        if token.kind is not Kind.NAME:
            raise Mistake(f"unexpected {token.text}")
        if not self.next_is("("):
            return ("name", token.text)
        self.take("(")
        arguments = []
        while not self.next_is(")"):
            arguments.append(self.level(0))
            if self.next_is(","):
                self.take()
        self.take(")")
        return ("call", token.text, arguments)


class Machine:
    FUNCTIONS = {"max": max, "min": min, "abs": abs, "floor": math.floor, "sum": lambda *all: sum(all)}
    OPERATORS = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "%": lambda a, b: a % b,
        "**": lambda a, b: a**b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        ">": lambda a, b: a > b,
        "<=": lambda a, b: a <= b,
        ">=": lambda a, b: a >= b,
    }

    def __init__(self):
        self.names = {}

    def value(self, tree):
        what, *rest = tree
        if what == "number":
            return rest[0]
        if what == "name":
            return self.names[rest[0]]
        if what == "negative":
            return -self.value(rest[0])
        if what == "set":
            self.names[rest[0]] = self.value(rest[1])
            return self.names[rest[0]]
        if what == "call":
            return self.FUNCTIONS[rest[0]](*map(self.value, rest[1]))
        return self.OPERATORS[what](self.value(rest[0]), self.value(rest[1]))

    def run(self, text):
        try:
            return str(self.value(Parser(text).statement()))
        except (Mistake, KeyError, ZeroDivisionError) as problem:
            return f"{type(problem).__name__}: {problem}"


def language():
    machine = Machine()
    for line in (
        "a = 1/3 + 1/6",
        "b = -a ** 2",
        "max(a, b, 0.25) * 12",
        "(1 + 2) * (3 - 4) % 5",
        "2 ** 3 ** 2",
        "floor(7 / 2) + sum(1, 2, 3)",
        "a > b",
        "unknown",
        "1 / 0",
        "1 +",
        "3 $ 4",
        "(1, 2)",
    ):
        print(f"{line:32} {machine.run(line)}")


def texts():
    record = {"name": "ä€😀", "list": [1, 2.5, None, True, {"deep": []}], "big": 10**30, "small": 1e-300}
    text = json.dumps(record, sort_keys=True)
    print(text, json.loads(text) == record, json.dumps(record, ensure_ascii=False, indent=1).count("\n"))
    for broken in ("{", "[1,]", '"\\x"', "nul"):
        try:
            json.loads(broken)
        except json.JSONDecodeError as problem:
            print(problem)
    print(re.sub(r"(?P<a>\w+)@(?P<b>\w+)", r"\g<b> at \g<a>", "me@here, you@there"))
    print(re.findall(r"(?<=\$)\d+(?:\.\d\d)?", "cost $15, $3.50 and 7"), re.split(r"[;,]\s*", "a, b;c,d"))
    print(bool(re.fullmatch(r"(a+)+b", "a" * 20 + "b")), re.compile(r"^\s*#", re.M).subn("//", "# a\n  # b"))
    print(
        textwrap.fill("words " * 12, 30), "straße".upper(), "ΑΒΓ".lower(), "é".encode("utf-8"), "x".zfill(4)
    )
    print(f"{3.14159:8.2f}|{42:#x}|{10**6:,}|{'mid':^9}|{0.1 + 0.2!r}|{1e22}|{5e-324}|{float('nan')}")


def numbers():
    print(decimal.Decimal(1) / decimal.Decimal(7), fractions.Fraction(355, 113).limit_denominator(50))
    print(2**521 - 1, pow(3, 10**5, 10**9 + 7), math.comb(50, 25), math.isqrt(10**40), (-7) // 2, -7 % 3)
    print(math.fsum([0.1] * 10), math.hypot(3, 4), math.gamma(5.5), math.erf(0.5), complex(1, 2) ** 2)
    random.seed(12345)
    values = [random.gauss(0, 1) for _ in range(1000)]
    print(
        statistics.mean(values),
        statistics.stdev(values),
        random.sample(range(100), 5),
        random.getrandbits(64),
    )
    print(struct.pack("<hIqd", -2, 7, -1, 1.5).hex(), struct.unpack(">f", b"\x40\x49\x0f\xdb"))
    print(
        datetime.datetime(2024, 2, 29) + datetime.timedelta(days=366, hours=5),
        datetime.date(2026, 11, 25).isocalendar(),
    )
    for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b"):
        print(name, hashlib.new(name, b"text" * 1000).hexdigest())
    print(
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000).hex(),
        zlib.crc32(b"text"),
        zlib.adler32(b"text"),
    )
    data = bytes(range(256)) * 64
    packed = zlib.compress(data, 9)
    print(len(packed), zlib.decompress(packed) == data)


def collections_and_iterators():
    words = "the cat and the dog and the bird".split()
    print(collections.Counter(words).most_common(2), list(itertools.groupby(sorted(words), len))[0][0])
    print(list(itertools.islice(itertools.permutations("abc"), 4)), list(itertools.accumulate(range(6))))
    heap = [5, 1, 8, 3]
    heapq.heapify(heap)
    print(
        [heapq.heappop(heap) for _ in range(4)],
        bisect.bisect([1, 3, 5], 4),
        sorted(words, key=lambda w: (-len(w), w)),
    )

    @functools.lru_cache(maxsize=None)
    def ways(n, coins):
        if n == 0:
            return 1
        return sum(ways(n - coin, coins[i:]) for i, coin in enumerate(coins) if coin <= n)

    print(ways(200, (1, 2, 5, 10, 20, 50, 100, 200)))

    def primes():
        seen = {}
        for n in itertools.count(2):
            step = seen.pop(n, None)
            if step is None:
                yield n
                seen[n * n] = n
            else:
                n += step
                while n in seen:
                    n += step
                seen[n] = step

    print(list(itertools.islice(primes(), 20)))
    match [1, {"key": [2, 3]}]:
        case [int(first), {"key": [*_, last]}]:
            print("matched", first, last)
    print(
        {**{"a": 1}, "b": 2} | {"c": 3},
        {1, 2, 3} ^ {2, 4},
        [*range(3)][::-1],
        (lambda *a, **k: (a, k))(1, x=2),
    )


def threads():
    lock, total, results = threading.Lock(), 0, []
    barrier = threading.Barrier(4)

    def work(number):
        nonlocal total
        barrier.wait()
        for _ in range(100):
            with lock:
                total += number
        results.append(hashlib.sha256(bytes([number])).hexdigest()[:8])

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(total, sorted(results))
    condition, items = threading.Condition(), []

    def produce():
        for i in range(5):
            with condition:
                items.append(i)
                condition.notify()

    producer = threading.Thread(target=produce)
    producer.start()
    with condition:
        condition.wait_for(lambda: len(items) == 5)
    producer.join()
    print(items, threading.active_count())


def processes():
    done = subprocess.run(["sort", "-r"], input="b\na\nc\n", capture_output=True, text=True)
    print(done.stdout.split(), done.returncode)
    print(subprocess.check_output("echo $((6 * 7)) | cat", shell=True, text=True), end="")
    print(subprocess.run(["false"]).returncode, subprocess.run("kill -TERM $$", shell=True).returncode)
    try:
        subprocess.run(["/nonexistent"])
    except FileNotFoundError as problem:
        print(problem)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        print(cat.communicate(b"x" * 200000)[0].count(b"x"))
    child = os.fork()
    if child == 0:
        os._exit(11)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    reading, writing = os.pipe()
    os.write(writing, b"through")
    os.close(writing)
    print(os.read(reading, 100))


def files():
    with open("new", "w", encoding="utf-8") as file:
        for i in range(1000):
            print(i, math.sqrt(i), file=file)
    with open("new", encoding="utf-8") as file:
        print(sum(float(line.split()[1]) for line in file), os.path.getsize("new"))
    os.makedirs("a/b/c", exist_ok=True)
    print(
        [folder for folder, _, _ in sorted(os.walk("a"))], os.path.exists("a/b/d"), sorted(os.listdir("sub"))
    )
    caught = io.StringIO()
    with contextlib.redirect_stdout(caught):
        print("caught")
    print(repr(caught.getvalue()))
    with contextlib.suppress(FileNotFoundError):
        open("nothing")


for part in (language, texts, numbers, collections_and_iterators, threads, processes, files):
    print(f"== {part.__name__}", flush=True)
    part()
sys.exit(5)
