// SPDX-License-Identifier: Apache-2.0
// `myriarm disasm`: prints the instructions of an ELF file by section and symbol, or of a file of raw words.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "commands.h"
#include "myriarm/myriarm.h"
#include "text.h"

namespace myriarm::cli {
namespace {

using Symbols = std::vector<ElfSymbol>;

/// The rest of an instruction's line that names where a branch goes or an ADR points: " <main+0x8>".
std::string target_of(const std::string& instruction, const Symbols& symbols) {
  const size_t space = instruction.find(' '), last = instruction.rfind(' ');
  if (symbols.empty() || last == std::string::npos || instruction.compare(last + 1, 2, "0x") != 0) return "";
  const std::string mnemonic = instruction.substr(0, space);
  static const std::set<std::string, std::less<>> relative = {"b", "bl", "cbz", "cbnz", "tbz", "tbnz", "adr", "adrp"};
  if (relative.count(mnemonic) == 0 && !mnemonic.starts_with("b.")) return "";
  const uint64_t address = std::stoull(instruction.substr(last + 1), nullptr, 16);
  auto after = std::upper_bound(symbols.begin(), symbols.end(), address,
                                [](uint64_t a, const ElfSymbol& symbol) { return a < symbol.address; });
  if (after == symbols.begin()) return "";
  const ElfSymbol& symbol = *--after;
  const uint64_t into = address - symbol.address;
  if (into == 0) return fmt::format(" <{}>", symbol.name);
  return into < symbol.size ? fmt::format(" <{}+{:#x}>", symbol.name, into) : "";
}

/// A line with each symbol of this address.
void print_labels(fmt::memory_buffer& text, uint64_t address, const Symbols& symbols, Symbols::const_iterator& next) {
  while (next != symbols.end() && next->address < address) ++next;
  for (; next != symbols.end() && next->address == address; ++next) {
    fmt::format_to(fmt::appender(text), "\n{:>10x} <{}>:\n", address, next->name);
  }
}

void print_words(uint64_t address, std::span<const uint8_t> bytes, const Symbols& symbols = {}) {
  fmt::memory_buffer text;
  auto next = symbols.begin();
  auto flush = [&] {
    std::fwrite(text.data(), 1, text.size(), stdout);
    text.clear();
  };
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    print_labels(text, address + at, symbols, next);
    const std::string instruction = disassemble(word, address + at);
    fmt::format_to(fmt::appender(text), "{:>10x}:  {:08x}  {}{}\n", address + at, word, instruction,
                   target_of(instruction, symbols));
    if (text.size() > 65536) flush();
  }
  for (; at < bytes.size(); at++) {
    fmt::format_to(fmt::appender(text), "{:>10x}:  {:02x}        .byte {:#04x}\n", address + at, bytes[at], bytes[at]);
  }
  flush();
}

constexpr uint64_t kProgramHeaderBytes = 56;

/// Code may begin within a word; instructions are aligned to words.
void print_aligned(uint64_t address, std::span<const uint8_t> bytes, const Symbols& symbols) {
  const size_t skip = std::min<size_t>(-address % 4, bytes.size());
  print_words(address + skip, bytes.subspan(skip), symbols);
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
  const ElfImage image = parse_elf(file, path);
  const ElfNames names = elf_names(file, image.bias);
  for (const ElfSection& section : names.code) {
    fmt::print("section {} at {}, {} bytes\n", section.name, hex(section.address), grouped(section.bytes.size()));
    print_aligned(section.address, section.bytes, names.symbols);
  }
  if (!names.code.empty()) return 0;
  const uint64_t headers_end = image.program_headers + image.program_header_count * kProgramHeaderBytes;
  for (const Segment& segment : image.program.segments) {
    if (!(segment.permissions & kExecute)) continue;
    fmt::print("segment at {}, {} bytes\n", hex(segment.address), grouped(segment.size));
    // Without sections, only the headers at its beginning are known to be no code.
    const uint64_t into = headers_end - segment.address;
    const bool has_headers = image.program_headers >= segment.address && into <= segment.bytes.size();
    const uint64_t skip = has_headers ? into : 0;
    print_aligned(segment.address + skip, std::span(segment.bytes).subspan(skip), names.symbols);
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
