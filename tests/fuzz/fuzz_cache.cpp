// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the reader of the translation cache's files. Any bytes are taken or refused, without a crash; so are the
// same bytes with the checksum that they should have, since damage is not the only way to a wrong file. What is taken
// is, written again, the same bytes.
#include <cstdlib>
#include <cstring>
#include <string>

#include "translate/cache/region_file.h"

namespace {

using namespace myriarm;
using namespace myriarm::translate;

void require(bool holds) {
  if (!holds) std::abort();
}

bool check_file(std::span<const u8> bytes) {
  RegionFile file;
  std::string why;
  if (!decode(bytes, file, why)) {
    require(!why.empty() && why.size() < 100);
    return false;
  }
  require(file.object.data() >= bytes.data() && file.object.size() < bytes.size());
  require(file.object.data() + file.object.size() <= bytes.data() + bytes.size());
  for (const char c : file.version) require(c >= ' ' && c <= '~');
  const std::vector<u8> again = encode(file);
  require(again.size() == bytes.size() && std::memcmp(again.data(), bytes.data(), bytes.size()) == 0);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check_file({data, size});
  if (const auto key = key_of({reinterpret_cast<const char*>(data), size})) {
    require(file_name(*key) == std::string(reinterpret_cast<const char*>(data), size));
  }
  std::vector<u8> mended(data, data + size);
  if (size < 8) return 0;
  const u64 sum = crc64(std::span(mended).first(size - 8));
  for (size_t i = 0; i < 8; i++) mended[size - 8 + i] = static_cast<u8>(sum >> 8 * i);
  check_file(mended);
  return 0;
}
