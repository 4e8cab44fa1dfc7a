// SPDX-License-Identifier: Apache-2.0
// `myriarm disasm`: prints the instructions of an ELF file by section and symbol, or of a file of raw words.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "commands.h"
#include "myriarm/myriarm.h"
#include "output.h"
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
void print_labels(uint64_t address, const Symbols& symbols, Symbols::const_iterator& next, Output& out) {
  while (next != symbols.end() && next->address < address) ++next;
  for (; next != symbols.end() && next->address == address; ++next) {
    out.print("\n{:>10x} <{}>:\n", address, next->name);
  }
}

void print_words(uint64_t address, std::span<const uint8_t> bytes, const Symbols& symbols, Output& out) {
  auto next = symbols.begin();
  size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    print_labels(address + at, symbols, next, out);
    const std::string instruction = disassemble(word, address + at);
    out.print("{:>10x}:  {:08x}  {}{}\n", address + at, word, instruction, target_of(instruction, symbols));
  }
  for (; at < bytes.size(); at++) {
    out.print("{:>10x}:  {:02x}        .byte {:#04x}\n", address + at, bytes[at], bytes[at]);
  }
}

constexpr uint64_t kProgramHeaderBytes = 56;

/// Code may begin within a word; instructions are aligned to words.
void print_aligned(uint64_t address, std::span<const uint8_t> bytes, const Symbols& symbols, Output& out) {
  const size_t skip = std::min<size_t>(-address % 4, bytes.size());
  print_words(address + skip, bytes.subspan(skip), symbols, out);
}

void execute(const std::string& path, const std::string& address, Output& out) {
  std::vector<uint8_t> file = read_file(path);
  static constexpr uint8_t kElfMagic[] = {0x7f, 'E', 'L', 'F'};
  bool elf = file.size() >= sizeof kElfMagic && std::memcmp(file.data(), kElfMagic, sizeof kElfMagic) == 0;
  if (!elf) {
    print_words(address.empty() ? 0 : parse_number(address, "--address"), file, {}, out);
    return;
  }
  if (!address.empty()) {
    throw ArgumentError("--address: " + path + " is an ELF file, which has its own addresses; leave the option out");
  }
  const ElfImage image = parse_elf(file, path);
  const ElfNames names = elf_names(file, image.bias);
  for (const ElfSection& section : names.code) {
    out.print("section {} at {}, {} bytes\n", section.name, hex(section.address), grouped(section.bytes.size()));
    print_aligned(section.address, section.bytes, names.symbols, out);
  }
  if (!names.code.empty()) return;
  const uint64_t headers_end = image.program_headers + image.program_header_count * kProgramHeaderBytes;
  for (const Segment& segment : image.program.segments) {
    if (!(segment.permissions & kExecute)) continue;
    out.print("segment at {}, {} bytes\n", hex(segment.address), grouped(segment.size));
    // Without sections, only the headers at its beginning are known to be no code.
    const uint64_t into = headers_end - segment.address;
    const bool has_headers = image.program_headers >= segment.address && into <= segment.bytes.size();
    const uint64_t skip = has_headers ? into : 0;
    print_aligned(segment.address + skip, std::span(segment.bytes).subspan(skip), names.symbols, out);
  }
}

}  // namespace

void add_disasm(CLI::App& app, int& status) {
  CLI::App* disasm = app.add_subcommand("disasm", "Disassembles an ELF file or raw instruction words");
  auto file = std::make_shared<std::string>();
  auto address = std::make_shared<std::string>();
  disasm->add_option("FILE", *file, "An ELF file, or raw little-endian words")->required();
  disasm->add_option("--address", *address, "Address of the first raw word")->type_name("ADDRESS");
  disasm->callback([file, address, &status] {
    Output out(STDOUT_FILENO, "standard output");
    execute(*file, *address, out);
    out.flush();
    status = 0;
  });
}

}  // namespace myriarm::cli
