// SPDX-License-Identifier: Apache-2.0
// The cache on disk of translated code, which Engine::translate fills and uses: what is in it. It is in the folder
// $MYRIARM_CACHE_DIR, else $XDG_CACHE_HOME/myriarm, else $HOME/.cache/myriarm, and has at most $MYRIARM_CACHE_SIZE
// bytes (512M, for example), else 256 MiB. All of it works without LLVM. docs/design/translation-cache.md says whom the
// cache trusts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "myriarm/error.h"

namespace myriarm {

/// A file of the cache: the machine code of a piece of guest code.
struct CachedRegion {
  std::string file;           ///< its name in the folder
  uint64_t bytes = 0;         ///< its size
  int64_t used = 0;           ///< when a run last made or used it, in seconds since 1970 (UTC)
  uint64_t pc = 0;            ///< guest address of its first instruction
  uint64_t instructions = 0;  ///< guest instructions translated
  double seconds = 0;         ///< of processor time that translating took
  std::string version;        ///< of the myriarm that made it
  /// Why runs ignore it, as part of a sentence; then only `file` is known, and `bytes` and `used` if it can be read.
  std::string problem;
};

struct TranslationCache {
  std::string folder;
  uint64_t limit = 0;                 ///< bytes that its files should have at most, together
  std::vector<CachedRegion> regions;  ///< those used last come first
};

/// Reads the cache and checks every file. A folder that does not exist holds nothing. Throws Error if there is no place
/// for a cache, or if the folder cannot be trusted.
TranslationCache read_translation_cache();

struct ClearedCache {
  std::string folder;
  uint64_t regions = 0;  ///< files removed
  uint64_t bytes = 0;    ///< what they had
};
/// Removes the cache's files, and no others. Runs in progress go on. Throws as read_translation_cache() does.
ClearedCache clear_translation_cache();

}  // namespace myriarm
