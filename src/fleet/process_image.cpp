// SPDX-License-Identifier: Apache-2.0
#include "fleet/process_image.h"

#include <algorithm>
#include <cstring>

#include "fleet/program_state.h"
#include "kernel/guest_memory.h"
#include "kernel/random_stream.h"
#include "myriarm/error.h"
#include "support/text.h"

namespace myriarm {
namespace {

/// Writes words of kernel pages that do not exist yet.
class Words {
 public:
  Words() : bytes_(kernel::kKernelPages * kPageSize) {}
  explicit Words(const std::vector<u8>& bytes) : bytes_(bytes) {}
  void set(u64 offset, u64 value) { std::memcpy(&bytes_[offset], &value, sizeof value); }
  void set_bytes(u64 offset, const void* from, size_t size) { std::memcpy(&bytes_[offset], from, size); }
  /// As pages, from `first` on. Those of zeros are one run.
  void add_pages(std::vector<ImagePage>& pages, u64 first) const {
    for (u64 page = 0; page < bytes_.size() >> kPageBits; page++) {
      const auto begin = bytes_.begin() + static_cast<ptrdiff_t>(page * kPageSize);
      const auto end = begin + kPageSize;
      const bool zeros = std::all_of(begin, end, [](u8 byte) { return byte == 0; });
      if (!zeros) pages.push_back({first + page, 1, 0, {begin, end}});
      else if (!pages.empty() && pages.back().bytes.empty() && pages.back().page + pages.back().count == first + page &&
               pages.back().page >= first)
        pages.back().count++;
      else pages.push_back({first + page, 1, 0, {}});
    }
  }

 private:
  std::vector<u8> bytes_;
};

struct Mapping {
  u64 begin, end;
  u32 permissions;
  bool operator==(const Mapping&) const = default;
};

/// The mappings of a program when it starts; a page has the permissions of all segments in it.
std::vector<Mapping> mappings_of(const std::vector<ImagePage>& pages, u64 window_begin) {
  std::vector<Mapping> mappings;
  for (const ImagePage& page : pages) {
    const u64 begin = window_begin + (page.page << kPageBits), end = begin + (page.count << kPageBits);
    if (!mappings.empty() && mappings.back().end == begin && mappings.back().permissions == page.permissions) {
      mappings.back().end = end;
    } else {
      mappings.push_back({begin, end, page.permissions});
    }
  }
  return mappings;
}

/// The words of a process that has made no call.
Words words_at_start(const ImageProgram& made, const std::string& who, const ProcessStart& layout, u64 window_begin) {
  Words words;
  words.set(kernel::kBreakEnd, layout.break_start);
  words.set(kernel::kBreakStart, layout.break_start);
  words.set(kernel::kHeapLimit, layout.heap_limit);
  words.set(kernel::kSignalReturn, layout.signal_return);
  const size_t path_size = std::min<size_t>(layout.path.size(), kernel::kPathBytes - 1);
  words.set(kernel::kProgramPathSize, path_size);
  words.set_bytes(kernel::kProgramPath, layout.path.data(), path_size);
  words.set(kernel::kRandomPosition, kernel::kStartRandomBytes);
  words.set(kernel::kModeMask, 022);
  words.set(kernel::kWorkingFolder, layout.working_folder);
  // Linux names a thread as the file that it runs.
  const size_t slash = layout.path.rfind('/');
  const std::string name = layout.path.substr(slash == std::string::npos ? 0 : slash + 1, kernel::kNameBytes - 1);
  words.set_bytes(kernel::kName, name.data(), name.size());
  for (u16 fd = 0; fd < 3; fd++) {
    const u16 stream = fd + 1;
    words.set_bytes(kernel::kFiles + fd * 2, &stream, sizeof stream);
  }
  const std::vector<Mapping> mappings = mappings_of(made.pages, window_begin);
  if (mappings.size() > kernel::kMostRanges) {
    throw ArgumentError(who + ": the process begins with " + std::to_string(mappings.size()) +
                        " ranges of addresses, and may have " + std::to_string(kernel::kMostRanges) +
                        "; use fewer segments");
  }
  words.set(kernel::kRangeCount, mappings.size());
  for (size_t i = 0; i < mappings.size(); i++) {
    words.set(kernel::kRanges + i * 16, mappings[i].begin | mappings[i].permissions);
    words.set(kernel::kRanges + i * 16 + 8, mappings[i].end);
  }
  return words;
}

}  // namespace

void add_process(Image& image, ImageProgram& made, const Program& program, const ProcessOptions& options) {
  const ProcessStart& layout = *program.process;
  const u64 window_end = image.window_begin + (image.window_pages << kPageBits);
  const std::string who = program.name.empty() ? "program" : program.name;
  if (layout.break_start < image.window_begin || layout.heap_limit > window_end ||
      layout.break_start > layout.heap_limit || layout.heap_limit % kPageSize != 0) {
    throw ArgumentError(who + ": the heap of the process from " + hex(layout.break_start) + " to " +
                        hex(layout.heap_limit) + " does not lie in the window, which is " + hex(image.window_begin) +
                        " to " + hex(window_end) + "; give whole pages inside it");
  }
  kernel::ProcessFacts facts;
  std::memset(&facts, 0, sizeof facts);  // with what lies between the members: facts are compared as bytes
  facts.window_begin = image.window_begin;
  facts.window_end = window_end;
  facts.stack_bytes = layout.stack_bytes;
  facts.seed = options.seed;
  facts.layer_pages = layout.file_bytes >> kPageBits;

  const std::vector<u8>* kept = program.state ? &program.state->kernel_words : nullptr;
  const Words words = kept && !kept->empty() ? Words(*kept) : words_at_start(made, who, layout, image.window_begin);
  image.kernel_pages = std::max(image.kernel_pages, kernel::kKernelPages + facts.layer_pages + kernel::kBufferPages);
  words.add_pages(made.pages, image.window_pages);
  made.process = facts;
}

}  // namespace myriarm
