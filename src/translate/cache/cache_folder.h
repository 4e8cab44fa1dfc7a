// SPDX-License-Identifier: Apache-2.0
// The folder of the translation cache. What is in it is run as code, so a folder or a file counts only if it belongs to
// the user who runs this process and nobody else may write to it; that is asked of what was opened, not of a name.
// There are no locks: files appear whole under their names, and whoever finds one gone has a miss.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/portable.h"

namespace myriarm::translate {

/// Where the cache is: $MYRIARM_CACHE_DIR, else $XDG_CACHE_HOME/myriarm, else $HOME/.cache/myriarm. Empty: no variable
/// says it, or this process has rights that its caller has not, who could choose the folder.
std::string cache_path();
/// The most bytes that its files should have together: $MYRIARM_CACHE_SIZE, in bytes or with K, M or G; else 256 MiB.
/// An unreadable size counts as not given.
u64 cache_limit();

class CacheFolder {
 public:
  /// `make`: makes it if it is not there, for its owner alone. Null: `why` is empty if it is not there, and otherwise
  /// says why it cannot be used.
  static std::unique_ptr<CacheFolder> open(const std::string& path, bool make, std::string& why);
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;

  struct Content {
    std::vector<u8> bytes;
    i64 used = 0;  // when the file was last used, in seconds since 1970
  };
  /// What a file holds. None: `why` is empty if there is no such file, and otherwise says why it cannot be trusted or
  /// read. `uses`: notes that it was used now. Throws std::bad_alloc.
  std::optional<Content> read(const std::string& name, bool uses, std::string& why) const;
  /// Makes a file, or puts another in its place: whoever reads it finds the one or the other. False: it could not.
  bool write(const std::string& name, std::span<const u8> bytes);
  /// Removes the files used longest ago until those of the cache have at most `limit` bytes; and what writers that were
  /// killed have left. The bytes that stay.
  u64 trim(u64 limit);
  /// Removes all files of the cache, and nothing else. The number of regions and their bytes.
  struct Removed {
    u64 files = 0, bytes = 0;
  };
  Removed clear();
  /// Names of the regions' files, sorted.
  std::vector<std::string> names() const;

 private:
  explicit CacheFolder(int descriptor) : descriptor_(descriptor) {}
  template <class Visit>
  void for_all(Visit visit) const;

  const int descriptor_;
};

}  // namespace myriarm::translate
