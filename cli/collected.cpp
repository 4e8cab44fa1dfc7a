// SPDX-License-Identifier: Apache-2.0
#include "collected.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "file.h"
#include "myriarm/error.h"
#include "output.h"
#include "text.h"

namespace myriarm::cli {
namespace {

constexpr uint32_t kPermissions = 0777;

[[noreturn]] void fail(const std::string& path, int number) {
  throw Error(fmt::format("--collect: {} cannot be written ({}); free some space there, or give another --output-dir",
                          path, std::strerror(number)));
}

/// A folder of the host, by its descriptor.
class Folder {
 public:
  explicit Folder(int descriptor) : descriptor_(descriptor) {}
  Folder(Folder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Folder& operator=(Folder&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Folder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int number() const { return descriptor_; }

  /// The folder of this name in it, made if it is not there; a file or a link there makes way.
  Folder enter(const std::string& name, const std::string& path) const {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int opened = ::openat(descriptor_, name.c_str(), kFlags);
    if (opened < 0) {
      ::unlinkat(descriptor_, name.c_str(), 0);
      if (::mkdirat(descriptor_, name.c_str(), kPermissions) != 0 && errno != EEXIST) fail(path, errno);
      opened = ::openat(descriptor_, name.c_str(), kFlags);
    }
    if (opened < 0) fail(path, errno);
    return Folder(opened);
  }

 private:
  int descriptor_;
};

void write_file(const Folder& folder, const std::string& name, const std::string& path, const CollectedFile& file) {
  if (::unlinkat(folder.number(), name.c_str(), 0) != 0 && errno == EISDIR) fail(path, EISDIR);
  if (S_ISLNK(file.mode)) {
    const std::string target(file.bytes.begin(), file.bytes.end());
    if (::symlinkat(target.c_str(), folder.number(), name.c_str()) != 0) fail(path, errno);
    return;
  }
  const timespec times[] = {{0, UTIME_OMIT}, {static_cast<time_t>(file.seconds), static_cast<long>(file.nanoseconds)}};
  if (S_ISFIFO(file.mode)) {
    if (::mkfifoat(folder.number(), name.c_str(), 0600) != 0) fail(path, errno);
    // O_NONBLOCK: else it would wait for a writer.
    const File made(::openat(folder.number(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!made || ::fchmod(made.descriptor(), file.mode & kPermissions) != 0) fail(path, errno);
    ::futimens(made.descriptor(), times);
    return;
  }
  File made(::openat(folder.number(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made) fail(path, errno);
  Output to(made.descriptor(), "--collect: " + path);
  to.write({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
  to.flush();
  ::futimens(made.descriptor(), times);
  ::fchmod(made.descriptor(), file.mode & kPermissions);
  if (!made.close()) fail(path, errno);
}

/// The folder of the host in which the file of this path in the guest is to be.
Folder folder_of(const std::string& base, const std::string& path) {
  Folder at(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.number() < 0) fail(base, errno);
  size_t begin = 1;
  for (size_t end; (end = path.find('/', begin)) != std::string::npos; begin = end + 1) {
    at = at.enter(path.substr(begin, end - begin), base + path);
  }
  return at;
}

}  // namespace

void write_collected(const std::string& folder, uint64_t number, std::span<const CollectedFile> files) {
  const std::string base = (std::filesystem::path(folder) / std::to_string(number)).string();
  std::error_code error;
  std::filesystem::create_directories(base, error);
  if (error) fail(base, error.value());
  for (const CollectedFile& file : files) {
    const std::string path = base + file.path;
    if (file.left_out) {
      print_error("myriarm: --collect: {} of {} is too large to be collected, and was left out\n", file.path, number);
      continue;
    }
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    if (name.empty()) continue;  // the root
    Folder at = folder_of(base, file.path);
    if (S_ISDIR(file.mode)) at = at.enter(name, path);
    else write_file(at, name, path, file);
  }
  // Permissions of folders last, and of those within others first: it may be that nothing can be made in them then.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (S_ISDIR(file->mode) && file->path != "/")
      ::fchmod(folder_of(base, file->path + "/").number(), file->mode & kPermissions);
  }
}

void write_collected(const std::string& folder, const LinuxFleet& machine, uint64_t lanes,
                     std::span<const std::string> paths) {
  for (uint32_t lane = 0; lane < lanes && !paths.empty(); lane++) {
    for (const std::string& path : paths) write_collected(folder, lane, machine.collect(lane, path));
  }
}

BoundFolder parse_bind(const std::string& text) {
  BoundFolder bind;
  std::string rest = text;
  for (const auto& [ending, writable] : {std::pair(":rw", true), std::pair(":ro", false)}) {
    if (!rest.ends_with(ending)) continue;
    rest.resize(rest.size() - 3);
    bind.is_writable = writable;
    break;
  }
  const size_t colon = rest.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size()) {
    throw ArgumentError(
        fmt::format("--bind: {} is no folder and its place; give HOST:GUEST, or HOST:GUEST:rw for files that the "
                    "program may change",
                    text));
  }
  bind.folder = rest.substr(0, colon);
  bind.place = rest.substr(colon + 1);
  return bind;
}

}  // namespace myriarm::cli
