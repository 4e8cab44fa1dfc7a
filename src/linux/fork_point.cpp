// SPDX-License-Identifier: Apache-2.0
// The point that a text names, for the command line and Python.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "myriarm/linux.h"
#include "support/text.h"

namespace myriarm {
namespace {

uint64_t parse_address(const std::string& text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const char *begin = text.data() + (hexadecimal ? 2 : 0), *end = text.data() + text.size();
  uint64_t address = 0;
  const auto [parsed, error] = std::from_chars(begin, end, address, hexadecimal ? 16 : 10);
  if (begin == end || parsed != end || error != std::errc()) {
    throw ArgumentError("fork_after: '" + text + "' is no address; write it as 0x4005d8 or as the name of a function");
  }
  return address;
}

}  // namespace

ForkPoint fork_point(const std::string& text, std::span<const uint8_t> file, const ElfImage& image) {
  if (text == "start") return {};
  if (text == "read") return {ForkPoint::Kind::read, 0, ""};
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
    return {ForkPoint::Kind::address, parse_address(text), ""};
  }
  const ElfNames names = elf_names(file, image.bias);
  const auto has_name = [&](const ElfSymbol& symbol) { return symbol.name == text; };
  const auto found = std::find_if(names.symbols.begin(), names.symbols.end(), has_name);
  const std::string& program = image.program.name;
  if (found == names.symbols.end()) {
    throw ArgumentError(program +
                        (names.symbols.empty()
                             ? ": it has no symbols, so that '" + text + "' cannot be found; give an address"
                             : ": it has no symbol '" + text + "'; give the name of a function, or an address"));
  }
  const auto other = std::find_if(found, names.symbols.end(), [&](const ElfSymbol& symbol) {
    return has_name(symbol) && symbol.address != found->address;
  });
  if (other != names.symbols.end()) {
    throw ArgumentError(program + ": '" + text + "' is the name of " + hex(found->address) + " and " +
                        hex(other->address) + "; give one of these addresses");
  }
  return {ForkPoint::Kind::address, found->address, text};
}

}  // namespace myriarm
