// SPDX-License-Identifier: Apache-2.0
// Random programs for engines that translate.
#include "generate/programs.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "engines/guest_words.h"
#include "generate/processes.h"
#include "isa/decoder.h"

namespace myriarm {
namespace {

using Layout = WanderingLayout;

constexpr u32 kFunctions = 12, kWords = 64, kPatches = 8, kPatchWords = 7;  // of a patch, before its RET
// Registers that random instructions leave alone: see RegisterRoles.
constexpr u32 kTurn = 24;   // counts up, chooses from tables
constexpr u32 kDepth = 25;  // how deep calls may still go
constexpr u32 kTables = 28;
constexpr u32 kLink = 30;
constexpr u32 kDeepest = 400;
// What lies in the tables, by offset: 8 bytes for a function, 4 for an instruction.
constexpr u64 kFunctionTable = 0, kFunctionPlaces = 16, kBlockTable = kFunctionPlaces * 8, kBlockTableRoom = 8 * 8;
constexpr u64 kWordTable = 0x800;
static_assert(kBlockTable + kFunctions * kBlockTableRoom <= kWordTable &&
              kWordTable + kWords * 4 <= Layout::tables_bytes);

constexpr u32 kScratch = 9, kScratch2 = 10;  // lost where the program itself needs registers

/// LDR Xt, [Xn, Xm, LSL #3], and LDR Wt, [Xn, Xm, LSL #2].
u32 ldr_scaled(u32 t, u32 n, u32 m) { return 0xF8607800 | m << 16 | n << 5 | t; }
u32 ldr_word_scaled(u32 t, u32 n, u32 m) { return 0xB8607800 | m << 16 | n << 5 | t; }
/// AND Xd, Xn, #2^bits - 1.
u32 and_low_bits(u32 d, u32 n, u32 bits) { return 0x92400000 | (bits - 1) << 10 | n << 5 | d; }
u32 cset(u32 d, u32 condition) { return 0x9A9F07E0 | (condition ^ 1) << 12 | d; }
u32 adcs(u32 d, u32 n, u32 m) { return 0xBA000000 | m << 16 | n << 5 | d; }
/// ADR Xd, a place `words` behind.
u32 adr(u32 d, i32 words) { return 0x10000000 | guest::distance(words, 19) << 5 | d; }

void load_constant(std::vector<u32>& code, u32 reg, u64 value) {
  const auto part = [&](u32 shift) { return static_cast<u32>(value >> shift) & 0xFFFF; };
  code.push_back(guest::movz(reg, part(0)));
  for (u32 shift : {16u, 32u, 48u}) {
    if (part(shift) != 0) code.push_back(guest::movk(reg, part(shift), shift));
  }
}

/// Rows for the blocks: those of processes, without accesses that write their base back, which SP would not survive.
std::vector<u16> block_rows() {
  std::vector<u16> rows = process_rows();
  std::erase_if(rows, [](u16 row) {
    const std::string_view syntax = kRowInfos[row].syntax;
    return is_memory_row(row) && (syntax.ends_with('!') || syntax.find("], ") != std::string_view::npos);
  });
  return rows;
}

class Writer {
 public:
  Writer(Random& random, bool keeps_code) : random_(random), keeps_code_(keeps_code) {
    constexpr u32 kRarities[] = {2, 5, 7, 7, 20, 20};
    rarity_ = kRarities[random_.below(std::size(kRarities))];
    for (u32& word : words_) word = word_to_write();
  }

  WanderingProgram write() {
    static_assert(kFunctions <= kFunctionPlaces);
    // The main loop: calls functions, from a depth that is new each time.
    made_.start = here();
    load_constant(code_, kTables, Layout::tables);
    load_constant(code_, kDepth, 1 + random_.below(kDeepest));
    const u32 stack_pointer = kScratch;
    load_constant(code_, stack_pointer, Layout::end - 64);
    code_.push_back(guest::add(31, stack_pointer, 0));  // MOV SP, X9
    for (int i = 0; i < 4; i++) calls_.push_back({call_later(), random_.below(kFunctions)});
    code_.push_back(guest::add(kTurn, kTurn, 1));
    code_.push_back(guest::b(-static_cast<i32>(code_.size())));
    for (u32 number = 0; number < kFunctions; number++) write_function(number);
    for (const auto& [at, number] : calls_) {
      code_[at] = guest::bl(static_cast<i32>((made_.starts[number] - Layout::code) / 4) - static_cast<i32>(at));
    }
    return finish();
  }

 private:
  struct LaterCall {
    size_t at;
    u64 number;  // of the function
  };
  u64 here() const { return Layout::code + code_.size() * 4; }
  size_t call_later() {
    code_.push_back(0);
    return code_.size() - 1;
  }

  /// An instruction without branches, accesses and roles: what the program writes into its code.
  u32 word_to_write() {
    if (random_.one_in(12)) return guest::ret();
    if (random_.one_in(12)) return guest::b(1 + static_cast<i32>(random_.below(2)));
    BlockOptions options;
    options.length = 2;  // the first is CLREX
    options.branches_in_100 = options.memory_in_100 = 0;
    options.steady = true;
    for (;;) {
      std::vector<u32> code;
      generator().append(random_, options, code);
      const u32 word = code.size() > 1 ? code[code.size() - 2] : 0;
      if (word != 0 && is_tame(word)) return word;
    }
  }
  static const BlockGenerator& generator() {
    static const BlockGenerator made(block_rows());
    return made;
  }
  /// Whether it leaves the link and SP alone.
  static bool is_tame(u32 word) {
    const Operands o = decode(decode_table(), word);
    return o.rd != kLink && o.rd != kSlotSP && !is_branch_row(o.row);
  }

  /// Flags are set before whatever follows.
  void set_flags() {
    const u32 n = static_cast<u32>(random_.below(8)), m = static_cast<u32>(random_.below(9));
    switch (random_.below(5)) {
      case 0: code_.push_back(guest::cmp(n, static_cast<u32>(random_.below(4096)))); break;
      case 1: code_.push_back(0xEB00001F | m << 16 | n << 5); break;             // CMP Xn, Xm
      case 2: code_.push_back(0x6A00001F | m << 16 | n << 5); break;             // TST Wn, Wm
      case 3: code_.push_back(0x1E602000 | m << 16 | n << 5); break;             // FCMP Dn, Dm
      default: code_.push_back(0xAB000000 | m << 16 | n << 5 | (n ^ 1)); break;  // ADDS
    }
  }
  /// They are used behind it.
  void use_flags() {
    const u32 condition = static_cast<u32>(random_.below(14));
    switch (random_.below(3)) {
      case 0: code_.push_back(cset(static_cast<u32>(random_.below(9)), condition)); break;
      case 1: code_.push_back(adcs(1, 2, 3)); break;
      default:
        code_.push_back(guest::b_cond(condition, 2));
        code_.push_back(guest::add(5, 5, 7));
        break;
    }
  }
  void turn() { code_.push_back(guest::add(kTurn, kTurn, 1)); }

  /// Address registers as they are to be: near the data, and now and then where accesses fault.
  void aim() {
    const u32 reg = 16 + static_cast<u32>(random_.below(8));
    u64 address = Layout::data + 256 + (random_.below(Layout::data_bytes - 512) & ~u64{15});
    if (random_.one_in(24)) address = Layout::hole - 64 + 16 * random_.below(8);
    if (random_.one_in(16)) address = Layout::constant + random_.below(kPageBytes);
    if (random_.one_in(40) && rarity_ < 10 && !keeps_code_) address = Layout::written + 4 * random_.below(kPatches * 8);
    load_constant(code_, reg, address);
  }
  void write_block() {
    BlockOptions options;
    options.branches_in_100 = 6;
    options.memory_in_100 = 20;
    options.steady = true;
    options.length = 2 + static_cast<u32>(random_.below(9));
    std::vector<u32> block;
    generator().append(random_, options, block);
    block.pop_back();  // the HLT
    // What SP is, and what is on the stack, must stay; the link is there too.
    for (u32& word : block) {
      const Operands o = decode(decode_table(), word);
      const bool is_memory = is_memory_row(o.row);
      const bool stores_on_stack = is_memory && o.rn == kSlotSP && !kRowInfos[o.row].syntax.starts_with("ldr");
      if (stores_on_stack || (!is_memory && o.rd == kSlotSP)) word = guest::nop();
    }
    code_.insert(code_.end(), block.begin(), block.end());
  }
  /// BR through a table of the function's blocks.
  void branch_through_table(u32 number, std::vector<size_t>& landings) {
    constexpr u32 kWays = 4;
    code_.push_back(and_low_bits(kScratch, kTurn, 2));
    turn();
    load_constant(code_, kScratch2, Layout::tables + kBlockTable + number * kBlockTableRoom + landings.size() * 8);
    code_.push_back(ldr_scaled(kScratch, kScratch2, kScratch));
    set_flags();
    code_.push_back(guest::br(kScratch));
    made_.indirect++;
    for (u32 way = 0; way < kWays; way++) {
      landings.push_back(code_.size());
      use_flags();
      if (random_.one_in(2)) code_.push_back(guest::add(way, way, 1));
    }
  }
  /// A call of another function, if calls may still go deeper; directly or through the table.
  void call() {
    set_flags();
    const size_t at = code_.size();
    code_.push_back(0);  // CBZ to behind
    code_.push_back(guest::sub(kDepth, kDepth, 1));
    if (random_.one_in(2)) {
      code_.push_back(and_low_bits(kScratch, kTurn, 3));
      code_.push_back(ldr_scaled(kScratch, kTables, kScratch));
      code_.push_back(guest::blr(kScratch));
      made_.indirect++;
    } else {
      calls_.push_back({call_later(), random_.below(kFunctions)});
    }
    code_.push_back(guest::add(kDepth, kDepth, 1));
    code_[at] = guest::cbz(kDepth, static_cast<i32>(code_.size() - at));
    use_flags();
  }
  /// What changes code does so in one of 2^rarity_ turns: a lane whose code changes all the time is interpreted.
  template <class Emit>
  void seldom(Emit emit) {
    turn();
    code_.push_back(and_low_bits(kScratch, kTurn, rarity_));
    const size_t at = code_.size();
    code_.push_back(0);  // CBNZ to behind
    emit();
    code_[at] = guest::cbnz(kScratch, static_cast<i32>(code_.size() - at));
  }
  /// Writes an instruction into a patch.
  void write_code(u64 patch) {
    code_.push_back(0xD340FC00 | rarity_ << 16 | kTurn << 5 | kScratch);  // LSR X9, X24, #rarity_
    code_.push_back(and_low_bits(kScratch, kScratch, 6));
    load_constant(code_, kScratch2, Layout::tables + kWordTable);
    code_.push_back(ldr_word_scaled(kScratch, kScratch2, kScratch));
    load_constant(code_, kScratch2, patch + 4 * random_.below(kPatchWords));
    code_.push_back(guest::str(2, kScratch, kScratch2));
  }
  /// Calls a patch, into which the program may have written before.
  void call_patch() {
    const u64 patch = Layout::written + random_.below(kPatches) * (kPatchWords + 1) * 4;
    if (!keeps_code_) seldom([&] { write_code(patch); });
    set_flags();
    load_constant(code_, kScratch2, patch);
    code_.push_back(guest::blr(kScratch2));
    made_.indirect++;
    use_flags();
  }
  /// Calls code that writes the instructions behind its own stores.
  void run_self_writing() {
    load_constant(code_, kScratch2, self_writing());
    code_.push_back(guest::blr(kScratch2));
    made_.indirect++;
  }
  static u64 self_writing() { return Layout::written + kPageBytes; }
  /// mprotect of a page: of data, of the code that is written, now and then with nothing left.
  void protect() {
    const bool of_code = random_.one_in(3) && !keeps_code_;
    const u64 page =
        of_code ? Layout::written + random_.below(2) * kPageBytes : Layout::data + random_.below(4) * kPageBytes;
    constexpr u64 kOfCode[] = {7, 7, 5, 7}, kOfData[] = {3, 3, 1, 3, 3, 0};
    u64 protection = of_code ? kOfCode[random_.below(std::size(kOfCode))] : kOfData[random_.below(std::size(kOfData))];
    if (random_.one_in(40)) protection = random_.below(8);
    if (keeps_code_) protection &= ~u64{kExecute};
    load_constant(code_, 0, page);
    load_constant(code_, 1, kPageBytes);
    load_constant(code_, 2, protection);
    load_constant(code_, 8, 226);
    set_flags();
    code_.push_back(guest::svc(0));
    use_flags();
  }

  void write_function(u32 number) {
    made_.starts.push_back(here());
    code_.push_back(0xF81F0FE0 | kLink);  // STR X30, [SP, #-16]!
    use_flags();
    std::vector<size_t> landings;  // of branches through tables, as indices of code_
    const u64 pieces = 3 + random_.below(5);
    for (u64 piece = 0; piece < pieces; piece++) {
      if (random_.one_in(2)) aim();
      write_block();
      switch (random_.below(9)) {
        case 0:
        case 1: call(); break;
        case 2:
          if (landings.size() <= 4) branch_through_table(number, landings);
          break;
        case 3: call_patch(); break;
        case 4:
          if (random_.one_in(2) && !keeps_code_) seldom([&] { run_self_writing(); });
          break;
        case 5:
          if (random_.one_in(2)) seldom([&] { protect(); });
          break;
        case 6: {  // a loop of a few turns
          load_constant(code_, kScratch2 + 1, 1 + random_.below(20));
          const size_t head = code_.size();
          set_flags();
          use_flags();
          code_.push_back(guest::sub(kScratch2 + 1, kScratch2 + 1, 1));
          code_.push_back(guest::cbnz(kScratch2 + 1, static_cast<i32>(head) - static_cast<i32>(code_.size())));
          break;
        }
        default: break;
      }
    }
    for (size_t i = 0; i < landings.size(); i++) {
      block_addresses_[number][i] = Layout::code + landings[i] * 4;
    }
    set_flags();
    code_.push_back(0xF84107E0 | kLink);  // LDR X30, [SP], #16
    code_.push_back(guest::ret());
    made_.indirect++;
  }

  std::vector<u32> written_code() {
    std::vector<u32> code;
    for (u32 patch = 0; patch < kPatches; patch++) {
      for (u32 i = 0; i < kPatchWords; i++) code.push_back(words_[random_.below(kWords)]);
      code.push_back(guest::ret());
    }
    code.resize(kPageBytes / 4, guest::ret());
    // Writes an instruction a few places ahead of the store, and runs into it.
    for (int i = 0; i < 6; i++) {
      load_constant(code, kScratch2, Layout::tables + kWordTable);
      code.push_back(guest::add(kTurn, kTurn, 1));
      code.push_back(and_low_bits(kScratch, kTurn, 6));
      code.push_back(ldr_word_scaled(kScratch, kScratch2, kScratch));
      const i32 ahead = 2 + static_cast<i32>(random_.below(3));
      code.push_back(adr(kScratch2, ahead));
      code.push_back(guest::str(2, kScratch, kScratch2));
      for (i32 place = 2; place <= 6; place++) code.push_back(guest::add(6, 6, static_cast<u32>(place)));
    }
    code.push_back(guest::ret());
    code.resize(Layout::written_bytes / 4, guest::ret());
    return code;
  }
  static std::vector<u8> bytes_of(const std::vector<u32>& words) {
    std::vector<u8> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }
  std::vector<u8> random_bytes(u64 count) {
    std::vector<u8> bytes(count);
    for (u8& byte : bytes) byte = static_cast<u8>(random_.next());
    return bytes;
  }
  WanderingProgram finish() {
    if (code_.size() * 4 > Layout::code_bytes) throw std::runtime_error("a random program is too long for its layout");
    std::vector<u8> tables(Layout::tables_bytes);
    const auto put = [&](u64 offset, u64 value) { std::memcpy(&tables[offset], &value, 8); };
    for (u32 i = 0; i < kFunctionPlaces; i++) put(kFunctionTable + i * 8, made_.starts[i % kFunctions]);
    for (u32 i = 0; i < kFunctions; i++) {
      for (u32 way = 0; way < kBlockTableRoom / 8; way++)
        put(kBlockTable + i * kBlockTableRoom + way * 8, block_addresses_[i][way]);
    }
    std::memcpy(&tables[kWordTable], words_.data(), kWords * 4);
    made_.instructions = code_.size();
    Program& program = made_.program;
    program.name = "wandering";
    program.entry = made_.start;
    program.stack_pointer = Layout::end - 64;
    program.segments = {
        {Layout::code, Layout::code_bytes, kRead | kExecute, bytes_of(code_)},
        {Layout::written, Layout::written_bytes, kRead | kWrite | kExecute, bytes_of(written_code())},
        {Layout::tables, Layout::tables_bytes, kRead, std::move(tables)},
        {Layout::data, Layout::data_bytes, kRead | kWrite, random_bytes(Layout::data_bytes)},
        {Layout::constant, kPageBytes, kRead, random_bytes(kPageBytes)},
        {Layout::stack, Layout::stack_bytes, kRead | kWrite, {}},
    };
    program.process = ProcessStart{Layout::stack, Layout::stack, Layout::stack_bytes, "/program"};
    return std::move(made_);
  }

  Random& random_;
  const bool keeps_code_;
  WanderingProgram made_;
  u32 rarity_ = 0;
  std::vector<u32> code_;
  std::vector<LaterCall> calls_;
  std::array<u32, kWords> words_ = {};
  std::array<std::array<u64, kBlockTableRoom / 8>, kFunctions> block_addresses_ = {};
};

}  // namespace

WanderingProgram wandering_program(Random& random, bool keeps_code) { return Writer(random, keeps_code).write(); }

u64 first_wandering_value(Random& random, u32 n) {
  const RegisterRoles roles;
  if (n == 31) return Layout::end - 64;
  if (n == kTables) return Layout::tables;
  if (n == kDepth) return random.below(kDeepest);
  if (roles.addresses >> n & 1) return Layout::data + 512 + (random.below(Layout::data_bytes - 1024) & ~u64{15});
  if (roles.offsets >> n & 1) return random.below(24);
  return random.edge(64);
}

}  // namespace myriarm
