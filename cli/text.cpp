// SPDX-License-Identifier: Apache-2.0
// Reads numbers from the command line and writes them for people.
#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "myriarm/error.h"

namespace myriarm::cli {

uint64_t parse_number(const std::string& text, const char* option) {
  bool is_hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char* begin = text.data() + (is_hex ? 2 : 0);
  const char* end = text.data() + text.size();
  uint64_t value = 0;
  auto [stop, error] = std::from_chars(begin, end, value, is_hex ? 16 : 10);
  if (error != std::errc() || stop != end) {
    throw ArgumentError(fmt::format(
        "{}: '{}' is not a number from 0 to 2^64 - 1; give it in decimal, or in hexadecimal with 0x", option, text));
  }
  return value;
}

uint64_t parse_count(const std::string& text, const char* option) {
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return parse_number(text, option);
  auto fail = [&] {
    throw ArgumentError(fmt::format(
        "{}: '{}' is not a whole number from 0 to 2^64 - 1; write it as in 1000000, 1e6, 1M or 0xf4240", option, text));
  };
  uint64_t value = 0;
  bool point = false;
  int decimals = 0, digits = 0;
  size_t at = 0;
  for (; at < text.size(); at++) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      if (__builtin_mul_overflow(value, uint64_t{10}, &value)) fail();
      if (__builtin_add_overflow(value, static_cast<uint64_t>(c - '0'), &value)) fail();
      digits++;
      if (point) decimals++;
    } else {
      break;
    }
  }
  const std::string scale = text.substr(at);
  int exponent = 0;
  if (scale == "k" || scale == "K") exponent = 3;
  else if (scale == "m" || scale == "M") exponent = 6;
  else if (scale == "g" || scale == "G") exponent = 9;
  else if (scale == "t" || scale == "T") exponent = 12;
  else if (scale.size() > 1 && (scale[0] == 'e' || scale[0] == 'E')) {
    const char* end = scale.data() + scale.size();
    const auto [stop, error] = std::from_chars(scale.data() + 1, end, exponent);
    if (error != std::errc() || stop != end || exponent < 0 || exponent > 99) fail();
  } else if (!scale.empty()) {
    fail();
  }
  if (digits == 0) fail();
  for (exponent -= decimals; exponent > 0 && value != 0; exponent--) {
    if (__builtin_mul_overflow(value, uint64_t{10}, &value)) fail();
  }
  for (; exponent < 0; exponent++) {
    if (value % 10 != 0) fail();
    value /= 10;
  }
  return value;
}

uint64_t parse_size(const std::string& text, const char* option) {
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]))) digits++;
  std::string unit;
  for (char c : text.substr(digits)) unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  unsigned shift = 0;
  bool known = digits > 0;
  if (unit == "k" || unit == "kib") shift = 10;
  else if (unit == "m" || unit == "mib") shift = 20;
  else if (unit == "g" || unit == "gib") shift = 30;
  else if (unit == "t" || unit == "tib") shift = 40;
  else known = known && unit.empty();
  uint64_t value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + digits, value);
  (void)stop;
  if (!known || error != std::errc() || value > std::numeric_limits<uint64_t>::max() >> shift) {
    throw ArgumentError(
        fmt::format("{}: '{}' is not a size; give bytes, or a number with K, M, G or T, as in 64M", option, text));
  }
  return value << shift;
}

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value), text;
  for (size_t i = 0; i < digits.size(); i++) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string with_unit(double value) {
  static constexpr const char* units[] = {"", " k", " M", " G", " T", " P", " E"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1000;
    unit++;
  }
  return fmt::format("{:.3g}{}", value, units[unit]);
}

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    unit++;
  }
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string duration_text(double seconds) {
  constexpr uint64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  constexpr double kMost = 1e9 * kDay;  // a number that fits, and that nobody waits for
  const auto whole = static_cast<uint64_t>(std::clamp(std::ceil(seconds), 0.0, kMost));
  if (whole < kMinute) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
  if (whole < kDay) return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
  return fmt::format("{} d {} h", whole / kDay, whole % kDay / kHour);
}

}  // namespace myriarm::cli
