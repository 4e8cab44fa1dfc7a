// SPDX-License-Identifier: Apache-2.0
// FileTree of a folder of the host. Paths are followed in the index alone. The host is asked for the bytes of regular files
// only: by the names that the index has, each in the folder before it and without following a link, and what is found must
// be the file that was indexed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "linux/root_index.h"
#include "myriarm/error.h"
#include "myriarm/file_tree.h"

namespace myriarm {
namespace {

using linux_process::RootEntry;
using linux_process::RootFile;
using linux_process::RootIndex;

constexpr size_t kLongestName = 255;
constexpr unsigned kMostLinks = 40;                   // in one path, as on Linux
constexpr uint64_t kLargestFile = uint64_t{4} << 30;  // whose bytes are kept
constexpr uint32_t kOthersMayExecute = 1;

/// A descriptor of the host.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

/// The result for a path whose last name is missing; `slash`: one follows the name.
int64_t missing(uint32_t flags, bool slash) {
  if (flags & (kFindToCreate | kFindNewFolder)) return -EROFS;
  return (flags & kFindNew) && !slash ? -EROFS : -ENOENT;
}

class HostFolder final : public FileTree {
 public:
  HostFolder(Descriptor folder, const std::string& name)
      : folder_(std::move(folder)),
        index_(linux_process::read_index(folder_.number(), name)),
        contents_(new std::atomic<const Content*>[index_.files.size()]()) {}

  int64_t find(uint32_t from, std::string_view path, uint32_t flags, std::string_view program) const override try {
    return follow(from, path, flags, program);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }

  FileFacts facts(uint32_t number) const override {
    const RootFile& file = index_.files[number];
    return {linux_process::inode_of(number),
            file.mode,
            file.links,
            0,
            0,
            file.device,
            file.size,
            file.seconds,
            file.nanoseconds};
  }

  bool content(uint32_t number, std::span<const uint8_t>& bytes) const override {
    const RootFile& file = index_.files[number];
    if (file.is_folder()) bytes = file.records;
    else if (file.is_link()) bytes = {reinterpret_cast<const uint8_t*>(file.target.data()), file.target.size()};
    else if (!S_ISREG(file.mode)) return false;
    else return regular_content(number, bytes);
    return true;
  }

  std::string_view path(uint32_t folder) const override { return index_.files[folder].path; }
  bool is_program_link(uint32_t file) const override { return file == index_.program_link; }

 private:
  struct Content {
    std::vector<uint8_t> bytes;
    bool is_there;
  };

  int64_t follow(uint32_t from, std::string_view path, uint32_t flags, std::string_view program) const;
  /// The file of this name in a folder, which others may search, or a negative error.
  int64_t look_up(uint32_t folder, std::string_view name) const;
  bool regular_content(uint32_t number, std::span<const uint8_t>& bytes) const;
  bool read_content(const RootFile& file, std::vector<uint8_t>& bytes) const;

  const Descriptor folder_;
  const RootIndex index_;
  const std::unique_ptr<std::atomic<const Content*>[]> contents_;  // by file; null: not read yet
  mutable std::mutex mutex_;                                       // guards what follows
  mutable std::vector<std::unique_ptr<const Content>> kept_;
};

int64_t HostFolder::look_up(uint32_t number, std::string_view name) const {
  const RootFile& folder = index_.files[number];
  if (!folder.is_folder()) return -ENOTDIR;
  if (!(folder.mode & kOthersMayExecute)) return -EACCES;
  if (name == ".") return number;
  if (name == "..") return folder.parent;
  if (name.size() > kLongestName) return -ENAMETOOLONG;
  const auto entry = std::lower_bound(folder.entries.begin(), folder.entries.end(), name,
                                      [](const RootEntry& e, std::string_view wanted) { return e.name < wanted; });
  if (entry == folder.entries.end() || entry->name != name) return -ENOENT;
  return entry->file;
}

int64_t HostFolder::follow(uint32_t from, std::string_view path, uint32_t flags, std::string_view program) const {
  std::string text;              // the path, once a link has been put in it
  std::string_view rest = path;  // what is left to follow
  uint32_t at = path.starts_with('/') ? 0 : from;
  unsigned links = 0;
  for (;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    if (rest.empty()) return at;
    const std::string_view name = rest.substr(0, rest.find('/'));
    const std::string_view after = rest.substr(name.size());
    const bool is_last = after.find_first_not_of('/') == std::string_view::npos;
    if (is_last && (flags & kFindParent)) {
      const int64_t allowed = look_up(at, ".");
      return allowed < 0 ? allowed : at;
    }
    const int64_t found = look_up(at, name);
    if (is_last && (flags & kFindToCreate) && !after.empty() && (found >= 0 || found == -ENOENT)) return -EISDIR;
    if (found == -ENOENT && is_last) return missing(flags, !after.empty());
    if (found < 0 || (is_last && (flags & (kFindNew | kFindNewFolder)))) return found;
    const RootFile& file = index_.files[static_cast<uint32_t>(found)];
    if (file.is_link() && (!is_last || !after.empty() || (flags & kFollowLast))) {
      if (++links > kMostLinks) return -ELOOP;
      const std::string_view target = is_program_link(static_cast<uint32_t>(found)) ? program : file.target;
      if (target.empty()) return -ENOENT;
      if (target[0] == '/') at = 0;
      text = std::string(target).append(after);  // `after` may be a part of the old text
      rest = text;
      continue;
    }
    at = static_cast<uint32_t>(found);
    if (is_last && !after.empty() && !file.is_folder()) return -ENOTDIR;
    rest = after;
  }
}

bool HostFolder::regular_content(uint32_t number, std::span<const uint8_t>& bytes) const {
  std::atomic<const Content*>& place = contents_[number];
  const Content* content = place.load(std::memory_order_acquire);
  if (content == nullptr) {
    std::lock_guard lock(mutex_);
    content = place.load(std::memory_order_relaxed);
    if (content == nullptr) {
      try {
        auto made = std::make_unique<Content>();
        made->is_there = read_content(index_.files[number], made->bytes);
        kept_.push_back(std::move(made));
      } catch (const std::exception&) {  // no memory
        return false;
      }
      content = kept_.back().get();
      place.store(content, std::memory_order_release);
    }
  }
  bytes = content->bytes;
  return content->is_there;
}

bool HostFolder::read_content(const RootFile& file, std::vector<uint8_t>& bytes) const {
  if (file.size > kLargestFile) return false;
  std::vector<const RootFile*> folders;
  for (uint32_t at = file.parent; at != 0; at = index_.files[at].parent) folders.push_back(&index_.files[at]);
  Descriptor in(::fcntl(folder_.number(), F_DUPFD_CLOEXEC, 0));
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    in = Descriptor(::openat(in.number(), (*folder)->name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (in.number() < 0) return false;
  }
  // O_NONBLOCK: if a pipe has taken the file's place, do not wait for it.
  const Descriptor opened(
      ::openat(in.number(), file.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status = {};
  if (opened.number() < 0 || ::fstat(opened.number(), &status) != 0) return false;
  const bool same = status.st_dev == file.host_device && status.st_ino == file.host_number && S_ISREG(status.st_mode) &&
                    static_cast<uint64_t>(status.st_size) == file.size && status.st_mtim.tv_sec == file.seconds &&
                    status.st_mtim.tv_nsec == static_cast<long>(file.nanoseconds);
  if (!same) return false;
  bytes.resize(file.size);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pread(opened.number(), &bytes[done], bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      bytes = {};
      return false;
    }
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

std::shared_ptr<const FileTree> read_root(const std::string& folder) {
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() < 0) {
    throw ArgumentError(folder + ": cannot be opened as a root (" + std::strerror(errno) +
                        "); give a folder, as tools/debian-root makes one");
  }
  return std::make_shared<const HostFolder>(std::move(opened), folder);
}

}  // namespace myriarm
