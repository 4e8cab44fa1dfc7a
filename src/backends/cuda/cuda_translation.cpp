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

/// For tests, whose programs are too short for anything to become hot: what is translated before it runs.
enum class Before { nothing, calls, each_word };
Before translated_before() {
  const char* const all = std::getenv("MYRIARM_TRANSLATE_ALL");
  const std::string_view what = all != nullptr ? all : "";
  return what == "1" ? Before::calls : what == "words" ? Before::each_word : Before::nothing;
}

}  // namespace

TranslatedProgram* CudaBackend::translated_program() {
  if (has_tried_to_translate_) {
    translate_before_running();
    return translated_.get();
  }
  std::string why;
  std::unique_ptr<TranslatedProgram> made;
  if (view_.programs != 1) why = "on a GPU fleets with several programs are not translated yet";
  else if (is_flat(view_)) why = "on a GPU lanes whose memory others see are not translated";
  else if (program_spans_.front().bytes == 0) why = "the program has no code that can be predecoded";
  else made = translate_program(why);
  has_tried_to_translate_ = true;
  {
    std::lock_guard lock(translation_mutex_);
    translated_ = std::move(made);
    translation_report_.unavailable = why;
  }
  translate_before_running();
  return translated_.get();
}

void CudaBackend::translate_before_running() {
  const Before before = translated_before();
  if (translated_ == nullptr || before == Before::nothing) return;
  u64 entry = 0;
  const u32 lane = 0;
  gather(Field::pc, {&lane, 1}, {&entry, 1});
  synchronize("fetching a program counter");
  translated_->translate_all(
      entry, before == Before::each_word, [&] { return is_cancelled(); }, stream_);
}

std::unique_ptr<TranslatedProgram> CudaBackend::translate_program(std::string& why) {
  const CodeSpan span = program_spans_.front();
  std::vector<u32> table(view_.page_count);
  check(cudaMemcpyAsync(table.data(), base_tables_.data(), table.size() * sizeof(u32), cudaMemcpyDeviceToHost, stream_),
        "fetching the program");
  synchronize("fetching the program");
  // The pages of the span: what regions are made of. A team whose code is no longer this runs from another span.
  const u64 first = span.begin >> kPageBits;
  std::vector<u32> pages;
  for (u32 i = 0; i < span.bytes >> kPageBits; i++) {
    if (table[first + i] & kPageCode) pages.push_back(i);
  }
  std::vector<u8> bytes(pages.size() << kPageBits);
  for (u64 i = 0; i < pages.size(); i++) {
    const u64 unit = table[first + pages[i]] >> kPageFlagBits;
    check(cudaMemcpyAsync(bytes.data() + (i << kPageBits), image_ + (unit << kPageBits), kPageSize,
                          cudaMemcpyDeviceToHost, stream_),
          "fetching the program");
  }
  synchronize("fetching the program");
  const auto code =
      std::make_shared<const ProgramCode>(view_.window_begin + span.begin, std::move(pages), std::move(bytes));
  const u32 threads = compile_threads_ != 0 ? compile_threads_ : std::max(1u, std::thread::hardware_concurrency());
  return TranslatedProgram::make(view_, span, code, threads, caches_translation_, stream_, why);
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
