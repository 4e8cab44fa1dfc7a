// SPDX-License-Identifier: Apache-2.0
// Engine::translate of a CUDA fleet: its program is translated before the first launch that asks for it.
#include <algorithm>
#include <cstring>
#include <thread>

#include "backends/cuda/cuda_backend.h"

namespace myriarm::cuda {

const TranslatedProgram* CudaBackend::translated_program() {
  if (has_tried_to_translate_) return translated_.get();
  TranslationReport report;
  if (processes_) report.unavailable = "on a GPU the programs of processes are not translated yet";
  else if (view_.programs != 1) report.unavailable = "on a GPU fleets with several programs are not translated yet";
  else if (is_flat(view_)) report.unavailable = "on a GPU lanes whose memory others see are not translated";
  else if (program_spans_.front().bytes == 0) report.unavailable = "the program has no code that can be predecoded";
  else translated_ = translate_program(report);
  has_tried_to_translate_ = translated_ != nullptr || !report.unavailable.empty();  // else it was cancelled
  translation_report_ = report;
  return translated_.get();
}

std::unique_ptr<TranslatedProgram> CudaBackend::translate_program(TranslationReport& report) {
  const CodeSpan span = program_spans_.front();
  std::vector<u32> table(view_.page_count);
  check(cudaMemcpyAsync(table.data(), base_tables_.data(), table.size() * sizeof(u32), cudaMemcpyDeviceToHost, stream_),
        "fetching the program");
  std::vector<u8> image(image_units_ << kPageBits);
  check(cudaMemcpyAsync(image.data(), image_, image.size(), cudaMemcpyDeviceToHost, stream_), "fetching the program");
  u64 entry = 0;
  const u32 first = 0;
  gather(Field::pc, {&first, 1}, {&entry, 1});
  synchronize("fetching the program");
  const auto fetch = [&](u64 pc, u32& word) {
    const u64 page = (pc >> kPageBits) - view_.first_page;
    if ((pc & 3) != 0 || page >= view_.guest_pages || !(table[page] & kPageCode)) return false;
    std::memcpy(&word, image.data() + (u64{table[page] >> kPageFlagBits} << kPageBits) + (pc & (kPageSize - 1)), 4);
    return true;
  };
  const auto cancelled = [&] { return is_cancelled(); };
  // Nothing else runs on the host meanwhile.
  const u32 threads = compile_threads_ != 0 ? compile_threads_ : std::max(1u, std::thread::hardware_concurrency());
  return TranslatedProgram::make(view_, span, entry, fetch, cancelled, threads, stream_, report);
}

TranslationReport CudaBackend::translation() const {
  TranslationReport report = translation_report_;
  if (translated_ == nullptr) return report;
  report.interpreted = translated_->interpreted();
  report.translated = retired_translated_ - report.interpreted;
  return report;
}

}  // namespace myriarm::cuda
