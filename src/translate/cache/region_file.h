// SPDX-License-Identifier: Apache-2.0
// One file of the translation cache: its name, its bytes, and how they are checked. docs/design/translation-cache.md has
// the format. Nothing here touches a disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "translate/region_store.h"

namespace myriarm::translate {

/// Of the format below. It is part of every key, so that another format has other names.
constexpr u32 kRegionFileFormat = 1;
constexpr u64 kMostRegionFileBytes = u64{16} << 20;  // a larger file is none of ours
constexpr u64 kMostVersionBytes = 64;

struct RegionFile {
  RegionKey key = {};
  RegionNote note;
  std::string version;         // of the myriarm that made it
  std::span<const u8> object;  // not owned
};

/// CRC-64/XZ: finds damage. Nobody is kept from making a file with the right sum.
u64 crc64(std::span<const u8> bytes);

/// The bytes of a file. Empty: the object or the version is too long to be kept.
std::vector<u8> encode(const RegionFile& file);
/// False: `bytes` are no whole file of this format, and `why` says why as part of a sentence. `file.object` points into
/// `bytes`. Any bytes may be given.
bool decode(std::span<const u8> bytes, RegionFile& file, std::string& why);

/// 64 hexadecimal digits and ".region".
std::string file_name(const RegionKey& key);
/// The key that a file with this name has; none if this is no name of a region's file.
std::optional<RegionKey> key_of(std::string_view name);

}  // namespace myriarm::translate
