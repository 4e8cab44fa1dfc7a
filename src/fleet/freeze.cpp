// SPDX-License-Identifier: Apache-2.0
// A lane becomes a program, and lanes of such a program begin where it was.
#include <algorithm>
#include <numeric>

#include "fleet/fleet_impl.h"
#include "fleet/program_state.h"
#include "kernel/process.h"

namespace myriarm {
namespace {

constexpr u64 kChunkPages = 1024;  // read at a time

bool is_part_of_state(Field field) { return field != Field::pc && field != Field::sp && field != Field::limit; }

/// Adds a page that lies behind all others. Pages of zeros that follow others of equal permissions take no bytes.
void add_page(std::vector<Segment>& segments, u64 address, u32 permissions, std::span<const u8> bytes) {
  const bool zeros = std::all_of(bytes.begin(), bytes.end(), [](u8 byte) { return byte == 0; });
  const Segment* last = segments.empty() ? nullptr : &segments.back();
  const bool joins = last && last->address + last->size == address && last->permissions == permissions &&
                     (zeros || last->bytes.size() == last->size);
  if (!joins) segments.push_back({address, 0, permissions, {}});
  Segment& segment = segments.back();
  segment.size += kPageSize;
  if (!zeros) segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
}

/// The pages of a lane in a part of its window.
void add_pages(std::vector<Segment>& segments, Backend& backend, u32 lane, u64 window_begin, u64 first, u64 count) {
  std::vector<u8> permissions(count), bytes(count << kPageBits);
  backend.permissions({&lane, 1}, first, count, permissions);
  std::vector<Transfer> transfers;
  const auto address_of = [&](u64 page) { return window_begin + ((first + page) << kPageBits); };
  for (u64 page = 0; page < count; page++) {
    if (permissions[page] == 0) continue;
    if (page == 0 || permissions[page - 1] == 0) transfers.push_back({lane, 0, address_of(page), page << kPageBits});
    transfers.back().size += kPageSize;
  }
  if (transfers.empty()) return;
  backend.read(transfers, bytes, {});
  for (u64 page = 0; page < count; page++) {
    if (permissions[page] == 0) continue;
    add_page(segments, address_of(page), permissions[page] & ~u32{kMapped},
             std::span(bytes).subspan(page << kPageBits, kPageSize));
  }
}

}  // namespace

Program Fleet::freeze(uint32_t lane) const {
  Impl::Use use(impl_.get());
  use->check_lanes({&lane, 1}, "freeze");
  use->check_memory(lane, "freeze");
  Backend& backend = use.backend();
  const auto source = std::find_if(use->programs.begin(), use->programs.end(),
                                   [&](const ProgramFacts& program) { return lane < program.end; });
  Program made;
  made.name = source->name;
  made.process = source->process;
  for (u64 page = 0; page < use->window_pages; page += kChunkPages) {
    const u64 count = std::min(kChunkPages, use->window_pages - page);
    add_pages(made.segments, backend, lane, use->window_begin, page, count);
  }
  auto state = std::make_shared<ProgramState>();
  state->window_begin = use->window_begin;
  for (size_t i = 0; i < state->fields.size(); i++) {
    const Field field = static_cast<Field>(i);
    u64 value = 0;
    backend.gather(field, {&lane, 1}, {&value, 1});
    if (field == Field::pc) made.entry = value;
    if (field == Field::sp) made.stack_pointer = value;
    if (is_part_of_state(field)) state->fields[i] = value;
  }
  // Of a process that has exited, a kernel knows nothing any more.
  if (use->has_processes && source->process && use->current_stops()[lane].reason != StopReason::exited) {
    const u64 window_end = use->window_begin + (use->window_pages << kPageBits);
    std::vector<u64> records(kernel::kMostProcesses * kernel::kProcessRecordBytes / sizeof(u64));
    const auto record_bytes = static_cast<u32>(records.size() * sizeof(u64));
    const Transfer table = {lane, record_bytes, window_end + kernel::kProcesses, 0};
    backend.read({&table, 1}, {reinterpret_cast<u8*>(records.data()), record_bytes}, {});
    for (u32 slot = 1; slot < kernel::kMostProcesses; slot++) {
      if (records[slot * kernel::kProcessRecordBytes / sizeof(u64)] == 0) continue;
      throw StateError(
          "lane " + std::to_string(lane) +
          " has several processes, and a program is one; freeze it before it makes others, or when they have ended");
    }
    u64 mappings = 0;
    const Transfer count = {lane, sizeof mappings, window_end + kernel::kMappingCount, 0};
    backend.read({&count, 1}, {reinterpret_cast<u8*>(&mappings), sizeof mappings}, {});
    if (mappings != 0) {
      throw StateError(
          "lane " + std::to_string(lane) +
          " has mapped a file so that stores change it, which a program cannot begin with; freeze it before that, or "
          "when it has unmapped the file");
    }
    u64 layer_pages = 0;
    const Transfer word = {lane, sizeof layer_pages, window_end + kernel::kLayerPages, 0};
    backend.read({&word, 1}, {reinterpret_cast<u8*>(&layer_pages), sizeof layer_pages}, {});
    state->kernel_words.resize((kernel::kKernelPages + layer_pages) << kPageBits);
    std::vector<Transfer> words;
    for (u64 done = 0; done < state->kernel_words.size(); done += kChunkPages << kPageBits) {
      const u64 size = std::min(kChunkPages << kPageBits, state->kernel_words.size() - done);
      words.push_back({lane, static_cast<u32>(size), window_end + done, done});
    }
    backend.read(words, state->kernel_words, {});
  }
  made.state = std::move(state);
  return made;
}

void write_states(Backend& backend, std::span<const PlacedProgram> programs) {
  u32 first = 0;
  for (const PlacedProgram& placed : programs) {
    const u32 begin = first;
    first += static_cast<u32>(placed.lanes);
    if (!placed.program.state) continue;
    std::vector<u32> lanes;  // empty: all
    if (programs.size() > 1) {
      lanes.resize(placed.lanes);
      std::iota(lanes.begin(), lanes.end(), begin);
    }
    for (size_t i = 0; i < placed.program.state->fields.size(); i++) {
      const u64 value = placed.program.state->fields[i];
      if (value == 0) continue;  // as it is in a new lane
      const Field field = static_cast<Field>(i);
      if (lanes.empty()) backend.fill(field, value);
      else backend.scatter(field, lanes, std::vector<u64>(lanes.size(), value));
    }
  }
}

}  // namespace myriarm
