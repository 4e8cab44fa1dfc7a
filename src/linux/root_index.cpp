// SPDX-License-Identifier: Apache-2.0
#include "linux/root_index.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "kernel/path_walk.h"
#include "kernel/process.h"
#include "myriarm/error.h"

namespace myriarm::linux_process {
namespace {

constexpr size_t kMostFilesOfRoot = 1'000'000;
constexpr size_t kDeepest = 200;
constexpr uint32_t kFolderMode = S_IFDIR | 0755, kReadOnlyFolderMode = S_IFDIR | 0555;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  RootIndex read(int folder, std::span<const BoundSource> binds) {
    read_folder(folder, add_top(folder, 0, ""));
    add_devices();
    add_process();
    add_temporary();
    for (const BoundSource& bind : binds) {
      name_ = bind.bound.folder;
      source_ = static_cast<uint32_t>(index_.tops.size());
      owner_ = bind.bound.is_writable ? kernel::kUserId : 0;
      add_bind(bind);
    }
    for (uint32_t file = 0; file < index_.files.size(); file++) {
      if (index_.files[file].is_folder()) finish_folder(file);
    }
    return std::move(index_);
  }

 private:
  /// A folder that is being read: its names in order, and which of them comes next.
  struct Level {
    uint32_t file;
    OpenFolder folder;
    std::vector<std::string> names;
    size_t next;
  };

  [[noreturn]] void fail(const std::string& path, int number) const {
    throw ArgumentError(name_ + path + ": cannot be read for a root (" + std::strerror(number) +
                        "); give a folder whose folders you may read");
  }
  std::string path_in_root(uint32_t folder, const std::string& name) const {
    const std::string& path = index_.files[folder].path;
    return (path == "/" ? path : path + "/") + name;
  }

  /// The file that the open folder is.
  uint32_t add_top(int folder, uint32_t parent, const std::string& name) {
    struct stat status = {};
    if (::fstat(folder, &status) != 0) fail("", errno);
    const uint32_t file = add(status, parent, name);
    index_.tops.push_back(file);
    return file;
  }
  void read_folder(int folder, uint32_t file) {
    const uint32_t parent = index_.files[file].parent;
    index_.files[file].path = file == 0 ? "/" : path_in_root(parent, index_.files[file].name);
    several_names_.clear();
    open_.push_back({file, {}, {}, 0});
    enter(::fcntl(folder, F_DUPFD_CLOEXEC, 0), file);
    while (!open_.empty()) step();
  }

  RootEntry* entry_of(uint32_t folder, const std::string& name) {
    for (RootEntry& entry : index_.files[folder].entries) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }
  /// Puts the folder in the place of what is there. The folders on the way are made if they are not there.
  void add_bind(const BoundSource& bind) {
    const std::string& place = bind.bound.place;
    const auto refuse = [&](const std::string& why) {
      throw ArgumentError("bind: " + place + " cannot be the place of " + bind.bound.folder + ": " + why +
                          "; give the path of a folder, from / on and without links");
    };
    if (!place.starts_with('/')) refuse("it does not begin with a slash");
    std::vector<std::string> names;
    for (size_t at = 0; at < place.size();) {
      const size_t end = std::min(place.find('/', at), place.size());
      const std::string name = place.substr(at, end - at);
      at = end + 1;
      if (name.empty()) continue;
      if (name == "." || name == "..") refuse("it has " + name);
      if (name.size() > kernel::kLongestName) refuse("a name in it is too long");
      names.push_back(name);
    }
    if (names.empty()) refuse("that is the root");
    if (names[0] == "dev" || names[0] == "proc") refuse("/" + names[0] + " is not of files");
    uint32_t folder = 0;
    const uint32_t owner = std::exchange(owner_, 0);
    for (size_t i = 0; i + 1 < names.size(); i++) {
      const RootEntry* known = entry_of(folder, names[i]);
      const uint32_t next = known ? known->file : make(folder, names[i].c_str(), kFolderMode);
      if (!index_.files[next].is_folder()) refuse(names[i] + " is no folder");
      folder = next;
    }
    owner_ = owner;
    const uint32_t top = add_top(bind.folder, folder, names.back());
    index_.files[top].mode = S_IFDIR | (bind.bound.is_writable ? 0755 : index_.files[top].mode & 0777);
    if (RootEntry* known = entry_of(folder, names.back())) known->file = top;
    else index_.files[folder].entries.push_back({names.back(), top});
    read_folder(bind.folder, top);
  }

  /// Begins to read the open folder `descriptor` into the last level.
  void enter(int descriptor, uint32_t file) {
    Level& level = open_.back();
    if (descriptor < 0) fail(index_.files[file].path, errno);
    level.folder.reset(::fdopendir(descriptor));
    if (level.folder == nullptr) {
      const int number = errno;
      ::close(descriptor);
      fail(index_.files[file].path, number);
    }
    ::rewinddir(level.folder.get());
    for (errno = 0; const dirent* entry = ::readdir(level.folder.get());) {
      const std::string name = entry->d_name;
      const bool own = file == 0 && (name == "dev" || name == "proc");  // the root gets others
      if (name != "." && name != ".." && !own) level.names.push_back(name);
      if (level.names.size() > kMostFilesOfRoot) too_many();
    }
    if (errno != 0) fail(index_.files[file].path, errno);
    std::sort(level.names.begin(), level.names.end());
  }
  [[noreturn]] void too_many() const {
    throw ArgumentError(name_ + ": it has more than a million files; give a smaller folder as the root");
  }

  uint32_t add(const struct stat& status, uint32_t parent, const std::string& name) {
    if (index_.files.size() >= kMostFilesOfRoot) too_many();
    RootFile file;
    file.mode = status.st_mode;
    file.size = static_cast<uint64_t>(status.st_size);
    file.seconds = status.st_mtim.tv_sec;
    file.nanoseconds = static_cast<uint32_t>(status.st_mtim.tv_nsec);
    file.parent = parent;
    file.name = name;
    file.owner = owner_;
    file.source = source_;
    file.host_device = status.st_dev;
    file.host_number = status.st_ino;
    index_.files.push_back(std::move(file));
    return static_cast<uint32_t>(index_.files.size() - 1);
  }

  /// Reads the next name of the last level.
  void step() {
    Level& level = open_.back();
    if (level.next == level.names.size()) {
      open_.pop_back();
      return;
    }
    const std::string name = level.names[level.next++];
    const uint32_t parent = level.file;
    const int folder = ::dirfd(level.folder.get());
    struct stat status = {};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) fail(path_in_root(parent, name), errno);
    const auto identity = std::pair(status.st_dev, status.st_ino);
    if (const auto known = several_names_.find(identity); known != several_names_.end() && !S_ISDIR(status.st_mode)) {
      index_.files[parent].entries.push_back({name, known->second});
      return;
    }
    const uint32_t file = add(status, parent, name);
    index_.files[parent].entries.push_back({name, file});
    if (status.st_nlink > 1 && !S_ISDIR(status.st_mode)) several_names_.emplace(identity, file);
    if (S_ISLNK(status.st_mode)) read_link(folder, file);
    if (!S_ISDIR(status.st_mode)) return;
    index_.files[file].path = path_in_root(parent, name);
    if (open_.size() >= kDeepest) {
      throw ArgumentError(name_ + index_.files[file].path + ": folders are nested more than " +
                          std::to_string(kDeepest) + " deep; give a flatter folder as the root");
    }
    const int descriptor = ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    open_.push_back({file, {}, {}, 0});
    if (descriptor < 0 && errno == EACCES) {  // as on Linux, its names can then not be looked up
      index_.files[file].mode &= ~uint32_t{0777};
      open_.pop_back();
      return;
    }
    enter(descriptor, file);
  }

  void read_link(int folder, uint32_t number) {
    RootFile& file = index_.files[number];
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(folder, file.name.c_str(), target, sizeof target);
    if (size < 0) fail(path_in_root(file.parent, file.name), errno);
    file.target.assign(target, static_cast<size_t>(size));
    file.size = file.target.size();
  }

  /// A file that the host's folder does not have.
  uint32_t make(uint32_t parent, const char* name, uint32_t mode) {
    RootFile file;
    file.mode = mode;
    file.parent = parent;
    file.name = name;
    if (file.is_folder()) file.path = path_in_root(parent, name);
    const auto number = static_cast<uint32_t>(index_.files.size());
    index_.files.push_back(std::move(file));
    index_.files[parent].entries.push_back({name, number});
    return number;
  }
  uint32_t make_link(uint32_t parent, const char* name, const std::string& target) {
    const uint32_t file = make(parent, name, S_IFLNK | 0777);
    index_.files[file].target = target;
    index_.files[file].size = target.size();
    return file;
  }

  /// Everybody may make files in these, and remove their own.
  static constexpr uint32_t kTemporaryMode = S_IFDIR | 01777;

  void add_devices() {
    constexpr unsigned kMemory = 1, kTerminals = 5;  // major numbers
    const uint32_t folder = make(0, "dev", kFolderMode);
    const auto add_device = [&](const char* name, unsigned major, unsigned minor) {
      index_.files[make(folder, name, S_IFCHR | 0666)].device = makedev(major, minor);
    };
    add_device("full", kMemory, 7);
    add_device("null", kMemory, 3);
    add_device("random", kMemory, 8);
    add_device("tty", kTerminals, 0);
    add_device("urandom", kMemory, 9);
    add_device("zero", kMemory, 5);
    make_link(folder, "fd", "/proc/self/fd");
    make(folder, "shm", kTemporaryMode);
    const char* const streams[] = {"stdin", "stdout", "stderr"};
    for (unsigned i = 0; i < std::size(streams); i++)
      make_link(folder, streams[i], "/proc/self/fd/" + std::to_string(i));
  }

  void add_temporary() {
    const RootEntry* known = entry_of(0, "tmp");
    if (known == nullptr) make(0, "tmp", kTemporaryMode);
    else if (index_.files[known->file].is_folder()) index_.files[known->file].mode = kTemporaryMode;
  }

  void add_process() {
    const uint32_t folder = make(0, "proc", kReadOnlyFolderMode);
    const std::string number = std::to_string(kernel::kProcessId);
    const uint32_t process = make(folder, number.c_str(), kReadOnlyFolderMode);
    index_.program_link = make(process, "exe", S_IFLNK | 0777);
    using kernel::MadeFile;
    struct Made {
      const char* name;
      MadeFile file;
    };
    const auto add_made = [&](uint32_t into, std::initializer_list<Made> files) {
      for (const Made& made : files) {
        index_.files[make(into, made.name, S_IFREG | 0444)].device = static_cast<uint64_t>(made.file);
      }
    };
    add_made(process, {{"auxv", MadeFile::auxiliary},
                       {"cgroup", MadeFile::control_group},
                       {"cmdline", MadeFile::arguments},
                       {"comm", MadeFile::name},
                       {"environ", MadeFile::environment},
                       {"loginuid", MadeFile::login_user},
                       {"maps", MadeFile::maps},
                       {"mountinfo", MadeFile::numbered_mounts},
                       {"mounts", MadeFile::mounts},
                       {"oom_score_adj", MadeFile::memory_score},
                       {"stat", MadeFile::process_statistics},
                       {"statm", MadeFile::process_sizes},
                       {"status", MadeFile::status}});
    index_.files[make(process, "fd", kReadOnlyFolderMode)].device = static_cast<uint64_t>(MadeFile::descriptors);
    index_.files[make(process, "task", kReadOnlyFolderMode)].device = static_cast<uint64_t>(MadeFile::threads);
    index_.files[folder].device = static_cast<uint64_t>(MadeFile::processes);
    index_.files[make_link(folder, "self", number)].device = static_cast<uint64_t>(MadeFile::self);
    make_link(folder, "mounts", "self/mounts");
    add_made(folder, {{"cpuinfo", MadeFile::processors},
                      {"filesystems", MadeFile::file_systems},
                      {"loadavg", MadeFile::load},
                      {"meminfo", MadeFile::memory},
                      {"stat", MadeFile::statistics},
                      {"uptime", MadeFile::uptime},
                      {"version", MadeFile::version}});
    const uint32_t settings = make(folder, "sys", kReadOnlyFolderMode);
    add_made(make(settings, "kernel", kReadOnlyFolderMode), {{"domainname", MadeFile::domain_name},
                                                             {"hostname", MadeFile::host_name},
                                                             {"osrelease", MadeFile::release},
                                                             {"ostype", MadeFile::system_name},
                                                             {"pid_max", MadeFile::most_ids},
                                                             {"threads-max", MadeFile::most_threads},
                                                             {"version", MadeFile::release_version}});
    add_made(make(settings, "vm", kReadOnlyFolderMode),
             {{"max_map_count", MadeFile::most_areas}, {"overcommit_memory", MadeFile::overcommit}});
  }

  /// Its names in order, its records, and the number of its links.
  void finish_folder(uint32_t number) {
    RootFile& folder = index_.files[number];
    std::sort(folder.entries.begin(), folder.entries.end(),
              [](const RootEntry& a, const RootEntry& b) { return a.name < b.name; });
    add_record(folder, ".", number);
    add_record(folder, "..", folder.parent);
    folder.links += 2;
    folder.size = kFolderSize;
    for (const RootEntry& entry : folder.entries) {
      add_record(folder, entry.name, entry.file);
      RootFile& file = index_.files[entry.file];
      if (file.is_folder()) folder.links++;
      else file.links++;
    }
  }
  static constexpr uint64_t kFolderSize = 4096;

  /// struct linux_dirent64: inode, position of the next record, length of this one, type, name.
  void add_record(RootFile& folder, const std::string& name, uint32_t file) const {
    constexpr size_t kFixed = 19, kUnit = 8;
    const size_t begin = folder.records.size(), length = (kFixed + name.size() + kUnit) / kUnit * kUnit;
    folder.records.resize(begin + length);
    uint8_t* record = &folder.records[begin];
    const uint64_t inode = inode_of(file), next = begin + length;
    const auto size = static_cast<uint16_t>(length);
    std::memcpy(record, &inode, sizeof inode);
    std::memcpy(record + 8, &next, sizeof next);
    std::memcpy(record + 16, &size, sizeof size);
    record[18] = static_cast<uint8_t>(IFTODT(index_.files[file].mode));
    std::copy(name.begin(), name.end(), record + kFixed);  // zeros follow
  }

  std::string name_;
  uint32_t source_ = 0, owner_ = 0;
  RootIndex index_;
  std::vector<Level> open_;
  std::map<std::pair<dev_t, ino_t>, uint32_t> several_names_;
};

}  // namespace

RootIndex read_index(int folder, const std::string& name, std::span<const BoundSource> binds) {
  return Reader(name).read(folder, binds);
}

}  // namespace myriarm::linux_process
