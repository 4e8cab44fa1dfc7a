// SPDX-License-Identifier: Apache-2.0
#include "myriarm/translation_cache.h"

#include <algorithm>

#include "translate/cache/cache_folder.h"
#include "translate/cache/region_file.h"

namespace myriarm {
namespace {

using translate::CacheFolder;

std::string path_of_cache() {
  std::string path = translate::cache_path();
  if (path.empty()) throw Error("there is no place for a translation cache; set HOME or MYRIARM_CACHE_DIR");
  return path;
}

/// Null: there is none.
std::unique_ptr<CacheFolder> open_folder(const std::string& path) {
  std::string why;
  std::unique_ptr<CacheFolder> folder = CacheFolder::open(path, false, why);
  if (!why.empty()) {
    throw Error("the translation cache " + path + " is not used: " + why +
                "; remove it, or name another folder in MYRIARM_CACHE_DIR");
  }
  return folder;
}

}  // namespace

TranslationCache read_translation_cache() {
  TranslationCache cache;
  cache.folder = path_of_cache();
  cache.limit = translate::cache_limit();
  const std::unique_ptr<CacheFolder> folder = open_folder(cache.folder);
  if (folder == nullptr) return cache;
  for (const std::string& name : folder->names()) {
    CachedRegion region;
    region.file = name;
    const auto content = folder->read(name, false, region.problem);
    if (!content && region.problem.empty()) continue;  // another process has removed it
    if (content) {
      region.bytes = content->bytes.size();
      region.used = content->used;
      translate::RegionFile file;
      if (translate::decode(content->bytes, file, region.problem)) {
        if (file.key != translate::key_of(name)) region.problem = "it is of another region";
        region.pc = file.note.pc;
        region.instructions = file.note.instructions;
        region.seconds = file.note.seconds;
        region.version = file.version;
      }
    }
    cache.regions.push_back(std::move(region));
  }
  std::stable_sort(cache.regions.begin(), cache.regions.end(),
                   [](const CachedRegion& a, const CachedRegion& b) { return a.used > b.used; });
  return cache;
}

ClearedCache clear_translation_cache() {
  ClearedCache cleared;
  cleared.folder = path_of_cache();
  if (const std::unique_ptr<CacheFolder> folder = open_folder(cleared.folder)) {
    const CacheFolder::Removed removed = folder->clear();
    cleared.regions = removed.files;
    cleared.bytes = removed.bytes;
  }
  return cleared;
}

}  // namespace myriarm
