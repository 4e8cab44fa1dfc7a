// SPDX-License-Identifier: Apache-2.0
// The translation cache as a translator's store: finds and keeps regions in the folder, and remembers what was wrong with
// it, for one warning. Nothing is opened before a region is asked for.
#pragma once

#include <mutex>
#include <string>

#include "translate/cache/cache_folder.h"
#include "translate/region_store.h"

namespace myriarm::translate {

class RegionCache final : public RegionStore {
 public:
  /// That of the environment.
  RegionCache() : RegionCache(cache_path(), cache_limit()) {}
  /// `path`: of the folder; empty: there is none, and nothing is kept.
  RegionCache(std::string path, u64 limit) : path_(std::move(path)), limit_(limit) {}

  std::vector<u8> find(const RegionKey& key) noexcept override;
  void keep(const RegionKey& key, const RegionNote& note, std::span<const u8> object) noexcept override;
  void reject(const RegionKey& key, const char* why) noexcept override;

  /// What was ignored since it was made, as one sentence. Empty: nothing.
  std::string warning() const;

 private:
  /// Adding so many files in a row looks at the folder once, since other processes add to it too.
  static constexpr u64 kFilesBetweenTrims = 32;

  /// Null: it is not there, or it cannot be used.
  CacheFolder* folder(bool make);
  void ignore(const std::string& path, const std::string& why);

  const std::string path_;
  const u64 limit_;
  mutable std::mutex mutex_;  // of all that follows
  std::unique_ptr<CacheFolder> folder_;
  bool is_unusable_ = false;
  u64 files_until_trim_ = 0;
  u64 bytes_ = 0;  // of all files, when the folder was last looked at, and those added since
  u64 ignored_ = 0;
  std::string first_ignored_;
};

}  // namespace myriarm::translate
