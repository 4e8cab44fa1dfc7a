# SPDX-License-Identifier: Apache-2.0
"""The translation cache as users see it: a second run starts translated, `myriarm cache`, what is said of
damage, and `--engine auto`. The cache's files are made here too, from the description of their format, so
that `myriarm cache` is tested where myriarm was built without LLVM."""
import json
import struct

import case
import guest

# mov x1, #n << 16; again: sub x1, x1, #1; cbnz x1, again; mov x0, #42; hlt #0
LONG = guest.words(0xD2A00001 | 16000 << 5, 0xD1000421, 0xB5FFFFE1, 0xD2800540, 0xD4400000)


def crc64(octets):
    total = 2**64 - 1
    for octet in octets:
        total ^= octet
        for _ in range(8):
            total = total >> 1 ^ (0xC96C5795D7870F42 if total & 1 else 0)
    return total ^ 2**64 - 1


def region_file(
    key, pc=0x400BFC, instructions=48, microseconds=16100, version=b"0.1.0", code=b"machine code"
):
    header = b"MYRIREG\n" + struct.pack("<II", 1, len(version)) + key
    octets = header + struct.pack("<QQQQ", pc, instructions, microseconds, len(code)) + version + code
    return octets + struct.pack("<Q", crc64(octets))


class CacheTest(case.CliTest):
    def keep(self, number, octets=None, **note):
        """A file of the cache, of region `number`; octets: of the file."""
        self.cache.mkdir(mode=0o700, exist_ok=True)
        key = bytes([number]) * 32
        path = self.cache / f"{key.hex()}.region"
        path.write_bytes(region_file(key, **note) if octets is None else octets)
        path.chmod(0o600)
        return path

    def translated_run(self, *options):
        """Runs LONG; the report on its translation, and what was written to standard error."""
        program = self.file("long", LONG)
        options = ["--quiet", "--device", "cpu", "--explain", "--registers", *options]
        done = self.myriarm("run", *options, "--engine", "translate", "--json", "-", "--raw", 0, program)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["instructions"], 2 + 2 * (16000 << 16))
        self.assertEqual(result["lane_results"][0]["registers"]["x0"], "0x2a")
        return result["translation"], done.stderr.decode()

    def runs_until(self, is_enough, *options):
        """Runs again until a report is as wanted: a run translates in a thread of its own, and a slow host
        may end the run before that thread has done anything."""
        while True:
            report, said = self.translated_run(*options)
            if report["unavailable"]:
                self.skipTest(report["unavailable"])
            if is_enough(report):
                return report, said

    def fill(self):
        """Runs until the cache has something; the files."""
        self.runs_until(lambda report: any(self.cache.glob("*.region")))
        return sorted(self.cache.glob("*.region"))

    def cache_json(self, action, status=0):
        done = self.myriarm("cache", action, "--json")
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def test_a_second_run_starts_translated(self):
        files = self.fill()
        report, said = self.runs_until(lambda report: report["cached_regions"] > 0)
        self.assertEqual(report["cached_regions"], report["regions"])
        self.assertGreater(report["translated"], 0)
        self.assertEqual(report["cache_warning"], "")
        self.assertRegex(said, r"(?m)^from the cache +[1-9]\d* of the compiled regions$")
        listed = self.cache_json("verify")
        self.assertEqual(listed["damaged"], 0)
        names = sorted(region["file"] for region in listed["regions"])
        self.assertEqual(names, [path.name for path in files])

    def test_without_the_cache_nothing_is_kept(self):
        self.runs_until(lambda report: report["regions"] > 0, "--no-cache")
        self.assertFalse(self.cache.exists())
        self.fill()
        report, _ = self.runs_until(lambda report: report["regions"] > 0, "--no-cache")
        self.assertEqual(report["cached_regions"], 0)

    def test_damaged_files_are_made_again_with_one_warning(self):
        for path in self.fill():
            path.write_bytes(path.read_bytes()[:-1])
        report, said = self.runs_until(lambda report: report["cache_warning"])
        self.assertEqual(said.count("translation cache"), 1, said)
        self.assertIn("myriarm: " + report["cache_warning"] + "\n", said)
        self.assertIn(": it is cut off", report["cache_warning"])
        report, said = self.runs_until(lambda report: report["cached_regions"] > 0)
        self.assertNotIn("ignored", said)

    def test_foreign_code_is_compiled_again_with_one_warning(self):
        for path in self.fill():
            path.write_bytes(region_file(bytes.fromhex(path.stem), code=b"no machine code" * 100))
        report, _ = self.runs_until(lambda report: report["cache_warning"])
        self.assertEqual(report["cached_regions"], 0)
        self.runs_until(lambda report: report["cached_regions"] > 0)

    def test_list(self):
        self.keep(1)
        self.keep(2, pc=0x1234, instructions=1000, microseconds=0, version=b"0.0.9", code=b"x" * 2000)
        self.keep(3, octets=b"something else")
        (self.cache / "note").write_bytes(b"not of the cache")
        done = self.myriarm("cache", "list")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        head, *lines, total = done.stdout.decode().splitlines()
        self.assertEqual(head.split("  ")[0], "used (UTC)")
        self.assertRegex(head, "guest address +instructions +bytes +compile \\(ms\\) +made by +file$")
        self.assertEqual(len(lines), 3)
        fields = [line.split()[2:] for line in lines]  # behind date and time
        self.assertIn(["0x400bfc", "48", "105", "16.1", "0.1.0", "01" * 32 + ".region"], fields)
        self.assertIn(["0x1234", "1,000", "2,093", "0.0", "0.0.9", "02" * 32 + ".region"], fields)
        self.assertIn("03" * 32 + ".region: it is no file of this cache", "\n".join(lines))
        for line in lines:
            self.assertEqual(line.index(".region") - 64, head.index("file"), "the columns are not aligned")
        self.assertEqual(total, f"2,212 bytes of at most 268,435,456, 3 regions in {self.cache}")
        regions = {region["file"][:2]: region for region in self.cache_json("list")["regions"]}
        self.assertEqual(regions["02"]["pc"], "0x1234")
        self.assertEqual(regions["02"]["compile_seconds"], 0)
        self.assertEqual(regions["03"]["problem"], "it is no file of this cache")

    def test_verify(self):
        self.assertEqual(self.cache_json("verify")["regions"], [])
        path = self.keep(1)
        self.assertTrue(self.myriarm("cache", "verify").stdout.endswith(b"\nall whole\n"))
        octets = bytearray(path.read_bytes())
        octets[90] ^= 1
        path.write_bytes(octets)
        done = self.myriarm("cache", "verify")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.decode().startswith(path.name + ": its checksum is wrong\n"))
        self.assertEqual(self.cache_json("verify", status=1)["damaged"], 1)
        path.write_bytes(region_file(b"\x01" * 32))
        path.chmod(0o620)
        self.assertIn(b": others may write to it\n", self.myriarm("cache", "verify").stdout)

    def test_clear(self):
        sizes = [self.keep(1).stat().st_size, self.keep(2, octets=b"damaged").stat().st_size]
        (self.cache / "note").write_bytes(b"not of the cache")
        self.assertEqual(
            self.cache_json("clear"),
            {"folder": str(self.cache), "removed_regions": 2, "removed_bytes": sum(sizes)},
        )
        self.assertEqual([path.name for path in self.cache.iterdir()], ["note"])
        done = self.myriarm("cache", "clear")
        self.assertEqual(done.stdout.decode(), f"removed 0 bytes, 0 regions, from {self.cache}\n")

    def test_mistakes(self):
        self.assert_refused("cache", says="ACTION")
        self.assert_refused("cache", "burn", says="burn")
        self.keep(1)
        self.cache.chmod(0o777)
        for action in ("list", "verify", "clear"):
            self.assert_refused("cache", action, says="others may write to it")
        self.assertEqual(len(list(self.cache.iterdir())), 1)

    def test_engine_auto_says_nothing(self):
        program = self.elf(guest.EXIT_7)
        quiet = ["--device", "cpu", "--quiet", "--json", "-"]
        done = self.myriarm("run", *quiet, "--engine", "auto", program, "a")
        result = json.loads(done.stdout)
        self.assertIn(result["engine"], ("translate", "interpreter"))
        self.assertEqual(done.stderr, b"")
        done = self.myriarm("run", *quiet, program, "a")
        want = json.loads(done.stdout)
        self.assertEqual(result["lane_results"], want["lane_results"])


if __name__ == "__main__":
    case.main()
