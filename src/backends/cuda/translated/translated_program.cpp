// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translated/translated_program.h"

#include <algorithm>
#include <deque>
#include <map>

#include "backends/cuda/interpreter/kernels.h"
#include "backends/cuda/translated/driver_api.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "myriarm/error.h"
#include "translate/device_region.h"
#include "translate/device_translator.h"

namespace myriarm::cuda {
namespace {

/// The most instructions of a program that are translated.
constexpr u64 kMostInstructions = 20'000;
constexpr u64 kMostRefusals = 100;  // of TranslationReport

/// Targets of the direct calls in a span of code.
std::vector<u64> call_targets(const translate::FetchWord& fetch, u64 begin, u64 bytes) {
  std::vector<u64> targets;
  for (u64 pc = begin; pc < begin + bytes; pc += 4) {
    u32 word = 0;
    if (!fetch(pc, word)) continue;
    const Operands o = decode(decode_table(), word);
    if (flow_of(o.row) == Flow::call && is_relative(o.row)) {
      targets.push_back(pc + static_cast<u64>(static_cast<i64>(o.offset)));
    }
  }
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

}  // namespace

std::unique_ptr<TranslatedProgram> TranslatedProgram::make(const View& view, const CodeSpan& span, u64 entry,
                                                           const translate::FetchWord& fetch,
                                                           const std::function<bool()>& cancelled, u32 threads,
                                                           cudaStream_t stream, TranslationReport& report) {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "selecting the CUDA device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for the device's version");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "asking for the device's version");
  translate::DeviceTarget target;
  target.compute_capability = static_cast<u32>(10 * major + minor);
  const auto translator = translate::make_device_translator(target, report.unavailable);
  if (translator == nullptr) return nullptr;

  auto program = std::make_unique<TranslatedProgram>();
  std::vector<RegionEntry> entries = {{0, 0, 0}};  // number 0 is none
  std::vector<u32> places(span.bytes / 4);
  const u64 begin = view.window_begin + span.begin;
  std::vector<u64> waiting = call_targets(fetch, begin, span.bytes);
  waiting.insert(waiting.begin(), entry);
  for (const u64 pc : waiting) {
    if (cancelled()) return nullptr;
    if (pc - begin >= span.bytes || places[(pc - begin) / 4] != 0 || report.instructions > kMostInstructions) continue;
    std::string why;
    auto region = translator->translate(pc, fetch, {}, "region_" + std::to_string(pc), why);
    if (region == nullptr) {
      if (++report.refused <= kMostRefusals) report.refusals.push_back({pc, why});
      continue;
    }
    report.regions++;
    report.instructions += region->instructions;
    report.seconds += region->seconds;
    for (u32 i = 0; i < region->entries.size(); i++) {
      u32& place = places[(region->entries[i] - begin) / 4];
      if (place != 0) continue;
      place = static_cast<u32>(entries.size());
      entries.push_back({static_cast<u32>(program->regions_.size()), i * translate::kEntryApart,
                         static_cast<u32>(region->longest_run)});
    }
    program->regions_.push_back(std::move(region));
  }
  if (program->regions_.empty()) {
    report.unavailable = "none of the program's code could be translated";
    return nullptr;
  }
  std::vector<const translate::DeviceRegion*> regions;
  for (const auto& region : program->regions_) regions.push_back(region.get());
  try {
    compile_regions(regions, threads);
    program->linked_ = std::make_unique<LinkedRegions>(regions);
  } catch (const DeviceError& error) {
    report.unavailable = error.what();
    return nullptr;
  }
  constexpr const char* kAllocating = "allocating the table of regions";
  program->places_.resize(places.size(), kAllocating);
  program->places_.upload(places, stream);
  program->entries_.resize(entries.size(), kAllocating);
  program->entries_.upload(entries, stream);
  program->interpreted_.resize(1, kAllocating);
  *program->interpreted_.data() = 0;
  check(cudaStreamSynchronize(stream), "copying the table of regions");
  program->table_ = {span.words,
                     span.begin,
                     span.bytes,
                     program->places_.data(),
                     program->entries_.data(),
                     program->interpreted_.data()};
  return program;
}

void TranslatedProgram::launch(const View& view, cudaStream_t stream) const {
  View view_argument = view;
  RegionTable table_argument = table_;
  void* arguments[] = {&view_argument, &table_argument};
  constexpr u32 kShared = kWarps * (kSharedSlots * kTeam * sizeof(u64) + sizeof(translate::DeviceTeamFacts));
  check(driver_api().launch_kernel(linked_->kernel(), (view.teams + kWarps - 1) / kWarps, 1, 1, kWarps * kTeam, 1, 1,
                                   kShared, stream, arguments, nullptr),
        "starting translated code");
}

}  // namespace myriarm::cuda
