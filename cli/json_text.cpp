// SPDX-License-Identifier: Apache-2.0
#include "json_text.h"

#include <algorithm>
#include <string_view>

namespace myriarm::cli {
namespace {

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The longest beginning that is a character of UTF-8, or could be continued to one (The Unicode Standard, table 3-7).
struct Character {
  size_t size;
  bool complete;
};
Character character_at(std::span<const uint8_t> bytes) {
  const uint8_t first = bytes[0];
  size_t size = 0;
  uint8_t lowest = 0x80, highest = 0xbf;  // of the second byte
  if (first < 0x80) return {1, true};
  if (first >= 0xc2 && first <= 0xdf) size = 2;
  else if (first >= 0xe0 && first <= 0xef) size = 3;
  else if (first >= 0xf0 && first <= 0xf4) size = 4;
  else return {1, false};
  if (first == 0xe0) lowest = 0xa0;   // not in fewer bytes
  if (first == 0xed) highest = 0x9f;  // no surrogates
  if (first == 0xf0) lowest = 0x90;   // not in fewer bytes
  if (first == 0xf4) highest = 0x8f;  // not above U+10FFFF
  for (size_t i = 1; i < size; i++) {
    if (i == bytes.size() || bytes[i] < lowest || bytes[i] > highest) return {i, false};
    lowest = 0x80;
    highest = 0xbf;
  }
  return {size, true};
}

bool is_plain(uint8_t byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; }

}  // namespace

bool write_json_string(std::span<const uint8_t> bytes, Output& to) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
  constexpr char kDigits[] = "0123456789abcdef";
  bool is_utf8 = true;
  to.write("\"");
  while (!bytes.empty()) {
    const auto plain = static_cast<size_t>(std::find_if_not(bytes.begin(), bytes.end(), is_plain) - bytes.begin());
    to.write(text_of(bytes.first(plain)));
    bytes = bytes.subspan(plain);
    if (bytes.empty()) break;
    const Character character = character_at(bytes);
    const uint8_t byte = bytes[0];
    if (!character.complete) {
      is_utf8 = false;
      to.write(kReplacement);
    } else if (byte >= 0x7f) {
      to.write(text_of(bytes.first(character.size)));
    } else {
      const char unicode[] = {'\\', 'u', '0', '0', kDigits[byte >> 4], kDigits[byte & 15]};
      const char quoted[] = {'\\', static_cast<char>(byte)};
      switch (byte) {
        case '"':
        case '\\': to.write({quoted, sizeof quoted}); break;
        case '\n': to.write("\\n"); break;
        case '\r': to.write("\\r"); break;
        case '\t': to.write("\\t"); break;
        default: to.write({unicode, sizeof unicode});
      }
    }
    bytes = bytes.subspan(character.size);
  }
  to.write("\"");
  return is_utf8;
}

void write_base64(std::span<const uint8_t> bytes, Output& to) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  to.write("\"");
  while (!bytes.empty()) {
    const size_t count = std::min<size_t>(bytes.size(), 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; i++) bits = bits << 8 | (i < count ? bytes[i] : 0);
    char letters[] = {kLetters[bits >> 18], kLetters[bits >> 12 & 63], kLetters[bits >> 6 & 63], kLetters[bits & 63]};
    std::fill(letters + count + 1, letters + sizeof letters, '=');
    to.write({letters, sizeof letters});
    bytes = bytes.subspan(count);
  }
  to.write("\"");
}

}  // namespace myriarm::cli
