// SPDX-License-Identifier: Apache-2.0
// How a path is followed, by path_resolution(7): over whatever knows the names of a file system. There is no recursion and no
// text is put together: what is left of each link on the way waits on a stack.
#pragma once

#include "core/portable.h"
#include "kernel/errno.h"

namespace myriarm::kernel {

constexpr u32 kLongestName = 255;
constexpr u32 kMostLinks = 40;  // in one path, as on Linux

// How a path is followed; combine with |.
constexpr u32 kFollowsLast = 1;    // a symbolic link at the end of the path is followed
constexpr u32 kFindsParent = 2;    // the last name is not looked up: the file is the folder that it is to be in
constexpr u32 kFindsToCreate = 4;  // as open(2) with O_CREAT: EISDIR if a slash follows the last name
constexpr u32 kNoLinks = 16;       // a symbolic link on the way is ELOOP,
constexpr u32 kNoJumps = 32;       // or one that leads to a file itself
constexpr u32 kBeneath = 64;       // what leads out of the folder in which the path begins is EXDEV,
constexpr u32 kInRoot = 128;       // or that folder is the root
constexpr u32 kFindsNew = 8;       // as for a new name: if it is there, the file is what it names, whatever follows

struct Walked {
  i64 file;         // or an error, negative
  u32 folder;       // in which the last name was, or was not, found
  u32 name_size;    // of the last name; 0: there is none, the path leads to the root. May exceed kLongestName
  bool is_missing;  // the error is that the last name, and nothing before it, is missing
  bool slash;       // one follows the last name
  bool jumped;      // the last on the way was a link that leads to a file itself,
  u32 jump_folder;  // which has its name in this folder
  u8 name[kLongestName + 1];

  MYR_FN bool is_dot() const { return name_size == 1 && name[0] == '.'; }
  MYR_FN bool is_dot_dot() const { return name_size == 2 && name[0] == '.' && name[1] == '.'; }
  /// Whether the last name is one that can be made and removed.
  MYR_FN bool is_name() const { return name_size != 0 && !is_dot() && !is_dot_dot(); }
};

/// Where a link leads that is followed by no text, if it is one: to a file, and the folder in which that has its name.
struct Jump {
  bool is_one;
  u32 file, folder;
};
/// A text on the way: the path, or the target of a link.
struct WalkedText {
  u32 link, at, size;
};

template <class N>
class Walk {
 public:
  MYR_FN Walk(const N& names, u32 path_size) : names_(names) { texts_[0] = {0, 0, path_size}; }

  MYR_FN void follow(u32 from, u32 flags, Walked& out) {
    const bool is_bounded = (flags & (kBeneath | kInRoot)) != 0;
    const u32 root = is_bounded ? from : 0;
    u32 at = texts_[0].size != 0 && byte_at(0) == '/' ? root : from, links = 0;
    out.file = out.folder = out.name_size = 0;
    out.is_missing = out.slash = out.jumped = false;
    if ((flags & kBeneath) && texts_[0].size != 0 && byte_at(0) == '/') {
      out.file = -kEXDEV;
      return;
    }
    for (;;) {
      if (!skip_slashes()) {
        out.file = at;
        return;
      }
      const u32 size = take_name(out.name);
      bool slash = false;
      const bool is_last = is_at_end(slash);
      out.file = !names_.is_folder(at) ? -kENOTDIR : !names_.may_search(at) ? -kEACCES : 0;
      if (out.file < 0) return;
      out.jumped = false;
      if (is_last) {
        out.folder = at;
        out.name_size = size;
        out.slash = slash;
        if (flags & kFindsParent) {
          out.file = at;
          return;
        }
      }
      i64 found = find(at, out.name, size);
      if (is_bounded && at == root && size == 2 && out.name[0] == '.' && out.name[1] == '.') {
        found = (flags & kBeneath) ? -(i64)kEXDEV : (i64)root;
      }
      out.file = found;
      if (is_last && (flags & kFindsToCreate) && slash && (found >= 0 || found == -kENOENT)) out.file = -kEISDIR;
      out.is_missing = is_last && out.file == -kENOENT;
      if (out.file < 0 || (is_last && (flags & kFindsNew))) return;
      if (names_.is_link((u32)found) && (!is_last || slash || (flags & kFollowsLast))) {
        if (links++ == kMostLinks || (flags & kNoLinks)) {
          out.file = -kELOOP;
          return;
        }
        if constexpr (requires { names_.jump((u32)found); }) {
          const Jump jump = names_.jump((u32)found);
          if (jump.is_one && (is_bounded || (flags & kNoJumps))) {
            out.file = (flags & kNoJumps) ? -kELOOP : -kEXDEV;
            return;
          }
          if (jump.is_one) {
            out.file = at = jump.file;
            out.jump_folder = jump.folder;
            out.jumped = true;
            if (!is_last) continue;
            if (slash && !names_.is_folder(at)) out.file = -kENOTDIR;
            return;
          }
        }
        const u32 target = names_.link_size((u32)found);
        if (target == 0) {
          out.file = -kENOENT;
          return;
        }
        texts_[++depth_] = {(u32)found, 0, target};
        if (byte_at(depth_) == '/') at = root;
        if (byte_at(depth_) == '/' && (flags & kBeneath)) {
          out.file = -kEXDEV;
          return;
        }
        continue;
      }
      at = (u32)found;
      if (!is_last) continue;
      if (slash && !names_.is_folder(at)) out.file = -kENOTDIR;
      return;
    }
  }

 private:
  MYR_FN u8 byte_at(u32 depth) const {
    const WalkedText& text = texts_[depth];
    return depth == 0 ? names_.path_byte(text.at) : names_.link_byte(text.link, text.at);
  }
  MYR_FN bool is_at_slash(u32 depth) const { return texts_[depth].at < texts_[depth].size && byte_at(depth) == '/'; }
  /// To the next name. False: there is none.
  MYR_FN bool skip_slashes() {
    for (;;) {
      while (is_at_slash(depth_)) texts_[depth_].at++;
      if (texts_[depth_].at < texts_[depth_].size) return true;
      if (depth_ == 0) return false;
      depth_--;
    }
  }
  MYR_FN u32 take_name(u8* name) {
    u32 size = 0;
    for (; texts_[depth_].at < texts_[depth_].size && byte_at(depth_) != '/'; texts_[depth_].at++, size++) {
      if (size < kLongestName) name[size] = byte_at(depth_);
    }
    return size;
  }
  /// Whether nothing but slashes is left. `slash`: whether one follows.
  MYR_FN bool is_at_end(bool& slash) const {
    for (u32 above = 0; above <= depth_; above++) {
      const u32 depth = depth_ - above;
      for (WalkedText text = texts_[depth]; text.at < text.size; text.at++) {
        const u8 byte = depth == 0 ? names_.path_byte(text.at) : names_.link_byte(text.link, text.at);
        if (byte != '/') return false;
        slash = true;
      }
    }
    return true;
  }
  MYR_FN i64 find(u32 folder, const u8* name, u32 size) const {
    if (size == 1 && name[0] == '.') return folder;
    if (size == 2 && name[0] == '.' && name[1] == '.') return names_.parent(folder);
    return size > kLongestName ? -(i64)kENAMETOOLONG : names_.look_up(folder, name, size);
  }

  const N& names_;
  u32 depth_ = 0;
  WalkedText texts_[kMostLinks + 1];
};

/// Follows a path of `size` bytes. `N` has path_byte(at), look_up(folder, name, size), parent(folder), is_folder(file),
/// may_search(folder), is_link(file), link_size(link) and link_byte(link, at), and perhaps jump(link). The root is file
/// 0. `from`: the folder at which a relative path begins.
template <class N>
MYR_OUTLINE void walk(const N& names, u32 from, u32 size, u32 flags, Walked& out) {
  Walk<N>(names, size).follow(from, flags, out);
}

}  // namespace myriarm::kernel
