// SPDX-License-Identifier: Apache-2.0
// Puts the programs' pages on the device, and has their instructions predecoded there.
#include <algorithm>
#include <cstring>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/device_rows.h"
#include "isa/decoder.h"
#include "myriarm/error.h"

namespace myriarm::cuda {
namespace {

bool is_code(const ImagePage& page) { return (page.permissions & kExecute) && !page.bytes.empty(); }

}  // namespace

void CudaBackend::load_image(const Image& image) {
  // The span of the window that is predecoded.
  u64 first = ~u64{0}, last = 0;
  for (const ImageProgram& program : image.programs) {
    for (const ImagePage& page : program.pages) {
      if (!is_code(page)) continue;
      first = std::min(first, page.page);
      last = std::max(last, page.page);
    }
  }
  const PageRange code = first == ~u64{0} ? PageRange{} : PageRange{first, last - first + 1};

  std::vector<u8> bytes(image_units_ << kPageBits);
  std::vector<u32> base(image.programs.size() * view_.page_count);
  std::vector<u32> program_of_team;
  std::vector<u64> entries, stacks;
  u32 unit = kFirstImageUnit;
  for (size_t p = 0; p < image.programs.size(); p++) {
    const ImageProgram& program = image.programs[p];
    for (const ImagePage& page : program.pages) {
      u32 number = kZeroUnit;
      if (!page.bytes.empty()) {
        number = unit++;
        std::memcpy(bytes.data() + (static_cast<u64>(number) << kPageBits), page.bytes.data(), kPageSize);
      }
      u32 entry = number << kPageFlagBits | (page.permissions & 7) | kPageShared;
      if (is_code(page)) entry |= kPageCode;
      std::fill_n(base.begin() + static_cast<i64>(p * view_.page_count + page.page), page.count, entry);
    }
    program_of_team.insert(program_of_team.end(), (program.lanes + kTeam - 1) / kTeam, static_cast<u32>(p));
    entries.insert(entries.end(), program.lanes, program.entry);
    stacks.insert(stacks.end(), program.lanes, program.stack_pointer);
  }
  u8* units = view_.frames;
  if (is_flat(view_)) {
    flat_image_.resize(bytes.size(), "allocating the program's image");
    units = flat_image_.data();
  }
  image_ = units;
  check(cudaMemcpyAsync(units, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_), "loading the program");
  base_tables_.resize(base.size(), "allocating page tables");
  base_tables_.upload(base, stream_);
  team_program_.resize(program_of_team.size(), "allocating the teams' programs");
  team_program_.upload(program_of_team, stream_);
  std::vector<u64> slices(image.programs.size());
  for (u64 at = 0; at < base.size(); at++) {
    if (base[at] != 0) slices[at / view_.page_count] |= view_.slices.bit(at % view_.page_count);
  }
  program_slices_.resize(slices.size(), "allocating page tables");
  program_slices_.upload(slices, stream_);
  view_.program_slices = program_slices_.data();
  view_.base_tables = base_tables_.data();
  view_.team_program = team_program_.data();
  view_.programs = static_cast<u32>(image.programs.size());
  std::vector<ProgramPace> paces(image.programs.size());
  for (u32 team = 0; team < program_of_team.size(); team++) {
    ProgramPace& pace = paces[program_of_team[team]];
    if (pace.teams++ == 0) pace.first_team = team;
  }
  paces_.resize(paces.size(), "allocating lane state");
  paces_.upload(paces, stream_);
  check(cudaStreamSynchronize(stream_), "allocating lane state");
  view_.paces = paces_.data();
  program_of_team_ = std::move(program_of_team);
  predecode_programs(image, code);
  launch_fill_tables(view_, units, stream_);
  if (image.programs.size() == 1) {
    fill(Field::pc, entries[0]);
    fill(Field::sp, stacks[0]);
  } else {
    scatter(Field::pc, {}, entries);
    scatter(Field::sp, {}, stacks);
  }
  synchronize("loading the program");
}

void CudaBackend::predecode_programs(const Image& image, PageRange code) {
  const DecodeTable& table = decode_table();
  decode_first_.resize(DecodeTable::kBuckets + 1, "allocating decode tables");
  decode_candidates_.resize(table.candidate_count, "allocating decode tables");
  decode_patterns_.resize(kRowCount, "allocating decode tables");
  rows_.resize(kRowCount, "allocating decode tables");
  decode_first_.upload(std::span(table.first, DecodeTable::kBuckets + 1), stream_);
  decode_candidates_.upload(std::span(table.candidates, table.candidate_count), stream_);
  decode_patterns_.upload(std::span(table.patterns, static_cast<size_t>(kRowCount)), stream_);
  const std::vector<DeviceRow> rows = device_rows();
  rows_.upload(rows, stream_);
  view_.decode = {decode_first_.data(), decode_candidates_.data(), table.candidate_count, decode_patterns_.data()};
  view_.rows = rows_.data();

  const u64 programs = image.programs.size();
  std::vector<NewCode> fresh;
  std::vector<u32> pages;
  u64 most_pages = 0;
  for (u32 program = 0; program < programs; program++) {
    std::vector<u32> own;
    for (const ImagePage& page : image.programs[program].pages) {
      if (is_code(page)) own.push_back(static_cast<u32>(page.page - code.first));
    }
    program_code_memory_.emplace_back(code.count, std::move(own), device_, code_background_, stream_);
    program_spans_.push_back({program_code_memory_.back().words(), static_cast<u32>(code.first << kPageBits),
                              static_cast<u32>(code.count << kPageBits)});
    const std::vector<u32>& fill = program_code_memory_.back().pages_to_fill();
    fresh.push_back({program_spans_.back(), program, static_cast<u32>(fill.size()), nullptr});
    pages.insert(pages.end(), fill.begin(), fill.end());
    most_pages = std::max<u64>(most_pages, fill.size());
  }
  program_code_.resize(programs, "allocating predecoded code");
  program_code_.upload(program_spans_, stream_);
  view_.program_code = program_code_.data();
  view_.code_begin = static_cast<u32>(code.first << kPageBits);
  upload_new_code(fresh, pages);
  launch_predecode_programs(view_, image_, new_code_.data(), static_cast<u32>(programs), most_pages, stream_);
  std::vector<CodeSpan> team_code;
  team_code.reserve(program_of_team_.size());
  for (u32 program : program_of_team_) team_code.push_back(program_spans_[program]);
  team_code_.resize(team_code.size(), "allocating the teams' code");
  team_code_.upload(team_code, stream_);
  view_.team_code = team_code_.data();
  view_.span_pages = view_.guest_pages - code.first;
  code_variants_.emplace(code, view_.span_pages, program_of_team_);
  if (view_.processes.splits != nullptr)
    group_variants_.emplace(code, view_.span_pages, std::vector<u32>(view_.teams, CodeVariants::kFirstProgram));
  update_common_code();
  synchronize("predecoding the program");
}

}  // namespace myriarm::cuda
