// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: regions of translated code. The input is guest code with limits for its regions and what registers hold.
// It is run from several places, with several limits, in regions and step by step; registers, flags, memory, pc, counts and
// stops must be the same to the bit. Regions must also be as their limits say, and be refused for no other reason than
// that there is nothing to translate. Its mutator knows the rows, since few words at random are instructions.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "translate/random_code.h"
#include "translate/region_runner.h"

extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace myriarm;
using namespace myriarm::translate;

constexpr u64 kCodePages = 1, kDataPages = 4,
              kHoles = 2;  // after the code and the data: a page to read, and one without
constexpr u64 kData = kCodePages * kPageSize, kDataBytes = kDataPages * kPageSize;
constexpr size_t kMostWords = 48;
constexpr u8 kNoRegion = 255;

/// What an input begins with; code follows.
struct Header {
  // calls_leave: the lowest bit; the next one: without windows. flags: NZCV; above, the pages of the data that are shared
  u8 instructions, entries, calls_leave, flags;
  u8 regions[4];  // the words at which regions besides the first begin
  struct {
    u16 begin, limit;  // begin: the number of an entry of a region if its first bit is set, else of a word
  } runs[4];
  u8 which[8];  // registers that hold a value
  u64 values[8];
};
static_assert(sizeof(Header) == 96);

void require(bool holds) {
  if (!holds) std::abort();
}

FlatMachine machine_of_pages() {
  FlatMachine machine(kCodePages + kDataPages + kHoles);
  Random random(1);
  for (u64 at = kData; at < machine.size(); at += 8) {
    const u64 value = random.edge(64);
    std::memcpy(machine.at(at), &value, 8);
  }
  for (u64 page = 0; page < kCodePages; page++) machine.protect(page, kPageReadable | kPageExecutable);
  machine.protect(kCodePages + kDataPages, kPageReadable);
  machine.protect(kCodePages + kDataPages + 1, 0);
  const RegisterRoles roles;
  for (u32 i = 0; i < 31; i++) {
    machine.r[i] = roles.addresses >> i & 1 ? kData + random.below(kDataBytes / 16) * 16
                   : roles.offsets >> i & 1 ? random.below(64)
                                            : random.edge(64);
  }
  machine.r[roles.code] = machine.r[30] = 8;
  machine.r[kSlotSP] = kData + kDataBytes / 2;
  for (u32 i = 0; i < 64; i++) machine.v[i] = random.edge(64);
  return machine;
}

void set_register(FlatMachine& machine, u8 which, u64 value) {
  constexpr u8 kIsAddress = 128;
  if (which & kIsAddress) value = kData + value % kDataBytes;
  which &= kIsAddress - 1;
  if (which <= kSlotSP) machine.r[which] = value;
  else if (which < 96) machine.v[which - 32] = value;
  else if (which == 96) machine.system[static_cast<int>(SystemField::fpcr)] = value & kFpcrMask;
  else if (which == 97) machine.system[static_cast<int>(SystemField::fpsr)] = value & kFpsrMask;
}

std::unique_ptr<Translator> new_translator(bool windows) {
  std::string why;
  std::unique_ptr<Translator> translator = make_translator(FlatMachine::slow_paths(windows), nullptr, why);
  if (translator == nullptr) std::fprintf(stderr, "there is no translator: %s\n", why.c_str());
  require(translator != nullptr);
  return translator;
}

Translator& translator(bool windows) {
  static const std::unique_ptr<Translator> made[] = {new_translator(false), new_translator(true)};
  return *made[windows];
}

/// Adds the region of a word, and its entries to `entries`.
void add_region(RegionRunner& runner, const std::vector<u32>& code, u64 entry, const RegionLimits& limits,
                std::vector<u64>& entries) {
  std::string why;
  const FetchWord fetch = [&](u64 pc, u32& word) {
    if (pc % 4 != 0 || pc / 4 >= code.size()) return false;
    word = code[pc / 4];
    return true;
  };
  const Region* region = runner.add(entry, fetch, limits, why);
  if (region == nullptr) {
    const bool is_known = why == "there is no code to read" || why == "its first instruction always stops";
    if (!is_known) std::fprintf(stderr, "no region at %#zx: %s%s\n", size_t{entry}, why.c_str(), listing(code).c_str());
    require(is_known);
    return;
  }
  require(region->entries.at(0) == entry && region->entries.size() <= limits.entries);
  require(region->instructions >= 1 && region->instructions <= limits.instructions);
  require(std::set<u64>(region->entries.begin(), region->entries.end()).size() == region->entries.size());
  for (const u64 at : region->entries) require(at % 4 == 0 && at / 4 < code.size());
  entries.insert(entries.end(), region->entries.begin(), region->entries.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Header header;
  if (size < sizeof header + 4) return 0;
  std::memcpy(&header, data, sizeof header);
  std::vector<u32> code(std::min((size - sizeof header) / 4, kMostWords));
  std::memcpy(code.data(), data + sizeof header, code.size() * 4);

  static const FlatMachine pages = machine_of_pages();
  FlatMachine start = pages;
  std::memcpy(start.at(0), code.data(), code.size() * 4);
  for (size_t i = 0; i < std::size(header.which); i++) set_register(start, header.which[i], header.values[i]);
  start.set_flags(unpack_flags(header.flags & 15));
  for (u32 page = 0; page < kDataPages; page++) {
    if (header.flags >> (4 + page) & 1) start.share(kCodePages + page);
  }

  const RegionLimits limits = {header.instructions + 1u, header.entries % 32 + 1u, (header.calls_leave & 1) != 0};
  RegionRunner runner(translator((header.calls_leave & 2) == 0));
  std::vector<u64> entries;
  add_region(runner, code, 0, limits, entries);
  for (const u8 word : header.regions) {
    if (word != kNoRegion) add_region(runner, code, word % code.size() * 4, limits, entries);
  }
  for (const auto& [begin, limit] : header.runs) {
    FlatMachine stepped = start;
    stepped.pc = begin & 1 && !entries.empty() ? entries[begin / 2 % entries.size()] : begin / 2 % code.size() * 4;
    FlatMachine run = stepped;
    const u64 most = limit % 1024;
    while (stepped.retired < most && stepped.step()) {
    }
    runner.run(run, most);
    const bool same = run.retired <= most && run.same_as(stepped);
    if (!same) std::fprintf(stderr, "%s%s\n", describe(stepped, run).c_str(), listing(code).c_str());
    require(same);
  }
  return 0;
}

/// Changes one word, mostly into an instruction of some row, or leaves it to libFuzzer what to change.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<u16> rows = generatable_rows();
  static const BlockGenerator generator(rows);
  Random random(seed);
  const size_t most = std::min(max_size, sizeof(Header) + kMostWords * 4);
  if (size < sizeof(Header) || most < sizeof(Header) + 4 || random.one_in(4)) {
    return LLVMFuzzerMutate(data, std::min(size, most), most);
  }
  if (random.one_in(6)) {
    LLVMFuzzerMutate(data, sizeof(Header), sizeof(Header));
    return size;
  }
  size_t words = std::min((size - sizeof(Header)) / 4, (most - sizeof(Header)) / 4);
  if (words == 0 || (random.one_in(3) && sizeof(Header) + (words + 1) * 4 <= most)) words++;
  const u64 at = random.below(words);
  BlockOptions options;
  options.length = static_cast<u32>(words);
  u32 word = generator.instruction(random, options, rows[random.below(rows.size())], static_cast<u32>(at));
  if (random.one_in(5)) {  // a conditional branch to anywhere in the code
    const u64 offset = (random.below(words) - at) & 0x7FFFF;
    word = (random.one_in(2) ? 0x54000000u | static_cast<u32>(random.below(16))
                             : 0xB5000000u | static_cast<u32>(random.below(32))) |
           static_cast<u32>(offset) << 5;
  }
  std::memcpy(data + sizeof(Header) + at * 4, &word, 4);
  return sizeof(Header) + words * 4;
}
