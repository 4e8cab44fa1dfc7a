// SPDX-License-Identifier: Apache-2.0
// Makes batches of random cases, runs them as a fleet, and prints the listing and states of a lane.
#include "cases.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "isa/decoder.h"
#include "myriarm/isa.h"
#include "values.h"

namespace myriarm::differential {
namespace {

std::string field_name(Field field) {
  unsigned n = static_cast<unsigned>(field);
  if (n <= 30) return std::string("x").append(std::to_string(n));
  switch (field) {
    case Field::sp: return "sp";
    case Field::pc: return "pc";
    case Field::nzcv: return "nzcv";
    case Field::tpidr: return "tpidr";
    case Field::fpcr: return "fpcr";
    case Field::fpsr: return "fpsr";
    default: break;
  }
  unsigned low = static_cast<unsigned>(Field::v0_low), high = static_cast<unsigned>(Field::v0_high);
  return std::string("v").append(std::to_string(n >= high ? n - high : n - low)).append(n >= high ? ".high" : ".low");
}

/// An address in or near the data window: anywhere, near the boundary of two pages, or aligned.
uint64_t data_address(Random& random, bool tags) {
  uint64_t address;
  switch (random.below(8)) {
    case 0:
      address = Layout::data_begin + random.below(Layout::pages.size() + 1) * kPageBytes + random.below(33) - 16;
      break;
    case 1: address = Layout::data_begin + random.below(Layout::data_bytes); break;
    case 2: address = Layout::data_begin + random.below(2 * kPageBytes); break;
    default: address = Layout::data_begin + 256 + (random.below(2 * kPageBytes - 512) & ~uint64_t{15}); break;
  }
  if (tags && random.one_in(4)) address |= random.next() << 56;
  return address;
}

uint64_t initial_value(Random& random, const BatchOptions& options, const RegisterRoles& roles,
                       const VectorValues& vectors, Field field, uint64_t begin, uint32_t words, uint64_t fpcr_off) {
  unsigned n = static_cast<unsigned>(field);
  switch (field) {
    case Field::pc: return begin;
    case Field::nzcv: return random.below(16);
    case Field::sp: return data_address(random, options.tags) & ~uint64_t{random.one_in(4) ? 0u : 15u};
    case Field::fpcr: return options.vectors ? random_fpcr(random) & ~fpcr_off : 0;
    case Field::fpsr: return options.vectors ? random_fpsr(random) : 0;
    case Field::tpidr: return random.next();
    default: break;
  }
  if (n < 31) {
    if (n == roles.code && options.code_is_data) return begin + 4 * random.below(words);
    if (roles.addresses >> n & 1) return data_address(random, options.tags);
    if (roles.offsets >> n & 1) return random.one_in(4) ? ~random.below(64) : random.below(64);
    if (options.vectors && random.one_in(4)) return vectors.integers[random.below(vectors.integers.size())];
    return random.edge(64);
  }
  const unsigned low = static_cast<unsigned>(Field::v0_low), high = static_cast<unsigned>(Field::v0_high);
  return n >= high ? vectors.v[n - high][1] : vectors.v[n - low][0];
}

/// Replaces two neighbouring instructions of a block, but not its last. The new ones move a constant with only mode or
/// flag bits to FPCR or FPSR, or one of FPCR, FPSR and NZCV to a register, or a register to NZCV.
void move_fpcr(Random& random, std::span<uint32_t> block) {
  if (block.size() < 4) return;
  const std::span<uint32_t> at = block.subspan(random.below(block.size() - 2), 2);
  const uint32_t t = static_cast<uint32_t>(random.below(16));
  auto constant = [&](uint64_t value) {
    const ForcedField fields[] = {
        {'h', value >> 16 ? 1u : 0u}, {'i', static_cast<uint32_t>(value >> 16 ? value >> 16 : value)}, {'d', t}};
    return generate_instruction(random, kRow_MOVZ_64_movewide, fields);
  };
  auto move = [&](u16 row, uint32_t crm, uint32_t op2) {  // of S3_3_C4_<crm>_<op2>
    const ForcedField fields[] = {{'o', 1}, {'p', 3}, {'n', 4}, {'m', crm}, {'q', op2}, {'t', t}};
    return generate_instruction(random, row, fields);
  };
  switch (random.below(6)) {
    case 0:
    case 1:
    case 2:
      at[0] = constant(random_fpcr(random));
      at[1] = move(kRow_MSR_SR_systemmove, 4, 0);
      break;
    case 3:
      at[0] = constant(random.one_in(2) ? uint64_t{1} << 27 : random.next() & 0x9F);
      at[1] = move(kRow_MSR_SR_systemmove, 4, 1);
      break;
    case 4: at[0] = move(kRow_MSR_SR_systemmove, 2, 0); break;
    default:
      at[0] = move(kRow_MRS_RS_systemmove, 4, static_cast<uint32_t>(random.below(2)));
      at[1] = move(kRow_MRS_RS_systemmove, 2, 0);
      break;
  }
}

}  // namespace

std::vector<Field> compared_fields(bool vectors) {
  std::vector<Field> fields;
  for (unsigned n = 0; n < 31; n++) fields.push_back(x(n));
  fields.insert(fields.end(), {Field::sp, Field::nzcv, Field::pc, Field::tpidr, Field::fpcr, Field::fpsr});
  for (unsigned n = 0; vectors && n < 32; n++) fields.insert(fields.end(), {v_low(n), v_high(n)});
  return fields;
}

uint64_t batch_seed(uint64_t seed, uint64_t batch) { return Random(seed * 0x9E3779B97F4A7C15u + batch).next(); }

uint64_t Batch::initial_of(Field field, uint32_t lane) const {
  for (size_t i = 0; i < fields.size(); i++) {
    if (fields[i] == field) return initial[i][lane];
  }
  return 0;
}

Batch make_batch(const BlockGenerator& generator, const BatchOptions& options) {
  Batch batch;
  batch.options = options;
  batch.fields = compared_fields(options.vectors);
  Random random(options.seed);
  BlockOptions block;
  block.even = options.length != 0;
  block.memory_in_100 = options.memory_in_100;
  block.exclusive =
      generator.draw_exclusive(random);  // one size for the whole batch, because branches lead into other blocks
  const uint32_t max_words = static_cast<uint32_t>(Layout::code_bytes / 4) - 64;
  for (uint32_t lane = 0; lane < options.lanes; lane++) {
    if (lane % options.inputs_per_block == 0 && batch.code.size() < max_words) {
      block.length = options.length ? options.length : 4 + static_cast<uint32_t>(random.below(21));
      if (options.length && generator.has_exclusives()) block.length++;  // for the CLREX
      size_t before = batch.code.size();
      generator.append(random, block, batch.code);
      if (options.moves_fpcr && !options.length && random.one_in(3)) {
        move_fpcr(random, std::span(batch.code).subspan(before));
      }
      batch.block_begin.push_back(Layout::code_begin + 4 * before);
      batch.block_words.push_back(static_cast<uint32_t>(batch.code.size() - before));
    } else if (lane % options.inputs_per_block == 0) {  // no space for more code: use a block again
      size_t again = (lane / options.inputs_per_block * options.inputs_per_block) % batch.block_begin.size();
      batch.block_begin.push_back(batch.block_begin[again]);
      batch.block_words.push_back(batch.block_words[again]);
    } else {
      batch.block_begin.push_back(batch.block_begin.back());
      batch.block_words.push_back(batch.block_words.back());
    }
  }
  for (uint32_t word : batch.code) batch.rows.push_back(decode(decode_table(), word).row);
  batch.data.resize(Layout::data_bytes);
  for (size_t i = 0; i < batch.data.size(); i += 8) {
    uint64_t value = random.edge(64);
    std::memcpy(&batch.data[i], &value, 8);
  }
  batch.program.name = "random";
  Segment code;
  code.address = Layout::code_begin;
  code.permissions = options.code_is_data ? kRead | kExecute : kExecute;
  code.bytes.resize(batch.code.size() * 4);
  std::memcpy(code.bytes.data(), batch.code.data(), code.bytes.size());
  code.size = Layout::code_bytes;
  batch.program.segments.push_back(std::move(code));
  for (size_t page = 0; page < Layout::pages.size(); page++) {
    auto begin = batch.data.begin() + static_cast<std::ptrdiff_t>(page * kPageBytes);
    if (!Layout::pages[page]) {
      std::fill(begin, begin + kPageBytes, uint8_t{0});
      continue;
    }
    Segment segment;
    segment.address = Layout::data_begin + page * kPageBytes;
    segment.size = kPageBytes;
    segment.permissions = Layout::pages[page];
    segment.bytes.assign(begin, begin + kPageBytes);
    batch.program.segments.push_back(std::move(segment));
  }
  batch.program.entry = Layout::code_begin;
  batch.program.stack_pointer = Layout::data_begin + kPageBytes;
  batch.initial.assign(batch.fields.size(), std::vector<uint64_t>(options.lanes));
  VectorValues vectors = {};
  for (uint32_t lane = 0; lane < options.lanes; lane++) {
    if (options.vectors) vectors = random_vectors(random);
    uint64_t fpcr_off = 0;
    for (uint32_t i = 0; !options.fpcr_off.empty() && i < batch.block_words[lane]; i++) {
      const auto off = options.fpcr_off.find(batch.rows[(batch.block_begin[lane] - Layout::code_begin) / 4 + i]);
      if (off != options.fpcr_off.end()) fpcr_off |= off->second;
    }
    for (size_t i = 0; i < batch.fields.size(); i++) {
      batch.initial[i][lane] = initial_value(random, options, block.roles, vectors, batch.fields[i],
                                             batch.block_begin[lane], batch.block_words[lane], fpcr_off);
    }
  }
  return batch;
}

bool is_vector_row(u16 row) {
  if (is_memory_row(row) || kRowInfos[row].group == "loadlit_fp") return false;
  const RowFamily family = kRowInfos[row].family;
  return family == RowFamily::floating_point || family == RowFamily::simd || family == RowFamily::crypto;
}

void VectorCount::add(const Batch& batch, uint32_t lane, uint64_t instructions) {
  const size_t begin = (batch.block_begin[lane] - Layout::code_begin) / 4;
  const uint64_t before = instructions_;
  for (size_t i = begin; i < begin + std::min<uint64_t>(batch.block_words[lane], instructions); i++) {
    if (is_branch_row(batch.rows[i])) break;
    instructions_ += is_vector_row(batch.rows[i]);
  }
  if (instructions_ != before) modes_ |= uint64_t{1} << fpcr_mode(batch.initial_of(Field::fpcr, lane));
}

uint32_t VectorCount::modes() const { return static_cast<uint32_t>(std::popcount(modes_)); }

State BatchResult::state(uint32_t lane, bool with_memory) const {
  State state;
  for (const auto& field : values) state.values.push_back(field[lane]);
  state.instructions = instructions[lane];
  state.stop = stops[lane];
  if (with_memory && !memory.empty()) {
    const uint8_t* begin = &memory[lane * Layout::data_bytes];
    state.memory.assign(begin, begin + Layout::data_bytes);
  }
  return state;
}

BatchResult run_on(const Batch& batch, const std::string& device, uint32_t first, uint32_t count, uint64_t limit,
                   BatchResult reuse) {
  FleetOptions options;
  options.device = device;
  options.lanes = count;
  options.memory = Layout::memory;
  Fleet fleet(batch.program, options);
  for (size_t i = 0; i < batch.fields.size(); i++) {
    fleet.set_all(batch.fields[i], std::span(batch.initial[i]).subspan(first, count));
  }
  fleet.fill(Field::limit, limit);
  BatchResult result = std::move(reuse);
  result.retired = fleet.run().instructions;
  result.values.resize(batch.fields.size());
  for (size_t i = 0; i < batch.fields.size(); i++) {
    result.values[i].resize(count);
    fleet.get_all(batch.fields[i], result.values[i]);
  }
  result.instructions.resize(count);
  fleet.get_all(Field::instructions, result.instructions);
  std::span<const Stop> stops = fleet.stops();
  result.stops.assign(stops.begin(), stops.end());
  result.memory.resize(count * Layout::data_bytes);
  std::vector<Transfer> transfers;
  for (uint32_t lane = 0; lane < count; lane++) {
    for (size_t page = 0; page < Layout::pages.size(); page++) {
      if (!Layout::pages[page]) continue;
      transfers.push_back({lane, static_cast<uint32_t>(kPageBytes), Layout::data_begin + page * kPageBytes,
                           lane * Layout::data_bytes + page * kPageBytes});
    }
  }
  fleet.read(transfers, result.memory);
  return result;
}

void print_listing(const Batch& batch, uint32_t lane, uint64_t mark) {
  for (uint32_t i = 0; i < batch.block_words[lane]; i++) {
    uint64_t pc = batch.block_begin[lane] + 4 * i;
    uint32_t word = batch.code[(pc - Layout::code_begin) / 4];
    std::printf("%s %6" PRIx64 ":  %08x  %-44s %s\n", pc == mark ? ">" : " ", pc, word, disassemble(word, pc).c_str(),
                std::string(kRowInfos[decode(decode_table(), word).row].name).c_str());
  }
}

void print_states(const Batch& batch, const State& before, const State& a, const char* a_name, const State& b,
                  const char* b_name) {
  std::printf("  %-12s %-18s %-18s %-18s\n", "", "before", a_name, b_name);
  for (size_t i = 0; i < batch.fields.size(); i++) {
    std::printf("%s %-12s %016" PRIx64 "   %016" PRIx64 "   %016" PRIx64 "\n", a.values[i] != b.values[i] ? "*" : " ",
                field_name(batch.fields[i]).c_str(), before.values[i], a.values[i], b.values[i]);
  }
  std::printf("%s %-12s %-18" PRIu64 " %-18" PRIu64 " %-18" PRIu64 "\n", a.instructions != b.instructions ? "*" : " ",
              "instructions", before.instructions, a.instructions, b.instructions);
  for (const State* state : {&a, &b}) {
    std::printf("  %-12s %s, fault %s, detail %u, address %" PRIx64 "\n", state == &a ? a_name : b_name,
                name(state->stop.reason), name(state->stop.fault), state->stop.detail, state->stop.address);
  }
  for (size_t i = 0; i + 8 <= a.memory.size() && i + 8 <= b.memory.size(); i += 8) {
    if (std::memcmp(&a.memory[i], &b.memory[i], 8) == 0) continue;
    uint64_t was = 0, left, right;
    if (i + 8 <= before.memory.size()) std::memcpy(&was, &before.memory[i], 8);
    std::memcpy(&left, &a.memory[i], 8);
    std::memcpy(&right, &b.memory[i], 8);
    std::printf("* [%" PRIx64 "]     %016" PRIx64 "   %016" PRIx64 "   %016" PRIx64 "\n", Layout::data_begin + i, was,
                left, right);
  }
}

bool same_state(const State& a, const State& b) {
  return a.values == b.values && a.instructions == b.instructions && a.memory == b.memory &&
         a.stop.reason == b.stop.reason && a.stop.fault == b.stop.fault && a.stop.detail == b.stop.detail &&
         a.stop.address == b.stop.address;
}

}  // namespace myriarm::differential
