// SPDX-License-Identifier: Apache-2.0
// Makes the program. It assembles instructions from the rows of the instruction table.
#include "qemu_program.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

#include "isa/decoder.h"
#include "unit/elf_builder.h"

namespace myriarm::differential {
namespace {

// Addresses of the program, next to the code and data of Layout. ADR and literal loads reach 1 MiB.
constexpr uint64_t kPristine = 0x480000;   // the initial data
constexpr uint64_t kProgram = 0x500000;    // the code that runs the cases
constexpr uint64_t kVariables = 0x508000;  // addresses of the records before and after this case, and of the last one
constexpr uint64_t kEnds = 0x510000;       // 4 words for each HLT
constexpr uint64_t kCells = 0x590000;      // 16 bytes for each HLT
constexpr uint64_t kStarts = 0x620000;     // 2 words for each block
constexpr uint64_t kRecords = 0x1000000;
constexpr uint64_t kOutput = 0x10000000;
constexpr uint64_t kEndStride = 16;
constexpr size_t kMostEnds = (kCells - kEnds) / kEndStride;

/// The word of a row with these fields; other fields are 0.
uint32_t assemble(std::string_view name, std::initializer_list<std::pair<char, int64_t>> fields) {
  for (u16 row = 1; row < kRowCount; row++) {
    if (kRowInfos[row].name != name) continue;
    const std::string_view bits = kRowInfos[row].bits;
    for (auto [letter, value] : fields) {
      if (bits.find(letter) == std::string_view::npos)
        throw std::logic_error(std::string(name) + " has no field " + letter);
    }
    uint32_t word = 0;
    for (size_t i = 0; i < bits.size(); i++) {
      uint32_t bit = bits[i] == '1';
      for (auto [letter, value] : fields) {
        if (bits[i] != letter) continue;
        bit = static_cast<uint32_t>(
            value >> std::count(bits.begin() + static_cast<ptrdiff_t>(i) + 1, bits.end(), letter) & 1);
      }
      word = word << 1 | bit;
    }
    return word;
  }
  throw std::logic_error("no row " + std::string(name));
}

uint32_t branch(uint64_t from, uint64_t to) {
  return assemble("B_only_branch_imm", {{'i', static_cast<int64_t>(to - from) / 4}});
}
uint32_t adr(int d, uint64_t from, uint64_t to) {
  const int64_t offset = static_cast<int64_t>(to - from);
  return assemble("ADR_only_pcreladdr", {{'l', offset & 3}, {'h', offset >> 2}, {'d', d}});
}
uint32_t load(int t, int n, size_t offset) {
  return assemble("LDR_64_ldst_pos", {{'i', offset / 8}, {'n', n}, {'t', t}});
}
uint32_t store(int t, int n, size_t offset) {
  return assemble("STR_64_ldst_pos", {{'i', offset / 8}, {'n', n}, {'t', t}});
}
uint32_t load_pair(int t, int u, int n, size_t offset) {
  return assemble("LDP_64_ldstpair_off", {{'i', offset / 8}, {'u', u}, {'n', n}, {'t', t}});
}
uint32_t store_pair(int t, int u, int n, size_t offset) {
  return assemble("STP_64_ldstpair_off", {{'i', offset / 8}, {'u', u}, {'n', n}, {'t', t}});
}
uint32_t vector_pair(std::string_view row, int t, int n, size_t offset) {
  return assemble(row, {{'i', offset / 16}, {'u', t + 1}, {'n', n}, {'t', t}});
}
uint32_t add(int d, int n, int imm) { return assemble("ADD_64_addsub_imm", {{'i', imm}, {'n', n}, {'d', d}}); }

enum class Register { nzcv, fpcr, fpsr, tpidr };
uint32_t system(std::string_view row, Register which, int t) {
  const int m = which == Register::nzcv ? 2 : which == Register::tpidr ? 0 : 4;
  const int n = which == Register::tpidr ? 13 : 4;
  const int q = which == Register::tpidr ? 2 : which == Register::fpsr ? 1 : 0;
  return assemble(row, {{'o', 1}, {'p', 3}, {'n', n}, {'m', m}, {'q', q}, {'t', t}});
}
uint32_t read(Register which, int t) { return system("MRS_RS_systemmove", which, t); }
uint32_t write(Register which, int t) { return system("MSR_SR_systemmove", which, t); }

/// Assembles code at an address.
struct Assembler {
  uint64_t begin;
  std::vector<uint32_t> words;
  uint64_t here() const { return begin + 4 * words.size(); }
  void operator()(uint32_t word) { words.push_back(word); }
  void constant(int d, uint64_t value) {
    (*this)(assemble("MOVZ_64_movewide", {{'h', 0}, {'i', value & 0xFFFF}, {'d', d}}));
    (*this)(assemble("MOVK_64_movewide", {{'h', 1}, {'i', value >> 16 & 0xFFFF}, {'d', d}}));
  }
  void load_variable(int t, size_t index) {
    const int64_t offset = static_cast<int64_t>(kVariables + 8 * index - here());
    (*this)(assemble("LDR_64_loadlit", {{'i', offset / 4}, {'t', t}}));
  }
  void call_kernel(int number) {
    constant(8, static_cast<uint64_t>(number));
    (*this)(assemble("SVC_EX_exception", {{'i', 0}}));
  }
};

constexpr size_t kX = offsetof(QemuRecord, x), kV = offsetof(QemuRecord, v);

/// The code that runs the cases. Sets `finish` to the address to which blocks branch at their end.
std::vector<uint32_t> runner(uint64_t output_bytes, uint64_t& finish) {
  Assembler a{kProgram, {}};
  // mmap(kOutput, output_bytes, read and write, shared and fixed, standard output, 0), or exit(3).
  a.constant(0, kOutput);
  a.constant(1, output_bytes);
  a.constant(2, 3);
  a.constant(3, 0x11);
  a.constant(4, 1);
  a.constant(5, 0);
  a.call_kernel(222);
  a.constant(1, kOutput);
  a(assemble("SUBS_64_addsub_shift", {{'m', 1}, {'n', 0}, {'d', 0}}));
  a(assemble("CBZ_64_compbranch", {{'i', 6}, {'t', 0}}));
  a.constant(0, 3);
  a.call_kernel(93);

  const uint64_t next = a.here();
  a.load_variable(0, 0);
  a.load_variable(1, 2);
  a(assemble("SUBS_64_addsub_shift", {{'m', 1}, {'n', 0}, {'d', 1}}));
  a(assemble("CBNZ_64_compbranch", {{'i', 6}, {'t', 1}}));
  a.constant(0, 0);
  a.call_kernel(93);
  for (int t = 0; t < 32; t += 2) a(vector_pair("LDP_Q_ldstpair_off", t, 0, kV + 16 * static_cast<size_t>(t)));
  a(load(1, 0, offsetof(QemuRecord, nzcv)));
  a(write(Register::nzcv, 1));
  a(load(1, 0, offsetof(QemuRecord, fpcr)));
  a(write(Register::fpcr, 1));
  a(load(1, 0, offsetof(QemuRecord, fpsr)));
  a(write(Register::fpsr, 1));
  a(load(1, 0, offsetof(QemuRecord, sp)));
  a(add(31, 1, 0));
  for (int t = 2; t < 30; t += 2) a(load_pair(t, t + 1, 0, kX + 8 * static_cast<size_t>(t)));
  a(load(30, 0, kX + 8 * 30));
  a(load(1, 0, offsetof(QemuRecord, place)));
  a(assemble("BR_64_branch_reg", {{'n', 1}}));  // to the block's start, which loads x0 and x1

  // X0 has the cell of the end that was reached, TPIDR_EL0 the block's X0.
  finish = a.here();
  a(store_pair(1, 2, 0, 0));
  a.load_variable(1, 1);
  a(read(Register::tpidr, 2));
  a(store(2, 1, kX));
  a(load(2, 0, 0));
  a(store(2, 1, kX + 8));
  a(load(2, 0, 8));
  a(store(2, 1, kX + 16));
  for (int t = 3; t < 31; t += 2) a(store_pair(t, t + 1, 1, kX + 8 * static_cast<size_t>(t)));
  a(add(2, 31, 0));
  a(store(2, 1, offsetof(QemuRecord, sp)));
  a(read(Register::nzcv, 2));
  a(store(2, 1, offsetof(QemuRecord, nzcv)));
  a(read(Register::fpcr, 2));
  a(store(2, 1, offsetof(QemuRecord, fpcr)));
  a(read(Register::fpsr, 2));
  a(store(2, 1, offsetof(QemuRecord, fpsr)));
  for (int t = 0; t < 32; t += 2) a(vector_pair("STP_Q_ldstpair_off", t, 1, kV + 16 * static_cast<size_t>(t)));

  // Copies the data to the output and restores the initial data.
  a.load_variable(3, 0);
  a(load(2, 3, offsetof(QemuRecord, memory)));
  const size_t skip = a.words.size();
  a(0);
  for (size_t page : writable_pages()) {
    a.constant(4, Layout::data_begin + page * kPageBytes);
    a.constant(5, kPristine + page * kPageBytes);
    a.constant(6, kPageBytes / 32);
    a(vector_pair("LDP_Q_ldstpair_off", 0, 4, 0));
    a(vector_pair("STP_Q_ldstpair_post", 0, 2, 32));
    a(vector_pair("LDP_Q_ldstpair_post", 2, 5, 32));
    a(vector_pair("STP_Q_ldstpair_post", 2, 4, 32));
    a(assemble("SUB_64_addsub_imm", {{'i', 1}, {'n', 6}, {'d', 6}}));
    a(assemble("CBNZ_64_compbranch", {{'i', -5}, {'t', 6}}));
  }
  a.words[skip] = assemble("CBZ_64_compbranch", {{'i', a.words.size() - skip}, {'t', 2}});
  a(store(0, 1, offsetof(QemuRecord, place)));  // the case is done
  a(add(3, 3, sizeof(QemuRecord)));
  a(add(1, 1, sizeof(QemuRecord)));
  a(adr(2, a.here(), kVariables));
  a(store(3, 2, 0));
  a(store(1, 2, 8));
  a(branch(a.here(), next));
  return a.words;
}

/// Appends a segment, in pages of its own.
void add_segment(test::ElfFile& file, uint32_t flags, uint64_t address, const void* bytes, size_t size) {
  file.contents.resize((file.contents.size() + kPageBytes - 1) / kPageBytes * kPageBytes);
  const uint64_t offset = test::ElfFile::kContents + file.contents.size();
  const auto* first = static_cast<const uint8_t*>(bytes);
  file.contents.insert(file.contents.end(), first, first + size);
  file.add(PT_LOAD, flags, offset, address, size, size);
}

bool accesses_memory(const Batch& batch, uint32_t lane) {
  const size_t begin = (batch.block_begin[lane] - Layout::code_begin) / 4;
  for (size_t i = begin; i < begin + batch.block_words[lane]; i++) {
    if (is_memory_row(batch.rows[i])) return true;
  }
  return false;
}

}  // namespace

std::vector<size_t> writable_pages() {
  std::vector<size_t> pages;
  for (size_t page = 0; page < Layout::pages.size(); page++) {
    if (Layout::pages[page] & kWrite) pages.push_back(page);
  }
  return pages;
}

size_t QemuProgram::end_index(uint64_t place) const {
  return std::min<uint64_t>((place - kCells) / kEndStride, ends.size());
}

QemuProgram make_qemu_program(const Batch& batch, std::span<const uint32_t> lanes) {
  QemuProgram program;
  program.output_bytes = lanes.size() * sizeof(QemuRecord);
  for (uint32_t lane : lanes) {
    const bool memory = accesses_memory(batch, lane);
    program.memory_offset.push_back(memory ? program.output_bytes : 0);
    if (memory) program.output_bytes += writable_pages().size() * kPageBytes;
  }
  program.output_bytes = (program.output_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  uint64_t finish = 0;
  const std::vector<uint32_t> run = runner(program.output_bytes, finish);

  // Every HLT becomes a branch to an end of its own, which saves X0 and records which end it is.
  std::vector<uint32_t> code = batch.code, ends;
  for (size_t i = 0; i < code.size(); i++) {
    if (batch.rows[i] != kRow_HLT_EX_exception) continue;
    const uint64_t address = Layout::code_begin + 4 * i, end = kEnds + kEndStride * program.ends.size();
    program.ends.push_back(address);
    code[i] = branch(address, end);
    ends.push_back(write(Register::tpidr, 0));
    ends.push_back(adr(0, end + 4, end + (kCells - kEnds)));
    ends.push_back(branch(end + 8, finish));
    ends.push_back(0);
  }
  std::vector<uint32_t> starts;
  std::vector<QemuRecord> records(lanes.size());
  std::map<uint64_t, uint64_t> start_of;
  for (size_t i = 0; i < lanes.size(); i++) {
    const uint32_t lane = lanes[i];
    auto [start, is_new] = start_of.try_emplace(batch.block_begin[lane], kStarts + 4 * starts.size());
    if (is_new) {
      starts.push_back(load_pair(0, 1, 0, kX));
      starts.push_back(branch(start->second + 4, start->first));
    }
    QemuRecord& record = records[i];
    for (size_t f = 0; f < batch.fields.size(); f++) {
      const uint64_t value = batch.initial[f][lane];
      const unsigned n = static_cast<unsigned>(batch.fields[f]);
      const unsigned low = static_cast<unsigned>(Field::v0_low), high = static_cast<unsigned>(Field::v0_high);
      switch (batch.fields[f]) {
        case Field::sp: record.sp = value; break;
        case Field::nzcv: record.nzcv = value << 28; break;
        case Field::fpcr: record.fpcr = value; break;
        case Field::fpsr: record.fpsr = value; break;
        case Field::pc: record.place = start->second; break;
        case Field::tpidr: break;
        default:
          if (n < 31) record.x[n] = value;
          else if (n >= high) record.v[n - high][1] = value;
          else record.v[n - low][0] = value;
      }
    }
    record.memory = program.memory_offset[i] ? kOutput + program.memory_offset[i] : 0;
  }
  if (program.ends.size() > kMostEnds || starts.size() * 4 > kRecords - kStarts ||
      records.size() * sizeof(QemuRecord) > kOutput - kRecords) {
    throw std::runtime_error("the batch is too large for a program");
  }

  test::ElfFile file;
  const uint64_t variables[] = {kRecords, kOutput, kRecords + records.size() * sizeof(QemuRecord)};
  const std::vector<uint8_t> cells(program.ends.size() * kEndStride);
  add_segment(file, PF_R | PF_X, Layout::code_begin, code.data(), code.size() * 4);
  for (size_t page = 0; page < Layout::pages.size(); page++) {
    if (!Layout::pages[page]) continue;
    const uint32_t flags = PF_R | (Layout::pages[page] & kWrite ? PF_W : 0u);
    add_segment(file, flags, Layout::data_begin + page * kPageBytes, &batch.data[page * kPageBytes], kPageBytes);
  }
  add_segment(file, PF_R, kPristine, batch.data.data(), batch.data.size());
  add_segment(file, PF_R | PF_X, kProgram, run.data(), run.size() * 4);
  add_segment(file, PF_R | PF_W, kVariables, variables, sizeof variables);
  add_segment(file, PF_R | PF_X, kEnds, ends.data(), ends.size() * 4);
  add_segment(file, PF_R | PF_W, kCells, cells.data(), cells.size());
  add_segment(file, PF_R | PF_X, kStarts, starts.data(), starts.size() * 4);
  add_segment(file, PF_R, kRecords, records.data(), records.size() * sizeof(QemuRecord));
  file.header.e_entry = kProgram;
  program.elf = file.bytes();
  return program;
}

}  // namespace myriarm::differential
