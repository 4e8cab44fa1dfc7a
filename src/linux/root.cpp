// SPDX-License-Identifier: Apache-2.0
// FileTree of folders of the host. Paths are followed in the index alone. The host is asked for the bytes of regular files
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

#include "kernel/path_walk.h"
#include "linux/root_index.h"
#include "myriarm/error.h"
#include "myriarm/file_tree.h"

namespace myriarm {
namespace {

using linux_process::RootEntry;
using linux_process::RootFile;
using linux_process::RootIndex;

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

class HostFolder final : public FileTree {
 public:
  HostFolder(std::vector<Descriptor> folders, const std::string& name,
             std::span<const linux_process::BoundSource> binds)
      : folders_(std::move(folders)),
        index_(linux_process::read_index(folders_[0].number(), name, binds)),
        contents_(new std::atomic<const Content*>[index_.files.size()]()) {}

  int64_t find(uint32_t from, std::string_view path, uint32_t flags, std::string_view program) const override {
    kernel::Walked walked;
    const uint32_t follows = (flags & kFollowLast) ? uint32_t{kernel::kFollowsLast} : 0;
    kernel::walk(Names{*this, path, program}, from, static_cast<uint32_t>(path.size()), follows, walked);
    return walked.file;
  }

  FileFacts facts(uint32_t number) const override {
    const RootFile& file = index_.files[number];
    return {linux_process::inode_of(number),
            file.mode,
            file.links,
            file.owner,
            file.owner,
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
    else if (file.device != 0) bytes = {};  // kernel::MadeFile
    else return regular_content(number, bytes);
    return true;
  }

  int64_t look_up(uint32_t folder, std::string_view name) const override;
  uint32_t parent(uint32_t folder) const override { return index_.files[folder].parent; }
  bool is_program_link(uint32_t file) const override { return file == index_.program_link; }

 private:
  struct Content {
    std::vector<uint8_t> bytes;
    bool is_there;
  };

  /// What a Walk asks for.
  struct Names {
    const HostFolder& tree;
    std::string_view path, program;

    const RootFile& at(uint32_t file) const { return tree.index_.files[file]; }
    uint8_t path_byte(uint64_t position) const { return static_cast<uint8_t>(path[position]); }
    int64_t look_up(uint32_t folder, const uint8_t* name, uint32_t size) const {
      return tree.look_up(folder, {reinterpret_cast<const char*>(name), size});
    }
    uint32_t parent(uint32_t folder) const { return tree.parent(folder); }
    bool is_folder(uint32_t file) const { return at(file).is_folder(); }
    bool may_search(uint32_t folder) const { return (at(folder).mode & kOthersMayExecute) || at(folder).owner != 0; }
    bool is_link(uint32_t file) const { return at(file).is_link(); }
    std::string_view target(uint32_t link) const { return tree.is_program_link(link) ? program : at(link).target; }
    uint32_t link_size(uint32_t link) const { return static_cast<uint32_t>(target(link).size()); }
    uint8_t link_byte(uint32_t link, uint32_t position) const { return static_cast<uint8_t>(target(link)[position]); }
  };

  bool regular_content(uint32_t number, std::span<const uint8_t>& bytes) const;
  bool read_content(const RootFile& file, std::vector<uint8_t>& bytes) const;

  const std::vector<Descriptor> folders_;  // of the host: the root's, then those bound
  const RootIndex index_;
  const std::unique_ptr<std::atomic<const Content*>[]> contents_;  // by file; null: not read yet
  mutable std::mutex mutex_;                                       // guards what follows
  mutable std::vector<std::unique_ptr<const Content>> kept_;
};

int64_t HostFolder::look_up(uint32_t number, std::string_view name) const {
  const RootFile& folder = index_.files[number];
  const auto entry = std::lower_bound(folder.entries.begin(), folder.entries.end(), name,
                                      [](const RootEntry& e, std::string_view wanted) { return e.name < wanted; });
  if (entry == folder.entries.end() || entry->name != name) return -ENOENT;
  return entry->file;
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
  const uint32_t top = index_.tops[file.source];
  for (uint32_t at = file.parent; at != top; at = index_.files[at].parent) folders.push_back(&index_.files[at]);
  Descriptor in(::fcntl(folders_[file.source].number(), F_DUPFD_CLOEXEC, 0));
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

std::shared_ptr<const FileTree> read_root(const std::string& folder, std::span<const BoundFolder> binds) {
  std::vector<Descriptor> folders;
  const auto open = [&](const std::string& name, const char* what) {
    folders.emplace_back(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folders.back().number() >= 0) return;
    throw ArgumentError(name + ": cannot be opened as " + what + " (" + std::strerror(errno) +
                        "); give a folder, as tools/debian-root makes one");
  };
  open(folder, "a root");
  for (const BoundFolder& bind : binds) open(bind.folder, "a bind");
  std::vector<linux_process::BoundSource> sources;
  sources.reserve(binds.size());
  for (size_t i = 0; i < binds.size(); i++) sources.push_back({folders[i + 1].number(), binds[i]});
  return std::make_shared<const HostFolder>(std::move(folders), folder, sources);
}

}  // namespace myriarm
