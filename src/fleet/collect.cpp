// SPDX-License-Identifier: Apache-2.0
// What a lane has left in its file system: read from the pages of its layer by the functions that serve its calls.
#include <map>
#include <set>
#include <utility>

#include "backends/host_tree.h"
#include "fleet/fleet_impl.h"
#include "kernel/tree_paths.h"
#include "myriarm/error.h"

namespace myriarm {
namespace {

/// kernel::Machine of a lane that makes no call: its kernel pages can be read, and nothing can change.
class StoppedLane : public HostTree {
 public:
  static constexpr bool kContiguous = true;

  StoppedLane(Backend& backend, u32 lane, u64 window_begin, u64 window_pages, const FileTree& tree, u64 layer_pages)
      : HostTree(&tree), backend_(backend), lane_(lane), window_begin_(window_begin), window_pages_(window_pages) {
    facts_.window_begin = window_begin;
    facts_.window_end = window_begin + (window_pages << kPageBits);
    facts_.layer_pages = layer_pages;
  }

  const kernel::ProcessFacts& facts() const { return facts_; }
  u64 page_of(u64 address) const { return (address - window_begin_) >> kPageBits; }
  u64 guest_pages() const { return window_pages_; }
  u32 entry(u64 page) const { return static_cast<u32>(page + 1) << kPageFlagBits; }
  u8* locate(u32 entry, u32 offset) const {
    std::vector<u8>& bytes = pages_[entry];
    if (bytes.empty()) {
      bytes.resize(kPageSize);
      const u64 page = (entry >> kPageFlagBits) - 1;
      const Transfer transfer{lane_, kPageSize, window_begin_ + (page << kPageBits), 0};
      backend_.read({&transfer, 1}, bytes, {});
    }
    return bytes.data() + offset;
  }
  bool own_page(u64) { return false; }
  void page_written(u64) {}
  bool change_pages(const kernel::PageChange&) { return false; }
  bool is_program_link(u32) const { return false; }  // it is collected as any link

  /// Pages that were read and are not needed any more.
  void forget_pages() const { pages_.clear(); }

 private:
  Backend& backend_;
  const u32 lane_;
  const u64 window_begin_, window_pages_;
  kernel::ProcessFacts facts_ = {};
  mutable std::map<u32, std::vector<u8>> pages_;  // by entry
};
static_assert(kernel::HasTree<StoppedLane>);

/// kernel::LaneNames for a path of the host's; whoever collects may search every folder.
struct HostPath : kernel::LaneNames<StoppedLane> {
  std::string_view text;

  u8 path_byte(u64 at) const { return static_cast<u8>(text[at]); }
  bool may_search(u32) const { return true; }
};

class Collection {
 public:
  Collection(const StoppedLane& lane, u64 most_bytes) : lane_(lane), left_(most_bytes) {}

  std::vector<CollectedFile> collect(const std::string& path) {
    kernel::Walked walked;
    const HostPath names{{lane_, 0}, path};
    kernel::walk(names, 0, static_cast<u32>(path.size()), kernel::kFollowsLast, walked);
    if (walked.file < 0) return {};
    const u32 top = static_cast<u32>(walked.file);
    waiting_.push_back({top, path_of(top, walked)});
    while (!waiting_.empty()) {
      auto [file, at] = std::move(waiting_.back());
      waiting_.pop_back();
      add(file, at);
      lane_.forget_pages();
    }
    return std::move(files_);
  }

 private:
  /// A path without links: the names from the root to a folder, or to what a walk has found in one.
  std::string path_of(u32 file, const kernel::Walked& walked) const {
    std::string path;
    const bool is_folder = kernel::type_of(kernel::file_status(lane_, file)) == kernel::kFolder;
    if (!is_folder) path = "/" + std::string(walked.name, walked.name + walked.name_size);
    kernel::Listed listed;
    for (u32 at = is_folder ? file : walked.folder; at != 0; at = kernel::parent_of(lane_, at)) {
      if (!kernel::find_own_name(lane_, at, listed)) break;
      path.insert(0, "/" + name_of(listed));
    }
    return path.empty() ? "/" : path;
  }
  std::string name_of(const kernel::Listed& listed) const {
    std::string name(listed.name_size, 0);
    for (u32 i = 0; i < listed.name_size; i++) {
      name[i] =
          static_cast<char>(listed.tree_name ? listed.tree_name[i] : kernel::layer_byte(lane_, listed.name_at + i));
    }
    return name;
  }

  void add(u32 file, const std::string& path) {
    const kernel::FileStatus status = kernel::file_status(lane_, file);
    const u32 type = kernel::type_of(status);
    const bool is_fifo = type == kernel::kFifo;
    if (!kernel::is_stored(status) && !is_fifo) return;  // a device
    CollectedFile made;
    made.path = path;
    made.mode = status.mode;
    made.seconds = status.seconds;
    made.nanoseconds = status.nanoseconds;
    if (type == kernel::kFolder) add_names(file, path);
    else if (!is_fifo) made.left_out = !read_bytes(file, made.bytes);
    files_.push_back(std::move(made));
  }
  void add_names(u32 folder, const std::string& path) {
    kernel::Listing listing;
    kernel::Listed listed;
    if (!kernel::begin_listing(lane_, folder, kernel::kFirstEntry, listing)) return;
    std::map<std::string, u32> names;
    while (kernel::next_listed(lane_, listing, listed)) {
      const std::string name = name_of(listed);
      const i64 file = kernel::look_up(lane_, folder, reinterpret_cast<const u8*>(name.data()), listed.name_size);
      if (file >= 0) names[name] = static_cast<u32>(file);
    }
    for (auto at = names.rbegin(); at != names.rend(); ++at) {  // the last that waits is the next
      waiting_.push_back({at->second, (path == "/" ? path : path + "/") + at->first});
    }
  }
  bool read_bytes(u32 file, std::vector<u8>& bytes) {
    kernel::Content content;
    if (!kernel::content_of(lane_, file, content) || content.size > left_) return false;
    left_ -= content.size;
    bytes.resize(content.size);
    std::copy_n(content.below.data, content.below.size, bytes.begin());
    for (u64 key = kernel::next_key(lane_, content.tree, 0); key != kernel::kNoPage;
         key = kernel::next_key(lane_, content.tree, key + 1)) {
      const u64 begin = key << kPageBits;
      if (begin >= content.size) break;
      const u64 page = kernel::layer_at(kernel::find_page(lane_, content.tree, key));
      const u8* from = lane_.locate(lane_.entry(lane_.guest_pages() + (page >> kPageBits)), 0);
      std::copy_n(from, std::min<u64>(kPageSize, content.size - begin), bytes.begin() + static_cast<ptrdiff_t>(begin));
    }
    return true;
  }

  const StoppedLane& lane_;
  u64 left_;
  std::vector<std::pair<u32, std::string>> waiting_;
  std::vector<CollectedFile> files_;
};

}  // namespace

std::vector<CollectedFile> Fleet::collect(uint32_t lane, const FileTree& root, const std::string& path,
                                          uint64_t most_bytes) const {
  Impl::Use use(impl_.get());
  use->check_lanes({&lane, 1}, "collect");
  const auto program = std::find_if(use->programs.begin(), use->programs.end(),
                                    [&](const ProgramFacts& facts) { return lane < facts.end; });
  const u64 layer_pages = program->process ? program->process->file_bytes >> kPageBits : 0;
  const bool has_files = use.backend().has_memory(lane);
  const StoppedLane stopped(use.backend(), lane, use->window_begin, use->window_pages, root,
                            has_files ? layer_pages : 0);
  return Collection(stopped, most_bytes).collect(path);
}

}  // namespace myriarm
