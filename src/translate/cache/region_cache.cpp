// SPDX-License-Identifier: Apache-2.0
#include "translate/cache/region_cache.h"

#include "myriarm/version.h"
#include "translate/cache/region_file.h"

namespace myriarm::translate {

CacheFolder* RegionCache::folder(bool make) {
  std::lock_guard lock(mutex_);
  if (folder_ != nullptr || is_unusable_ || path_.empty()) return folder_.get();
  std::string why;
  folder_ = CacheFolder::open(path_, make, why);
  // A folder that cannot be made, as where there is no home, is nothing to warn of.
  is_unusable_ = folder_ == nullptr && (make || !why.empty());
  if (!why.empty()) {
    ignored_++;
    first_ignored_ = path_ + ": " + why;
  }
  return folder_.get();
}

void RegionCache::ignore(const std::string& name, const std::string& why) {
  std::lock_guard lock(mutex_);
  if (ignored_++ == 0) first_ignored_ = path_ + "/" + name + ": " + why;
}

std::vector<u8> RegionCache::find(const RegionKey& key) noexcept {
  try {
    const CacheFolder* const from = folder(false);
    if (from == nullptr) return {};
    const std::string name = file_name(key);
    std::string why;
    const auto content = from->read(name, true, why);
    RegionFile file;
    if (content && decode(content->bytes, file, why)) {
      if (file.key == key) return {file.object.begin(), file.object.end()};
      why = "it is of another region";
    }
    if (!why.empty()) ignore(name, why);
  } catch (const std::exception&) {  // no memory: as if there were none
  }
  return {};
}

void RegionCache::keep(const RegionKey& key, const RegionNote& note, std::span<const u8> object) noexcept {
  try {
    RegionFile file;
    file.key = key;
    file.note = note;
    file.version = MYRIARM_VERSION;
    file.object = object;
    const std::vector<u8> bytes = encode(file);
    if (bytes.empty() || bytes.size() > limit_) return;
    CacheFolder* const to = folder(true);
    if (to == nullptr || !to->write(file_name(key), bytes)) return;
    std::lock_guard lock(mutex_);
    bytes_ += bytes.size();
    if (files_until_trim_ == 0 || bytes_ > limit_) {
      bytes_ = to->trim(limit_);
      files_until_trim_ = kFilesBetweenTrims;
    }
    files_until_trim_--;
  } catch (const std::exception&) {  // no memory: it is not kept
  }
}

void RegionCache::reject(const RegionKey& key, const char* why) noexcept {
  try {
    ignore(file_name(key), why);
  } catch (const std::exception&) {  // no memory
  }
}

std::string RegionCache::warning() const {
  std::lock_guard lock(mutex_);
  if (ignored_ == 0) return "";
  if (ignored_ == 1) return "the translation cache was ignored in part: " + first_ignored_;
  return std::to_string(ignored_) + " parts of the translation cache were ignored; the first: " + first_ignored_;
}

}  // namespace myriarm::translate
