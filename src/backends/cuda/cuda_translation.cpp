// SPDX-License-Identifier: Apache-2.0
// Engine::translate of a CUDA fleet: which code is translated, its program's or what most teams run later, such as a program with its
// libraries; and whether it can be.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <string_view>
#include <thread>

#include "backends/cuda/cuda_backend.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

/// For tests, whose programs are too short for anything to become hot: what is translated before it runs.
enum class Before { nothing, calls, each_word };
Before translated_before() {
  const char* const all = std::getenv("MYRIARM_TRANSLATE_ALL");
  const std::string_view what = all != nullptr ? all : "";
  return what == "1" ? Before::calls : what == "words" ? Before::each_word : Before::nothing;
}

/// For how many launches most teams must have had the same code, and how often a fleet's regions begin anew, for other code.
constexpr u32 kSettledLaunches = 2, kMostFollowed = 16;
/// The most code that is followed, 32 MiB, and how much of it is fetched at once.
constexpr u64 kMostFollowedPages = 8192, kPagesAtOnce = 64;
constexpr u32 kOfProgram = 0;  // among the variants of a fleet of one program

/// What has been counted of code that is translated no longer, and of code that is.
void add_report(TranslationReport& sum, TranslationReport more) {
  sum.regions += more.regions;
  sum.cached += more.cached;
  sum.instructions += more.instructions;
  sum.seconds += more.seconds;
  sum.interpreted += more.interpreted;
  sum.visits += more.visits;
  sum.lanes_in_visits += more.lanes_in_visits;
  sum.refused += more.refused;
  for (TranslationReport::Refusal& refusal : more.refusals) {
    if (sum.refusals.size() < kMostRefusals) sum.refusals.push_back(std::move(refusal));
  }
  if (!more.cache_warning.empty()) sum.cache_warning = std::move(more.cache_warning);
}

}  // namespace

TranslatedProgram* CudaBackend::translated_program() {
  if (!has_tried_to_translate_) {
    std::string why;
    if (view_.programs != 1) why = "on a GPU fleets with several programs are not translated yet";
    else if (is_flat(view_)) why = "on a GPU lanes whose memory others see are not translated";
    else if (program_spans_.front().bytes == 0) why = "the program has no code that can be predecoded";
    if (why.empty()) translate_variant(kOfProgram, 0, why);
    has_tried_to_translate_ = true;
    set_unavailable(why);
  } else if (translated_ != nullptr) {
    follow_most_teams();
  }
  translate_before_running();
  return translated_.get();
}

void CudaBackend::set_unavailable(const std::string& why) {
  std::lock_guard lock(translation_mutex_);
  translation_report_.unavailable = why;
}

void CudaBackend::note_not_followed(const CodeSpan& span, std::string why) {
  std::lock_guard lock(translation_mutex_);
  TranslationReport of_span;
  of_span.refused = 1;
  of_span.refusals.push_back({view_.window_begin + span.begin, std::move(why)});
  add_report(translation_report_, std::move(of_span));
}

bool CudaBackend::translate_variant(u32 variant, u32 lane, std::string& why) {
  const CodeSpan span = span_of_variant(variant);
  std::optional<SpanCode> code =
      code_variants_->is_program(variant) ? program_code() : code_of_variant(variant, lane, why);
  std::unique_ptr<TranslatedProgram> made = code ? translate_span(span, *std::move(code), why) : nullptr;
  if (made == nullptr) return false;
  replace_translated(std::move(made));
  translated_variant_ = variant;
  translated_block_.reset();
  if (!code_variants_->is_program(variant)) translated_block_ = code_variants_->made(variant).block;
  return true;
}

void CudaBackend::replace_translated(std::unique_ptr<TranslatedProgram> made) {
  {
    std::lock_guard lock(translation_mutex_);
    if (translated_ != nullptr) add_report(translation_report_, translated_->report());
    translated_.swap(made);
  }
  // What was translated before ends here, without the lock: it waits for its threads.
}

void CudaBackend::follow_most_teams() {
  // Spans of other code than the programs' are freed when no team runs from them. There must be translated code: launches of the
  // interpreter's kernel may have no end, and nothing would be followed in them.
  if (translated_block_ && !code_blocks_.contains(*translated_block_)) {
    std::string why;
    if (!translate_variant(kOfProgram, 0, why)) {
      replace_translated(nullptr);
      set_unavailable(why);
      return;
    }
  }
  if (followed_ > kMostFollowed) return;
  // Where lanes have several processes, a table may have none that runs; to look at each lane takes some milliseconds.
  std::optional<u32> of_most;
  if (spaces_) {
    const auto begin = std::chrono::steady_clock::now();
    if (!look_delay_.is_over(begin)) return;
    of_most = code_of_most_lanes();
    if (of_most != code_of_most_) look_delay_.begin_again();  // the next program is looked at as soon as the first was
    const auto end = std::chrono::steady_clock::now();
    look_delay_.begin(end, end - begin);
  } else {
    of_most = code_variants_->of_most_teams();
  }
  // A program that links itself has new code with each library.
  launches_with_this_code_ = of_most == code_of_most_ ? launches_with_this_code_ + 1 : 0;
  code_of_most_ = of_most;
  if (!of_most || launches_with_this_code_ < kSettledLaunches) return;
  const u32 variant = *of_most;
  if (variant == translated_variant_ || variant == refused_variant_) return;
  const std::optional<u32> lane = lane_that_runs(variant);
  if (!lane) {
    launches_with_this_code_ = 0;
    return;
  }
  const CodeSpan span = span_of_variant(variant);
  if (followed_++ == kMostFollowed) {
    note_not_followed(span, "the code that most lanes run has changed too often");
    return;
  }
  std::string why;
  try {
    if (translate_variant(variant, *lane, why)) return;
  } catch (const DeviceError& error) {
    cudaGetLastError();  // a later check must not find this error
    why = error.what();
  } catch (const std::bad_alloc&) {
    why = "the host has no memory for it";
  }
  refused_variant_ = variant;
  note_not_followed(span, why);
}

void CudaBackend::translate_before_running() {
  const Before before = translated_before();
  if (translated_ == nullptr || before == Before::nothing || translated_variant_ != kOfProgram) return;
  u64 entry = 0;
  const u32 lane = 0;
  gather(Field::pc, {&lane, 1}, {&entry, 1});
  translated_->translate_all(
      entry, before == Before::each_word, [&] { return is_cancelled(); }, stream_);
}

CudaBackend::SpanCode CudaBackend::program_code() {
  constexpr const char* kFetching = "fetching the program";
  const CodeSpan span = program_spans_.front();
  std::vector<u32> table(view_.page_count);
  check(cudaMemcpyAsync(table.data(), base_tables_.data(), table.size() * sizeof(u32), cudaMemcpyDeviceToHost, stream_),
        kFetching);
  synchronize(kFetching);
  // A team whose code is no longer this runs from another span.
  const u64 first = span.begin >> kPageBits;
  SpanCode code;
  for (u32 i = 0; i < span.bytes >> kPageBits; i++) {
    if (table[first + i] & kPageCode) code.pages.push_back(i);
  }
  code.bytes.resize(code.pages.size() << kPageBits);
  for (u64 i = 0; i < code.pages.size(); i++) {
    const u64 unit = table[first + code.pages[i]] >> kPageFlagBits;
    check(cudaMemcpyAsync(code.bytes.data() + (i << kPageBits), image_ + (unit << kPageBits), kPageSize,
                          cudaMemcpyDeviceToHost, stream_),
          kFetching);
  }
  synchronize(kFetching);
  return code;
}

std::vector<CodeSpan> CudaBackend::running_code() {
  constexpr const char* kLooking = "looking for code to translate";
  const auto fetch = [&](auto& values, const auto* from) {
    check(cudaMemcpyAsync(values.data(), from, values.size() * sizeof *from, cudaMemcpyDeviceToHost, stream_),
          kLooking);
  };
  std::vector<CodeSpan> of_table(view_.table_count);
  std::vector<StopRecord> stops(lanes_);
  std::vector<LaneTables> tables(view_.processes.spaces.running != nullptr ? lanes_ : 0);
  fetch(of_table, view_.team_code);
  fetch(stops, device_stops_.data());
  if (!tables.empty()) fetch(tables, view_.processes.spaces.running);
  synchronize(kLooking);
  std::vector<CodeSpan> code(lanes_);
  for (u64 lane = 0; lane < lanes_; lane++) {
    // The memory of others may be gone.
    const StopCode stop = stops[lane].code;
    const bool goes_on = stop == StopCode::none || stop == StopCode::budget || stop == StopCode::cancelled;
    if (goes_on) code[lane] = of_table[tables.empty() ? team_of(lane) : tables[lane].guest];
  }
  return code;
}

std::optional<u32> CudaBackend::lane_that_runs(u32 variant) {
  const CodeSpan span = span_of_variant(variant);
  const std::vector<CodeSpan> code = running_code();
  const auto found = std::ranges::find_if(
      code, [&](const CodeSpan& of_lane) { return of_lane.words == span.words && of_lane.bytes == span.bytes; });
  if (found == code.end()) return std::nullopt;
  return static_cast<u32>(found - code.begin());
}

std::optional<u32> CudaBackend::code_of_most_lanes() {
  std::map<const Operands*, u64> lanes_with;
  u64 lanes = 0;
  for (const CodeSpan& of_lane : running_code()) {
    if (of_lane.words == nullptr) continue;
    lanes++;
    if (of_lane.bytes != 0) lanes_with[of_lane.words]++;
  }
  // The books do not know what a child runs, which is its parent's code; but they know the parent.
  std::set<u32> variants;
  for (u32 table = 0; table < view_.table_count; table++) variants.insert(code_variants_->of_team(table));
  for (const u32 variant : variants) {
    const auto found = lanes_with.find(span_of_variant(variant).words);
    if (found != lanes_with.end() && found->second > lanes / 2) return variant;
  }
  return std::nullopt;
}

std::optional<CudaBackend::SpanCode> CudaBackend::code_of_variant(u32 variant, u32 lane, std::string& why) {
  const CodeSpan span = span_of_variant(variant);
  std::vector<u8> sources(span.bytes >> kPageBits);
  check(cudaMemcpyAsync(sources.data(), sources_behind(span.words, span.bytes / 4), sources.size(),
                        cudaMemcpyDeviceToHost, stream_),
        "looking for code to translate");
  synchronize("looking for code to translate");
  SpanCode code;
  for (u32 page = 0; page < sources.size(); page++) {
    if (sources[page] != kNoCode) code.pages.push_back(page);
  }
  if (code.pages.size() > kMostFollowedPages) {
    why = "it has too much code";
    return std::nullopt;
  }
  // As long as a team runs from the span, its lanes have this code.
  code.bytes.resize(code.pages.size() << kPageBits);
  for (u64 first = 0; first < code.pages.size(); first += kPagesAtOnce) {
    const u64 count = std::min<u64>(kPagesAtOnce, code.pages.size() - first);
    std::vector<Transfer> transfers;
    for (u64 i = 0; i < count; i++) {
      const u64 address = view_.window_begin + span.begin + (u64{code.pages[first + i]} << kPageBits);
      transfers.push_back({lane, static_cast<u32>(kPageSize), address, i << kPageBits});
    }
    std::vector<u32> done(count);
    read(transfers, std::span(code.bytes).subspan(first << kPageBits, count << kPageBits), done);
    if (!std::ranges::all_of(done, [](u32 bytes) { return bytes == kPageSize; })) {
      why = "a lane that runs it has not all of it";
      return std::nullopt;
    }
  }
  return code;
}

std::unique_ptr<TranslatedProgram> CudaBackend::translate_span(const CodeSpan& span, SpanCode code, std::string& why) {
  const auto of_span = std::make_shared<const ProgramCode>(view_.window_begin + span.begin, std::move(code.pages),
                                                           std::move(code.bytes));
  const u32 threads = compile_threads_ != 0 ? compile_threads_ : std::max(1u, std::thread::hardware_concurrency());
  return TranslatedProgram::make(view_, span, of_span, threads, caches_translation_, stream_, why);
}

TranslationReport CudaBackend::translation() const {
  std::lock_guard lock(translation_mutex_);
  TranslationReport report = translation_report_;
  if (translated_ != nullptr) add_report(report, translated_->report());
  const u64 retired = retired_translated_;
  report.translated = retired - std::min(retired, report.interpreted);
  report.interpreted += retired_interpreted_;
  return report;
}

}  // namespace myriarm::cuda
