// SPDX-License-Identifier: Apache-2.0
// Compares the decoder and the disassembler with binutils, over a sweep of the encoding space: every word that binutils
// accepts for Armv8.2-A has a row, every other word is undefined, and both print the same text. divergences.inc lists
// intended differences, and each entry must be needed.
// MYRIARM_SWEEP_SCALE=N multiplies the random parts by N and adds low-bit patterns to the exhaustive part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "binutils.h"
#include "isa/decoder.h"
#include "isa/row_info.h"
#include "myriarm/isa.h"

namespace myriarm::test {
namespace {

enum class Direction { accepted, refused, text };

struct Divergence {
  unsigned since;  // applies to binutils 2.since and later
  uint32_t mask, value;
  Direction direction;
  const char* reason;
};
constexpr Divergence kDivergences[] = {
    {0, 0, 1, Direction::text, "ends the list"},
#define DIVERGENCE(mask, value, direction, reason) {0, mask, value, Direction::direction, reason},
#define SINCE(minor, mask, value, direction, reason) {minor, mask, value, Direction::direction, reason},
#define UNASKED(minor, mask, value, example, reason)
#include "divergences.inc"
#undef DIVERGENCE
#undef SINCE
#undef UNASKED
};

unsigned version() {
  static const unsigned minor = binutils_minor();
  return minor;
}

/// Whether this version of objdump aborts on the word.
bool is_unasked(uint32_t word) {
#define DIVERGENCE(mask, value, direction, reason)
#define SINCE(minor, mask, value, direction, reason)
#define UNASKED(minor, mask, value, example, reason) \
  if (version() == (minor) && (word & (mask)) == (value)) return true;
#include "divergences.inc"
#undef DIVERGENCE
#undef SINCE
#undef UNASKED
  return false;
}

uint32_t scale() {
  const char* text = std::getenv("MYRIARM_SWEEP_SCALE");
  return text == nullptr ? 1 : static_cast<uint32_t>(std::max(1, std::atoi(text)));
}

/// Whether the word is an instruction that myriarm will never implement. The table knows it, but does not decode it.
bool is_undefined_row(uint32_t word) {
  static const std::vector<RowPattern> patterns = [] {
    std::vector<RowPattern> found;
    for (const RowInfo& row : kRowInfos) {
      if (row.status == RowStatus::undefined && !row.bits.empty()) {
        found.push_back({fixed_mask(row.bits.data()), fixed_value(row.bits.data()), Form::none});
      }
    }
    return found;
  }();
  return std::any_of(patterns.begin(), patterns.end(),
                     [word](const RowPattern& p) { return (word & p.mask) == p.value; });
}

/// The generic name of a system register, as in S3_3_C13_C0_2.
std::string generic_system_register(uint32_t word) {
  auto bits = [word](int low, int width) { return std::to_string((word >> low) & ((1u << width) - 1)); };
  std::string name(1, 's');  // not "s" + ...: GCC 12 warns about that
  return name + bits(19, 2) + "_" + bits(16, 3) + "_c" + bits(12, 4) + "_c" + bits(8, 4) + "_" + bits(5, 3);
}

/// The text that the disassembler must print. It may print a system register's number instead of its name.
std::string expected_text(uint32_t word, const std::string& theirs, const std::string& ours) {
  std::string generic = generic_system_register(word);
  if ((word & 0xFFD00000) != 0xD5100000 || ours.find(generic) == std::string::npos) return theirs;
  bool is_read = (word >> 21 & 1) != 0;
  if (is_read) return theirs.substr(0, theirs.find(',') + 2) + generic;
  return "msr " + generic + theirs.substr(theirs.find(','));
}

/// Compares batches of words and groups the differences, so that one mistake is one line of the report.
class Sweep {
 public:
  void add(uint32_t word) {
    if (is_unasked(word)) {
      EXPECT_EQ(decode(decode_table(), word).row, kRowUndefined) << "objdump is not asked about a word that has a row";
      return;
    }
    words_.push_back(word);
    if (words_.size() == kBatch) flush();
  }

  void finish() {
    flush();
    std::string report;
    for (const auto& [what, group] : differences_) {
      report += what + ": " + std::to_string(group.count) + " words, " + group.pattern() + group.examples + "\n";
    }
    EXPECT_TRUE(differences_.empty()) << report;
    std::printf("%" PRIu64 " words, %" PRIu64 " of them instructions, %zu kinds of difference\n", total_, instructions_,
                differences_.size());
  }

 private:
  static constexpr size_t kBatch = 1 << 20;

  void flush() {
    if (words_.empty()) return;
    std::vector<Verdict> verdicts = ask_binutils(words_);
    const DecodeTable& table = decode_table();
    for (size_t i = 0; i < words_.size(); i++) {
      compare(words_[i], i * 4, verdicts[i], decode(table, words_[i]).row);
    }
    total_ += words_.size();
    words_.clear();
  }

  void compare(uint32_t word, uint64_t pc, const Verdict& theirs, u16 row) {
    bool ours = row != kRowUndefined || is_undefined_row(word);
    std::string row_name(row == kRowUndefined ? "an undefined row" : kRowInfos[row].name);
    if (ours && !theirs.in_scope) {
      differ(word, Direction::accepted, row_name + " is not an instruction to binutils",
             theirs.text + " " + theirs.complaint);
    } else if (!ours && theirs.in_scope) {
      differ(word, Direction::refused, "no row for " + theirs.text.substr(0, theirs.text.find(' ')), theirs.text);
    } else if (row != kRowUndefined) {
      instructions_++;
      std::string text = disassemble(word, pc);
      std::string expected = expected_text(word, theirs.text, text);
      if (text != expected)
        differ(word, Direction::text, row_name + " is printed differently", text + " | " + expected);
    }
  }

  void differ(uint32_t word, Direction direction, const std::string& what, const std::string& example) {
    for (size_t i = 0; i < std::size(kDivergences); i++) {
      const Divergence& known = kDivergences[i];
      if (known.since <= version() && known.direction == direction && (word & known.mask) == known.value) {
        hits()[i]++;
        return;
      }
    }
    Group& group = differences_[what];
    group.count++;
    group.ones &= word;
    group.zeros &= ~word;
    if (group.count > 4) return;
    char hex[16];
    std::snprintf(hex, sizeof hex, "%08x ", word);
    group.examples += "\n    " + (hex + example);
  }

  struct Group {
    uint64_t count = 0;
    uint32_t ones = ~0u, zeros = ~0u;  // bits that are set, or clear, in all words of the group
    std::string examples;

    std::string pattern() const {
      std::string text;
      for (int bit = 31; bit >= 0; bit--) text += (ones >> bit & 1) != 0 ? '1' : (zeros >> bit & 1) != 0 ? '0' : '.';
      return text;
    }
  };
  std::vector<uint32_t> words_;
  std::map<std::string, Group> differences_;
  uint64_t total_ = 0, instructions_ = 0;

 public:
  /// How often each divergence applied, over all sweeps of this process.
  static std::vector<uint64_t>& hits() {
    static std::vector<uint64_t> counts(std::size(kDivergences));
    return counts;
  }
};

/// Sweeps words of every row, and the same words with one fixed bit flipped.
void sweep_rows(Sweep& sweep) {
  std::mt19937 random(1);
  for (const RowInfo& row : kRowInfos) {
    if (row.bits.empty()) continue;
    uint32_t mask = fixed_mask(row.bits.data()), value = fixed_value(row.bits.data());
    for (uint32_t i = 0; i < 64 * scale(); i++) sweep.add(value | (static_cast<uint32_t>(random()) & ~mask));
    for (uint32_t bit = 0; bit < 32; bit++) {
      if ((mask >> bit & 1) == 0) continue;
      for (uint32_t i = 0; i < 8 * scale(); i++) {
        sweep.add((value | (static_cast<uint32_t>(random()) & ~mask)) ^ 1u << bit);
      }
    }
  }
}

void sweep_random(Sweep& sweep) {
  std::mt19937 random(2);
  for (uint32_t i = 0; i < (1u << 21) * scale(); i++) sweep.add(static_cast<uint32_t>(random()));
}

/// Sweeps all values of bits 31:10, each with interesting low bits: SP or the zero register, other registers, random.
void sweep_opcodes(Sweep& sweep) {
  std::mt19937 random(3);
  std::vector<uint32_t> patterns = {0x3ff};
  for (uint32_t i = 0; i < scale(); i++) patterns.push_back(~0u);
  for (uint32_t pattern : patterns) {
    for (uint32_t high = 0; high < 1u << 22; high++) {
      sweep.add(high << 10 | (pattern == ~0u ? static_cast<uint32_t>(random()) & 0x3ff : pattern));
    }
  }
}

/// Sweeps the branch, exception and system space, where bits 20:0 are opcode: all words of MSR, MRS, SYS and hints with
/// Rt 31 and 0, and all words near SVC, BRK and RET.
void sweep_system(Sweep& sweep) {
  for (uint32_t op = 0; op < 1u << 17; op++) {
    sweep.add(0xD5000000 | op << 5 | 31);
    sweep.add(0xD5200000 | op << 5 | 31);
    sweep.add(0xD5000000 | op << 5);
  }
  std::mt19937 random(4);
  for (uint32_t i = 0; i < 1u << 18; i++) sweep.add(0xD4000000 | (static_cast<uint32_t>(random()) & 0x03FFFFFF));
  for (uint32_t low = 0; low < 1u << 16; low++) {
    for (uint32_t opc = 0; opc < 16; opc++) sweep.add(0xD61F0000 | opc << 21 | low);
  }
}

TEST(DecodeSweep, EveryWordAgreesWithBinutilsOrIsAListedDivergence) {
  Sweep sweep;
  sweep_rows(sweep);
  sweep_random(sweep);
  sweep_opcodes(sweep);
  sweep_system(sweep);
  sweep.finish();
  for (size_t i = 1; i < std::size(kDivergences); i++) {
    if (kDivergences[i].since > version()) continue;
    EXPECT_GT(Sweep::hits()[i], 0u) << "divergences.inc has an entry that is not needed: " << kDivergences[i].reason;
  }
#define DIVERGENCE(mask, value, direction, reason)
#define SINCE(minor, mask, value, direction, reason)
#define UNASKED(minor, mask, value, example, reason)                                    \
  if (version() == (minor)) {                                                           \
    EXPECT_THROW(ask_binutils({example}), std::runtime_error) << "not needed: " reason; \
  }
#include "divergences.inc"
#undef DIVERGENCE
#undef SINCE
#undef UNASKED
}

}  // namespace
}  // namespace myriarm::test
