// SPDX-License-Identifier: Apache-2.0
// `myriarm disasm`: prints the instructions of an ELF file's executable segments, or of a file of raw words.
#include <fmt/format.h>

#include <cstring>

#include "commands.h"
#include "myriarm/myriarm.h"
#include "text.h"

namespace myriarm::cli {
namespace {

void print_words(uint64_t address, std::span<const uint8_t> bytes) {
  fmt::memory_buffer text;
  auto flush = [&] {
    std::fwrite(text.data(), 1, text.size(), stdout);
    text.clear();
  };
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    fmt::format_to(fmt::appender(text), "{:>10x}:  {:08x}  {}\n", address + at, word, disassemble(word, address + at));
    if (text.size() > 65536) flush();
  }
  for (; at < bytes.size(); at++) {
    fmt::format_to(fmt::appender(text), "{:>10x}:  {:02x}        .byte {:#04x}\n", address + at, bytes[at], bytes[at]);
  }
  flush();
}

int execute(const std::string& path, const std::string& address) {
  std::vector<uint8_t> file = read_file(path);
  static constexpr uint8_t kElfMagic[] = {0x7f, 'E', 'L', 'F'};
  bool elf = file.size() >= sizeof kElfMagic && std::memcmp(file.data(), kElfMagic, sizeof kElfMagic) == 0;
  if (!elf) {
    print_words(address.empty() ? 0 : parse_number(address, "--address"), file);
    return 0;
  }
  if (!address.empty()) {
    throw ArgumentError("--address: " + path + " is an ELF file, which has its own addresses; leave the option out");
  }
  for (const Segment& segment : parse_elf(file, path).program.segments) {
    if (!(segment.permissions & kExecute)) continue;
    fmt::print("segment {}, {} bytes\n", hex(segment.address), grouped(segment.size));
    // A segment may begin within a word; instructions are aligned to words.
    size_t skip = std::min<size_t>(-segment.address % 4, segment.bytes.size());
    print_words(segment.address + skip, std::span(segment.bytes).subspan(skip));
  }
  return 0;
}

}  // namespace

void add_disasm(CLI::App& app, int& status) {
  CLI::App* disasm = app.add_subcommand("disasm", "Disassembles an ELF file or raw instruction words");
  auto file = std::make_shared<std::string>();
  auto address = std::make_shared<std::string>();
  disasm->add_option("FILE", *file, "An ELF file, or raw little-endian words")->required();
  disasm->add_option("--address", *address, "Address of the first raw word")->type_name("ADDRESS");
  disasm->callback([file, address, &status] { status = execute(*file, *address); });
}

}  // namespace myriarm::cli
