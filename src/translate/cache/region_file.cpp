// SPDX-License-Identifier: Apache-2.0
#include "translate/cache/region_file.h"

#include <algorithm>
#include <cmath>

namespace myriarm::translate {
namespace {

constexpr std::array<u8, 8> kMagic = {'M', 'Y', 'R', 'I', 'R', 'E', 'G', '\n'};
constexpr std::string_view kSuffix = ".region";
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kHeaderBytes = 80, kSumBytes = 8;
constexpr u64 kMostMicroseconds = 1'000'000'000'000;

constexpr std::array<u64, 256> crc_table() {
  std::array<u64, 256> table = {};
  for (u64 i = 0; i < 256; i++) {
    u64 value = i;
    for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ ((value & 1) != 0 ? 0xC96C5795D7870F42u : 0);
    table[i] = value;
  }
  return table;
}

/// Numbers are little-endian. The caller has made room for all that is written.
class Writer {
 public:
  explicit Writer(std::span<u8> to) : to_(to) {}
  void number(u64 value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to_[i] = static_cast<u8>(value >> 8 * i);
    to_ = to_.subspan(bytes);
  }
  void bytes(std::span<const u8> from) {
    std::copy(from.begin(), from.end(), to_.begin());
    to_ = to_.subspan(from.size());
  }

 private:
  std::span<u8> to_;
};

/// The caller has checked that the bytes are there.
class Reader {
 public:
  explicit Reader(std::span<const u8> from) : from_(from) {}
  u64 number(size_t bytes) {
    u64 value = 0;
    for (size_t i = 0; i < bytes; i++) value |= u64{from_[i]} << 8 * i;
    from_ = from_.subspan(bytes);
    return value;
  }
  std::span<const u8> bytes(size_t count) {
    const std::span<const u8> result = from_.first(count);
    from_ = from_.subspan(count);
    return result;
  }
  size_t left() const { return from_.size(); }

 private:
  std::span<const u8> from_;
};

}  // namespace

u64 crc64(std::span<const u8> bytes) {
  static constexpr std::array<u64, 256> kTable = crc_table();
  u64 sum = ~u64{0};
  for (const u8 byte : bytes) sum = kTable[(sum ^ byte) & 0xFF] ^ sum >> 8;
  return ~sum;
}

std::vector<u8> encode(const RegionFile& file) {
  const size_t size = kHeaderBytes + file.version.size() + file.object.size() + kSumBytes;
  if (file.version.size() > kMostVersionBytes || size > kMostRegionFileBytes) return {};
  std::vector<u8> result(size);
  Writer to(result);
  to.bytes(kMagic);
  to.number(kRegionFileFormat, 4);
  to.number(file.version.size(), 4);
  to.bytes(file.key);
  to.number(file.note.pc, 8);
  to.number(file.note.instructions, 8);
  const auto microseconds = static_cast<u64>(std::llround(std::clamp(file.note.seconds, 0.0, 1e9) * 1e6));
  to.number(std::min(microseconds, kMostMicroseconds), 8);
  to.number(file.object.size(), 8);
  to.bytes({reinterpret_cast<const u8*>(file.version.data()), file.version.size()});
  to.bytes(file.object);
  to.number(crc64(std::span(result).first(size - kSumBytes)), kSumBytes);
  return result;
}

bool decode(std::span<const u8> bytes, RegionFile& file, std::string& why) {
  auto refuse = [&](const char* reason) {
    why = reason;
    return false;
  };
  if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return refuse("it is no file of this cache");
  }
  if (bytes.size() < kHeaderBytes + kSumBytes) return refuse("it is cut off");
  if (bytes.size() > kMostRegionFileBytes) return refuse("it is too large");
  Reader from(bytes.subspan(kMagic.size()));
  if (from.number(4) != kRegionFileFormat) return refuse("it has another format");
  const u64 version_bytes = from.number(4);
  const std::span<const u8> key = from.bytes(file.key.size());
  file.note.pc = from.number(8);
  const u64 instructions = from.number(8);
  const u64 microseconds = from.number(8);
  const u64 object_bytes = from.number(8);
  const u64 left = from.left() - kSumBytes;  // checked above
  if (version_bytes > kMostVersionBytes || version_bytes > left || object_bytes > left - version_bytes) {
    return refuse("it is cut off");
  }
  if (object_bytes != left - version_bytes) return refuse("it is longer than it says");
  if (crc64(bytes.first(bytes.size() - kSumBytes)) != Reader(bytes.last(kSumBytes)).number(kSumBytes)) {
    return refuse("its checksum is wrong");
  }
  if (instructions > 0xFFFFFFFF || microseconds > kMostMicroseconds || object_bytes == 0) {
    return refuse("its numbers are impossible");
  }
  file.note.instructions = static_cast<u32>(instructions);
  file.note.seconds = static_cast<double>(microseconds) * 1e-6;
  std::copy(key.begin(), key.end(), file.key.begin());
  const std::span<const u8> version = from.bytes(version_bytes);
  // It is printed: a file must not send commands to a terminal.
  if (std::any_of(version.begin(), version.end(), [](u8 c) { return c < 0x20 || c > 0x7E; })) {
    return refuse("its version is no text");
  }
  file.version.assign(version.begin(), version.end());
  file.object = from.bytes(object_bytes);
  return true;
}

std::string file_name(const RegionKey& key) {
  std::string name;
  for (const u8 byte : key) {
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name.append(kSuffix);
}

std::optional<RegionKey> key_of(std::string_view name) {
  RegionKey key = {};
  if (name.size() != 2 * key.size() + kSuffix.size() || !name.ends_with(kSuffix)) return std::nullopt;
  for (size_t i = 0; i < key.size(); i++) {
    const size_t high = kDigits.find(name[2 * i]), low = kDigits.find(name[2 * i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return std::nullopt;
    key[i] = static_cast<u8>(high << 4 | low);
  }
  return key;
}

}  // namespace myriarm::translate
