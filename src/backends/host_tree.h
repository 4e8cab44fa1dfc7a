// SPDX-License-Identifier: Apache-2.0
// kernel::HasTree of machines of the host's processor, over the host's own FileTree.
#pragma once

#include <span>

#include "kernel/tree.h"
#include "myriarm/file_tree.h"

namespace myriarm {

class HostTree {
 public:
  /// Null: there is none.
  explicit HostTree(const FileTree* tree) : tree_(tree) {}

  bool has_tree() const { return tree_ != nullptr; }
  i64 tree_look_up(u32 folder, const u8* name, u32 size) const {
    return tree_->look_up(folder, {reinterpret_cast<const char*>(name), size});
  }
  u32 tree_parent(u32 folder) const { return tree_->parent(folder); }
  kernel::FileStatus tree_status(u32 file) const {
    const FileFacts facts = tree_->facts(file);
    return {facts.number, facts.mode,   facts.links,   facts.size,       facts.user,
            facts.group,  facts.device, facts.seconds, facts.nanoseconds};
  }
  bool tree_content(u32 file, kernel::Bytes& bytes) const {
    std::span<const u8> content;
    if (!tree_->content(file, content)) return false;
    bytes = {content.data(), content.size()};
    return true;
  }
  bool is_program_link(u32 file) const { return tree_->is_program_link(file); }

 private:
  const FileTree* tree_;
};

}  // namespace myriarm
