// SPDX-License-Identifier: Apache-2.0
#include "translate/cache/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "translate/cache/region_file.h"

namespace myriarm::translate {
namespace {

constexpr u64 kDefaultLimit = u64{256} << 20;
// What is being written. A writer that was killed leaves it; after this time nobody writes to it any more.
constexpr std::string_view kUnfinished = "unfinished-";
constexpr i64 kUnfinishedSeconds = 3600;

std::string variable(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string reason(const char* what) { return std::string(what) + " (" + std::strerror(errno) + ")"; }

/// Empty if it belongs to this user, and nobody else may write to it.
std::string why_untrusted(const struct stat& status) {
  if (status.st_uid != geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
  return "";
}

/// Makes the folders on the way to a path, and the one there.
bool make_folders(const std::string& path) {
  for (size_t at = 1; at != path.npos;) {
    at = path.find('/', at);
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && at == path.npos) return false;
    if (at != path.npos) at++;
  }
  return true;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  operator int() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

bool write_all(int to, std::span<const u8> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

/// As many of the bytes as the file has.
size_t read_all(int from, std::span<u8> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(from, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

}  // namespace

std::string cache_path() {
  if (std::string own = variable("MYRIARM_CACHE_DIR"); !own.empty()) return own;
  // The XDG specification ignores paths that are not absolute.
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/myriarm";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/myriarm";
  return "";
}

u64 cache_limit() {
  const std::string text = variable("MYRIARM_CACHE_SIZE");
  u64 size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  constexpr std::string_view kUnits = " KMG";
  const size_t power = unit.empty() ? 0 : kUnits.find(unit, 1);
  if (error != std::errc() || unit.size() > 1 || power >= kUnits.size() || size > ~u64{0} >> 10 * power)
    return kDefaultLimit;
  return size << 10 * power;
}

std::unique_ptr<CacheFolder> CacheFolder::open(const std::string& path, bool make, std::string& why) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  why.clear();
  Descriptor folder(::open(path.c_str(), kFlags));
  if (folder < 0 && errno == ENOENT && make && make_folders(path)) {
    Descriptor made(::open(path.c_str(), kFlags));
    if (made >= 0) return open(path, false, why);
  }
  if (folder < 0) {
    if (errno == ENOENT) return nullptr;
    why = errno == ELOOP || errno == ENOTDIR ? "it is no folder, or a link to one" : reason("it cannot be opened");
    return nullptr;
  }
  struct stat status;
  why = fstat(folder, &status) != 0 ? reason("it cannot be opened") : why_untrusted(status);
  if (!why.empty()) return nullptr;
  return std::unique_ptr<CacheFolder>(new CacheFolder(folder.release()));
}

CacheFolder::~CacheFolder() { close(descriptor_); }

std::optional<CacheFolder::Content> CacheFolder::read(const std::string& name, bool uses, std::string& why) const {
  why.clear();
  // O_NONBLOCK: to open a pipe would wait for its writer.
  const Descriptor file(openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file < 0) {
    if (errno != ENOENT) why = errno == ELOOP ? "it is a link" : reason("it cannot be opened");
    return std::nullopt;
  }
  struct stat status;
  if (fstat(file, &status) != 0) why = reason("it cannot be opened");
  else if (!S_ISREG(status.st_mode)) why = "it is no file";
  else if (status.st_size < 0 || static_cast<u64>(status.st_size) > kMostRegionFileBytes) why = "it is too large";
  else why = why_untrusted(status);
  if (!why.empty()) return std::nullopt;
  Content content;
  content.used = status.st_mtim.tv_sec;
  content.bytes.resize(static_cast<size_t>(status.st_size));
  content.bytes.resize(read_all(file, content.bytes));
  // Where the time cannot be noted the file is merely removed earlier.
  if (uses) (void)futimens(file, nullptr);
  return content;
}

bool CacheFolder::write(const std::string& name, std::span<const u8> bytes) {
  u64 number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return false;
  char unfinished[48];
  std::snprintf(unfinished, sizeof unfinished, "%s%016llx", kUnfinished.data(),
                static_cast<unsigned long long>(number));
  const Descriptor file(openat(descriptor_, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file < 0) return false;
  // Not forced to the disk: after a power cut the checksum tells.
  if (write_all(file, bytes) && renameat(descriptor_, unfinished, descriptor_, name.c_str()) == 0) return true;
  (void)unlinkat(descriptor_, unfinished, 0);
  return false;
}

/// Calls visit(name, status) for each file in the folder.
template <class Visit>
void CacheFolder::for_all(Visit visit) const {
  // A descriptor of its own, since the position in the folder belongs to it.
  Descriptor again(openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (again < 0) return;
  DIR* folder = fdopendir(again);
  if (folder == nullptr) return;
  (void)again.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> owner(folder, closedir);
  while (const dirent* entry = readdir(folder)) {
    struct stat status;
    if (fstatat(descriptor_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    visit(std::string(entry->d_name), status);
  }
}

u64 CacheFolder::trim(u64 limit) {
  struct File {
    timespec used;
    u64 bytes;
    std::string name;
  };
  std::vector<File> files;
  u64 bytes = 0;
  const i64 now = std::time(nullptr);
  for_all([&](std::string name, const struct stat& status) {
    if (name.starts_with(kUnfinished) && status.st_mtim.tv_sec < now - kUnfinishedSeconds) {
      (void)unlinkat(descriptor_, name.c_str(), 0);
    }
    if (!key_of(name)) return;
    bytes += static_cast<u64>(status.st_size);
    files.push_back({status.st_mtim, static_cast<u64>(status.st_size), std::move(name)});
  });
  if (bytes <= limit) return bytes;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const File& file : files) {
    if (bytes <= limit) break;
    if (unlinkat(descriptor_, file.name.c_str(), 0) == 0 || errno == ENOENT) bytes -= file.bytes;
  }
  return bytes;
}

CacheFolder::Removed CacheFolder::clear() {
  Removed removed;
  for_all([&](const std::string& name, const struct stat& status) {
    const bool is_region = key_of(name).has_value();
    if (!is_region && !name.starts_with(kUnfinished)) return;
    if (unlinkat(descriptor_, name.c_str(), 0) != 0 || !is_region) return;
    removed.files++;
    removed.bytes += static_cast<u64>(status.st_size);
  });
  return removed;
}

std::vector<std::string> CacheFolder::names() const {
  std::vector<std::string> names;
  for_all([&](std::string name, const struct stat&) {
    if (key_of(name)) names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace myriarm::translate
