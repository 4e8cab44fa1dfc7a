// SPDX-License-Identifier: Apache-2.0
// Runs random instructions and random blocks on myriarm and on Unicorn: registers, flags, memory, counts and stops must
// be the same. Batches alternate between single instructions and blocks.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>

#include "compare.h"
#include "isa/decoder.h"
#include "oracle_options.h"

namespace myriarm::differential {
namespace {

struct Options : OracleOptions {
  uint64_t vectors = 0;
};

constexpr const char* kUsage =
    "unicorn_test [--instructions N] [--vectors N] [--seed N] [--device cpu|cuda|cuda:N] [--row NAME] [--batch N]\n"
    "             [--case N] [--keep-going]\n"
    "Compares N random instructions with Unicorn, and goes on until N of them are of floating point, AdvSIMD or\n"
    "cryptography. --row selects rows of the table by a part of their name, --batch and --case repeat one of them,\n"
    "--keep-going counts the differences of each row.\n";

BatchOptions batch_options(const Options& options, uint64_t batch, const std::map<u16, uint64_t>& fpcr_off) {
  BatchOptions b;
  b.seed = batch_seed(options.seed, batch);
  b.length = batch % 2 == 0 ? 1 : 0;
  b.memory_in_100 = batch % 4 == 3 ? 10 : 40;  // an access often ends a block
  b.vectors = true;
  b.fpcr_off = fpcr_off;
  return b;
}

/// Whether one of 2,048 random cases of the row alone differs.
bool differs_alone(UnicornEngine& unicorn, u16 row) {
  BatchOptions options;
  options.lanes = 2048;
  options.inputs_per_block = 1;
  options.length = 1;
  options.vectors = true;
  const Batch batch = make_batch(BlockGenerator({&row, 1}), options);
  unicorn.load(batch);
  const BatchResult result = run_on(batch, "cpu", 0, options.lanes, options.limit);
  for (uint32_t lane = 0; lane < options.lanes; lane++) {
    if (compare(unicorn, batch, lane, result.state(lane)) == Verdict::different) return true;
  }
  return false;
}

int run(const Options& options) {
  const std::vector<u16> all = generatable_rows();
  OracleVersion version;
  uc_version(&version.major, &version.minor);
  const Exclusions exclusions = unicorn_exclusions(version);
  const auto [rows, block_rows, fpcr_off] = compared_rows(exclusions, all, options.row);
  if (rows.empty()) {
    std::fprintf(stderr, "unicorn_test: no implemented row of the table has \"%s\" in its name; see `myriarm isa`\n",
                 options.row.c_str());
    return 2;
  }
  UnicornEngine unicorn(true);
  int wrong = 0;
  if (options.row.empty() && !options.batch) {
    wrong = check_exclusions(exclusions, "exclusions.inc", "Unicorn", all,
                             [&](u16 row) { return differs_alone(unicorn, row); });
  }

  // Blocks may branch into each other, so a row that needs bits of FPCR to be 0 is only in single instructions.
  const BlockGenerator singles(rows), blocks(block_rows);
  const uint64_t vectors_asked = std::any_of(rows.begin(), rows.end(), is_vector_row) ? options.vectors : 0;
  VectorCount vectors;
  uint64_t instructions = 0, cases = 0, different = 0, not_comparable = 0;
  std::map<StopReason, uint64_t> stops;
  BatchResult result;
  std::map<std::string_view, uint64_t> differing_rows;
  std::vector<uint64_t> executed(kRowCount);
  for (uint64_t n = options.batch.value_or(0);
       instructions < options.instructions || vectors.instructions() < vectors_asked; n++) {
    const BlockGenerator& generator = n % 2 == 0 ? singles : blocks;
    const Batch batch = make_batch(generator, batch_options(options, n, fpcr_off));
    unicorn.load(batch);
    result = run_on(batch, options.device, 0, batch.options.lanes, batch.options.limit, std::move(result));
    for (uint32_t lane = 0; lane < batch.options.lanes; lane++) {
      if (options.lane && *options.lane != lane) continue;
      const State ours = result.state(lane);
      instructions += ours.instructions;
      cases++;
      stops[ours.stop.reason]++;
      uint32_t first_word = batch.code[(batch.block_begin[lane] - Layout::code_begin) / 4 + generator.has_exclusives()];
      u16 first_row = decode(decode_table(), first_word).row;
      vectors.add(batch, lane, ours.instructions);
      executed[first_row]++;
      const Verdict verdict = compare(unicorn, batch, lane, ours);
      not_comparable += verdict == Verdict::not_comparable;
      if (verdict != Verdict::different) continue;
      different++;
      if (batch.options.length == 1) differing_rows[kRowInfos[first_row].name]++;
      if (options.keep_going || different > options.failures) continue;
      tell(unicorn, batch, lane, options.device, reproduce(options, "unicorn_test", "", n, lane));
    }
    if (options.batch || (different > options.failures && !options.keep_going)) break;
  }

  uint64_t untried = 0;
  for (u16 row : rows) untried += executed[row] == 0;
  std::printf("%llu instructions in %llu cases of %zu rows (%zu exclusions): %llu cases differ\n",
              static_cast<unsigned long long>(instructions), static_cast<unsigned long long>(cases), rows.size(),
              exclusions.size(), static_cast<unsigned long long>(different));
  std::printf(
      "seed %llu; %llu cases cannot be compared (mostly because of an address with a top byte); "
      "rows that began no case: %llu\nstops:",
      static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(not_comparable),
      static_cast<unsigned long long>(untried));
  for (auto [reason, count] : stops) std::printf(" %s %llu", name(reason), static_cast<unsigned long long>(count));
  std::printf("\n%llu of the instructions are of floating point, AdvSIMD or cryptography, in %u of 64 modes of FPCR\n",
              static_cast<unsigned long long>(vectors.instructions()), vectors.modes());
  for (auto [row, count] : differing_rows) {
    std::printf("differs alone: %s %llu times\n", std::string(row).c_str(), static_cast<unsigned long long>(count));
  }
  if (!options.batch && not_comparable * 20 > cases) {
    std::printf("more than one case in twenty cannot be compared: the generator makes too many tagged addresses\n");
    wrong++;
  }
  if (options.vectors && !options.batch && options.row.empty() &&
      (vectors.instructions() < options.vectors || vectors.modes() != 64)) {
    std::printf("fewer vector instructions than asked for, or not all modes\n");
    wrong++;
  }
  return wrong || different ? 1 : 0;
}

}  // namespace
}  // namespace myriarm::differential

int main(int argc, char** argv) {
  using namespace myriarm::differential;
  Options options;
  return oracle_main(
      argc, argv, "unicorn_test", kUsage, options,
      [&](std::string_view name, const char* value) {
        if (name != "--vectors") return false;
        options.vectors = std::strtoull(value, nullptr, 0);
        return true;
      },
      [&] { return run(options); });
}
