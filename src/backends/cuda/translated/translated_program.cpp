// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translated/translated_program.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "backends/cuda/interpreter/kernels.h"
#include "backends/cuda/translated/driver_api.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "myriarm/error.h"
#include "translate/device_region.h"

namespace myriarm::cuda {
namespace {

using std::chrono::steady_clock;

/// The most instructions of a program that are translated. A region that is asked for counts as this many until it is there.
constexpr u64 kMostInstructions = 60'000, kExpectedInstructions = 100;
/// The most instructions of a visit of a region.
constexpr u32 kLongestVisit = 1u << 16;
static_assert(kLongestVisit <= translate::kMostAim);
/// Of launches, in ticks of some two milliseconds: of the first, of one while regions are made, and of others.
constexpr u64 kFirstTicks = 2, kMakingTicks = 8, kMostTicks = 50;
/// While regions are made, the kernel is linked with those that are ready after so many times as long as it took last.
constexpr int kLinkPauses = 3;
constexpr std::chrono::milliseconds kLeastLinkPause{30};

/// For tests: where this is set, the longest visit is another one in each launch, of 1 to so many instructions.
u32 changing_visits() {
  const char* const most = std::getenv("MYRIARM_TRANSLATE_VISITS");
  return most == nullptr ? 0 : static_cast<u32>(std::strtoul(most, nullptr, 10));
}

/// Targets of the direct calls in a program.
std::vector<u64> call_targets(const ProgramCode& code) {
  std::vector<u64> targets;
  for (u64 i = 0; i < code.words(); i++) {
    const u64 pc = code.address_of(i);
    u32 word = 0;
    if (!code.fetch(pc, word)) continue;
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

TranslatedProgram::TranslatedProgram(const View& view, const CodeSpan& span, std::shared_ptr<const ProgramCode> code,
                                     bool caches)
    : code_(std::move(code)),
      cache_(caches ? std::make_shared<translate::RegionCache>() : nullptr),
      call_targets_(call_targets(*code_)),
      places_(code_->words(), kCold),
      heat_of_words_(code_->words()),
      changing_visits_(changing_visits()),
      ticks_(kFirstTicks) {
  std::vector<u32> words;
  for (const u64 pc : call_targets_) {
    if (code_->has(pc)) words.push_back(static_cast<u32>(code_->word_at(pc)));
  }
  hot_.emplace(std::move(words), std::min<u64>(view.lanes, kTeam));
  table_.words = span.words;
  table_.begin = span.begin;
  table_.bytes = span.bytes;
  chooses_ = changing_visits_ == 0;
  change_visits();
}

TranslatedProgram::~TranslatedProgram() { keep_entries(); }

void TranslatedProgram::allocate(u64 pages, cudaStream_t stream) {
  constexpr const char* kAllocating = "allocating the table of regions";
  int device = 0;
  check(cudaGetDevice(&device), "selecting the CUDA device");
  const auto array = [&](u64 word_bytes, LazyBackground& background) {
    const u64 page_bytes = kPageWords * word_bytes;
    const std::vector<bool> own = pieces_of(code_->pages(), page_bytes, 0, mapped_piece(device));
    return LongArray(pages * page_bytes, own, device, background, kAllocating, stream);
  };
  entries_ = array(sizeof(RegionEntry), no_entries_);
  heat_ = array(sizeof(u32), lost_heat_);
  counts_.resize(1, kAllocating);
  check(cudaMemsetAsync(counts_.data(), 0, sizeof(RegionCounts), stream), kAllocating);
  if (entries_.is_short()) check(cudaMemsetAsync(entries_.data(), 0, entries_.bytes(), stream), kAllocating);
  if (heat_.is_short()) check(cudaMemsetAsync(heat_.data(), 0, heat_.bytes(), stream), kAllocating);
  table_.entries = reinterpret_cast<const RegionEntry*>(entries_.data());
  table_.heat = reinterpret_cast<u32*>(heat_.data());
  table_.counts = counts_.data();
}

std::unique_ptr<TranslatedProgram> TranslatedProgram::make(const View& view, const CodeSpan& span,
                                                           const std::shared_ptr<const ProgramCode>& code, u32 threads,
                                                           bool caches, cudaStream_t stream, std::string& why) {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "selecting the CUDA device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for the device's version");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "asking for the device's version");
  translate::DeviceTarget target;
  target.compute_capability = static_cast<u32>(10 * major + minor);
  target.lanes_differ = view.processes.facts != nullptr;
  std::unique_ptr<TranslatedProgram> program(new TranslatedProgram(view, span, code, caches));
  auto translator = translate::make_device_translator(target, program->cache_, why);
  if (translator == nullptr) return nullptr;
  program->translator_ = translator.get();
  try {
    const auto fetch = [code](u64 pc, u32& word) { return code->fetch(pc, word); };
    program->makers_ = std::make_unique<RegionMakers>(std::move(translator), fetch, threads);
    program->allocate(span.bytes >> kPageBits, stream);
    program->link(stream);
    program->take_up_kept(stream);
  } catch (const DeviceError& error) {
    why = error.what();
    return nullptr;
  }
  return program;
}

void TranslatedProgram::take_up_kept(cudaStream_t stream) {
  for (const u64 pc : translator_->kept_entries(code_->begin(), code_->key())) {
    if (code_->has(pc)) ask(pc);
  }
  if (makers_->open() == 0) return;
  kept_entries_ = entries_to_keep_.size();
  wait_for([] { return false; }, [] { return false; }, stream);
}

void TranslatedProgram::keep_entries() {
  if (cache_ == nullptr || kept_entries_ == entries_to_keep_.size()) return;
  try {
    translator_->keep_entries(code_->begin(), code_->key(), entries_to_keep_);
  } catch (const std::exception&) {  // no memory: the next run does not know them
  }
  kept_entries_ = entries_to_keep_.size();
}

TranslationReport TranslatedProgram::report() const {
  std::lock_guard lock(report_mutex_);
  TranslationReport report = report_;
  if (cache_ != nullptr) report.cache_warning = cache_->warning();
  return report;
}

void TranslatedProgram::note_refusal(u64 pc, std::string why) {
  std::lock_guard lock(report_mutex_);
  if (++report_.refused <= kMostRefusals) report_.refusals.push_back({pc, std::move(why)});
}

bool TranslatedProgram::has_room() const {
  return report_.instructions + makers_->open() * kExpectedInstructions < kMostInstructions;
}

void TranslatedProgram::ask(u64 pc) {
  if (!has_room() || !asked_.insert(pc).second) return;
  entries_to_keep_.push_back(pc);
  makers_->ask(pc);
}

void TranslatedProgram::take_made() {
  for (RegionMakers::Made& made : makers_->take()) {
    if (made.region == nullptr) {
      note_refusal(made.pc, made.why);
      continue;
    }
    std::lock_guard lock(report_mutex_);
    report_.regions++;
    report_.cached += made.region->is_from_store;
    report_.instructions += made.region->instructions;
    report_.seconds += made.region->seconds;
    regions_.push_back(std::move(made.region));
  }
}

void TranslatedProgram::translate_all(u64 entry, bool each_word, const std::function<bool()>& cancelled,
                                      cudaStream_t stream) {
  if (has_translated_all_) return;
  chooses_ = false;
  std::vector<u64> waiting = call_targets_;
  waiting.insert(waiting.begin(), entry);
  size_t next = 0;
  wait_for(
      [&] {
        while (next < waiting.size() && has_room()) {
          const u64 pc = waiting[next++];
          if (code_->has(pc)) ask(pc);
        }
        return next < waiting.size() && has_room();
      },
      cancelled, stream);
  wait_for(
      [&] {
        if (each_word && makers_->open() == 0) ask_for_gaps();
        return false;
      },
      cancelled, stream);
  has_translated_all_ = !cancelled();
}

void TranslatedProgram::ask_for_gaps() {
  std::vector<bool> has_been_tried(code_->words());
  const auto note = [&](u64 pc) {
    if (code_->has(pc)) has_been_tried[code_->word_at(pc)] = true;
  };
  for (const auto& region : regions_) std::for_each(region->covered.begin(), region->covered.end(), note);
  std::for_each(asked_.begin(), asked_.end(), note);
  for (u64 i = 0; i < has_been_tried.size(); i++) {
    // A region has what follows its beginning, so that one word of a gap is enough for now.
    if (!has_been_tried[i] && (i == 0 || has_been_tried[i - 1])) ask(code_->address_of(i));
  }
}

void TranslatedProgram::wait_for(const std::function<bool()>& asks_for_more, const std::function<bool()>& cancelled,
                                 cudaStream_t stream) {
  while (asks_for_more() || makers_->open() != 0) {
    if (cancelled()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    take_made();
  }
  if (linked_regions_ != regions_.size()) link(stream);
}

void TranslatedProgram::link(cudaStream_t stream) {
  const auto begin = steady_clock::now();
  std::vector<const translate::DeviceRegion*> regions;
  regions.reserve(regions_.size());
  for (const auto& region : regions_) regions.push_back(region.get());
  auto linked = std::make_unique<LinkedRegions>(regions);
  std::vector<RegionEntry> entries(code_->words());
  const auto index_of = [&](u64 pc) { return code_->word_at(pc); };
  for (const translate::DeviceRegion* region : regions) {
    for (const u64 pc : region->covered) entries[index_of(pc)].function = kInRegion;
  }
  for (u32 number = 0; number < regions.size(); number++) {
    for (u32 i = 0; i < regions[number]->entries.size(); i++) {
      RegionEntry& entry = entries[index_of(regions[number]->entries[i])];
      // The region that begins there is better than one that has it in its middle.
      if (entry.function != kInRegion && i != 0) continue;
      entry = {linked->functions()[number], i * translate::kEntryApart, static_cast<u32>(regions[number]->longest_run)};
    }
  }
  for (size_t i = 0; i < entries.size(); i++) {
    const u64 function = entries[i].function;
    places_[i] = function == kCold || function == kInRegion ? static_cast<u32>(function) : kEntry;
  }
  constexpr const char* kCopying = "copying the table of regions";
  constexpr u64 kPageBytes = kPageWords * sizeof(RegionEntry);
  code_->for_runs([&](u64 first, u64 place, u64 count) {
    check(cudaMemcpyAsync(entries_.data() + place * kPageBytes, entries.data() + first * kPageWords, count * kPageBytes,
                          cudaMemcpyHostToDevice, stream),
          kCopying);
  });
  check(cudaStreamSynchronize(stream), kCopying);
  linked_ = std::move(linked);
  linked_regions_ = regions_.size();
  linked_at_ = steady_clock::now();
  link_took_ = linked_at_ - begin;
  ticks_ = kFirstTicks;
}

void TranslatedProgram::ask_for_hot(u64 retired, cudaStream_t stream) {
  constexpr const char* kLooking = "looking for hot code";
  constexpr u64 kPageBytes = kPageWords * sizeof(u32);
  code_->for_runs([&](u64 first, u64 place, u64 count) {
    u8* const heat = heat_.data() + place * kPageBytes;
    check(cudaMemcpyAsync(heat_of_words_.data() + first * kPageWords, heat, count * kPageBytes, cudaMemcpyDeviceToHost,
                          stream),
          kLooking);
    check(cudaMemsetAsync(heat, 0, count * kPageBytes, stream), kLooking);
  });
  check(cudaStreamSynchronize(stream), kLooking);
  // What waits for a thread would be made after what has become hotter meanwhile.
  const u64 most = makers_->threads() - std::min(makers_->threads(), makers_->open());
  for (const u32 word : hot_->choose(heat_of_words_, places_, retired, most)) ask(code_->address_of(word));
  if (!has_room() && makers_->open() == 0) table_.heat = nullptr;
}

void TranslatedProgram::change_visits() {
  table_.longest_visit = kLongestVisit;
  if (changing_visits_ == 0) return;
  visit_random_ = visit_random_ * 6364136223846793005u + 1442695040888963407u;
  table_.longest_visit = static_cast<u32>(1 + (visit_random_ >> 33) % std::min(changing_visits_, kLongestVisit));
}

void TranslatedProgram::between_launches(u64 retired, cudaStream_t stream) {
  change_visits();
  ticks_ = std::min(2 * ticks_, kMostTicks);
  take_made();
  RegionCounts counts = {};
  constexpr const char* kCounting = "counting instructions";
  check(cudaMemcpyAsync(&counts, counts_.data(), sizeof counts, cudaMemcpyDeviceToHost, stream), kCounting);
  check(cudaStreamSynchronize(stream), kCounting);
  {
    std::lock_guard lock(report_mutex_);
    report_.interpreted = counts.interpreted;
    report_.visits = counts.visits;
    report_.lanes_in_visits = counts.lanes_in_visits;
  }
  if (table_.heat != nullptr) ask_for_hot(retired, stream);
  if (makers_->open() == 0) keep_entries();
  if (linked_regions_ == regions_.size()) return;
  const auto pause = std::max<steady_clock::duration>(kLinkPauses * link_took_, kLeastLinkPause);
  if (makers_->open() != 0 && steady_clock::now() - linked_at_ < pause) return;
  try {
    link(stream);
  } catch (const DeviceError& error) {
    // The kernel stays as it is, and so it does with whatever comes.
    table_.heat = nullptr;
    regions_.resize(linked_regions_);
    note_refusal(code_->begin(), error.what());
  }
}

u64 TranslatedProgram::launch_ticks() const { return makers_->open() != 0 ? std::min(ticks_, kMakingTicks) : ticks_; }

void TranslatedProgram::launch(const View& view, const Multiprocessors& device, cudaStream_t stream) const {
  View view_argument = view;
  RegionTable table_argument = table_;
  void* arguments[] = {&view_argument, &table_argument};
  constexpr u32 kShared = kWarps * (kSharedSlots * kTeam * sizeof(u64) + sizeof(translate::DeviceTeamFacts));
  const u32 blocks = blocks_of_teams(view.teams);
  // As divide_for(): only a request.
  driver_api().function_set_attribute(linked_->kernel(), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                      shared_percent(blocks, kShared, device, false));
  check(driver_api().launch_kernel(linked_->kernel(), blocks, 1, 1, kWarps * kTeam, 1, 1, kShared, stream, arguments,
                                   nullptr),
        "starting translated code");
}

}  // namespace myriarm::cuda
