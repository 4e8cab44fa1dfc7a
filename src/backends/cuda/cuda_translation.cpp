// SPDX-License-Identifier: Apache-2.0
// Engine::translate of a CUDA fleet: what its program's code is, and whether it can be translated.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "backends/cuda/cuda_backend.h"

namespace myriarm::cuda {
namespace {

/// All of the program is translated before it runs, for tests: it is too short for anything to become hot.
bool translates_all() {
  const char* const all = std::getenv("MYRIARM_TRANSLATE_ALL");
  return all != nullptr && std::string_view(all) == "1";
}

}  // namespace

TranslatedProgram* CudaBackend::translated_program() {
  if (has_tried_to_translate_) return translated_.get();
  std::string why;
  std::unique_ptr<TranslatedProgram> made;
  if (view_.programs != 1) why = "on a GPU fleets with several programs are not translated yet";
  else if (is_flat(view_)) why = "on a GPU lanes whose memory others see are not translated";
  else if (program_spans_.front().bytes == 0) why = "the program has no code that can be predecoded";
  else made = translate_program(why);
  has_tried_to_translate_ = true;
  std::lock_guard lock(translation_mutex_);
  translated_ = std::move(made);
  translation_report_.unavailable = why;
  return translated_.get();
}

std::unique_ptr<TranslatedProgram> CudaBackend::translate_program(std::string& why) {
  const CodeSpan span = program_spans_.front();
  std::vector<u32> table(view_.page_count);
  check(cudaMemcpyAsync(table.data(), base_tables_.data(), table.size() * sizeof(u32), cudaMemcpyDeviceToHost, stream_),
        "fetching the program");
  synchronize("fetching the program");
  // The pages of the span: what regions are made of. A team whose code is no longer this runs from another span.
  const u64 first = span.begin >> kPageBits, pages = span.bytes >> kPageBits;
  std::vector<u8> code(span.bytes);
  std::vector<bool> present(pages);
  for (u64 i = 0; i < pages; i++) {
    const u32 entry = table[first + i];
    present[i] = (entry & kPageCode) != 0;
    if (!present[i]) continue;
    check(cudaMemcpyAsync(code.data() + (i << kPageBits), image_ + (u64{entry >> kPageFlagBits} << kPageBits),
                          kPageSize, cudaMemcpyDeviceToHost, stream_),
          "fetching the program");
  }
  u64 entry = 0;
  const u32 lane = 0;
  gather(Field::pc, {&lane, 1}, {&entry, 1});
  synchronize("fetching the program");
  const u64 begin = view_.window_begin + span.begin;
  auto fetch = [begin, code, present = std::move(present)](u64 pc, u32& word) {
    const u64 offset = pc - begin;
    if ((pc & 3) != 0 || offset >= code.size() || !present[offset >> kPageBits]) return false;
    std::memcpy(&word, code.data() + offset, 4);
    return true;
  };
  const u32 threads = compile_threads_ != 0 ? compile_threads_ : std::max(1u, std::thread::hardware_concurrency());
  auto program = TranslatedProgram::make(view_, span, std::move(code), std::move(fetch), threads, caches_translation_,
                                         stream_, why);
  if (program != nullptr && translates_all()) {
    program->translate_all(
        entry, [&] { return is_cancelled(); }, stream_);
  }
  return program;
}

TranslationReport CudaBackend::translation() const {
  std::lock_guard lock(translation_mutex_);
  TranslationReport report = translation_report_;
  if (translated_ == nullptr) {
    report.interpreted = retired_interpreted_;
    return report;
  }
  report = translated_->report();
  const u64 retired = retired_translated_;
  report.translated = retired - std::min(retired, report.interpreted);
  report.interpreted += retired_interpreted_;
  return report;
}

}  // namespace myriarm::cuda
