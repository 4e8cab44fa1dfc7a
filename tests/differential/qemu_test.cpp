// SPDX-License-Identifier: Apache-2.0
// Runs random instructions and random straight-line blocks on myriarm and in QEMU's user mode: registers, flags and
// memory must be the same. Most are floating point, AdvSIMD and cryptography, in every mode of FPCR. QEMU does not get
// cases that fault, and the test makes no branches, exclusives and system instructions: the test with Unicorn has
// those.
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "isa/decoder.h"
#include "oracle_options.h"
#include "qemu_engine.h"

namespace myriarm::differential {
namespace {

constexpr int kSkipped = 77;

struct Options : OracleOptions {
  std::string qemu = "qemu-aarch64";
};

constexpr const char* kUsage =
    "qemu_test [--instructions N] [--seed N] [--device cpu|cuda|cuda:N] [--qemu PROGRAM] [--row NAME] [--batch N]\n"
    "          [--case N] [--keep-going]\n"
    "Compares N random instructions of floating point, AdvSIMD and cryptography, and others between them, with\n"
    "qemu-aarch64. --row selects rows of the table by a part of their name, --batch and --case repeat one of them,\n"
    "--keep-going counts the differences of each row.\n";

/// Rows that do not leave a block and do not depend on its code or its address.
std::vector<u16> rows_for_qemu() {
  std::vector<u16> rows;
  for (u16 row : generatable_rows()) {
    const RowInfo& info = kRowInfos[row];
    bool is_in = info.family == RowFamily::data_processing ? info.group != "pcreladdr"
                 : info.family == RowFamily::load_store
                     ? info.group == "memop" || info.group == "comswap" || info.group == "comswappr"
                     : info.family != RowFamily::branch_system && info.group != "loadlit_fp";
    if (is_in) rows.push_back(row);
  }
  return rows;
}

BatchOptions batch_options(const Options& options, uint64_t batch, const std::map<u16, uint64_t>& fpcr_off) {
  BatchOptions b;
  b.seed = batch_seed(options.seed, batch);
  b.lanes = 4096;
  b.inputs_per_block = 8;
  b.length = batch % 2 == 0 ? 1 : 0;
  b.memory_in_100 = 10;
  b.vectors = true;
  b.code_is_data = false;
  b.moves_fpcr = true;
  b.fpcr_off = fpcr_off;
  return b;
}

/// Cases that ended at a HLT in myriarm.
std::vector<uint32_t> comparable(const BatchResult& result, std::optional<uint32_t> only = {}) {
  std::vector<uint32_t> lanes;
  for (uint32_t lane = 0; lane < result.stops.size(); lane++) {
    if (result.stops[lane].reason == StopReason::halt && only.value_or(lane) == lane) lanes.push_back(lane);
  }
  return lanes;
}

/// Whether case i of QEMU's last run and the lane of myriarm have the same registers and memory.
bool agrees(const QemuEngine& qemu, const Batch& batch, size_t i, const BatchResult& result, uint32_t lane) {
  const State ours = result.state(lane, false);
  const std::optional<State> theirs = qemu.state(batch, i, ours, false);
  return theirs && same_state(ours, *theirs) && qemu.memory_agrees(batch, i, &result.memory[lane * Layout::data_bytes]);
}

/// The lanes of a run that differ from QEMU.
std::vector<uint32_t> differences(const QemuEngine& qemu, const Batch& batch, const std::vector<uint32_t>& lanes,
                                  const BatchResult& result) {
  std::vector<uint32_t> found;
  for (size_t i = 0; i < lanes.size(); i++) {
    if (!agrees(qemu, batch, i, result, lanes[i])) found.push_back(lanes[i]);
  }
  return found;
}

/// Whether one of 2,048 random cases of the row alone differs.
bool differs_alone(QemuEngine& qemu, u16 row) {
  BatchOptions options;
  options.inputs_per_block = 1;
  options.length = 1;
  options.vectors = true;
  options.code_is_data = false;
  const Batch batch = make_batch(BlockGenerator({&row, 1}), options);
  const BatchResult result = run_on(batch, "cpu", 0, options.lanes, options.limit);
  const std::vector<uint32_t> lanes = comparable(result);
  qemu.run(batch, lanes);
  return !differences(qemu, batch, lanes, result).empty();
}

/// Tests the comparison itself: it must find one changed bit of a register or of memory, and nothing else.
bool finds_a_difference(QemuEngine& qemu) {
  const u16 rows[] = {kRow_AND_asimdsame_only, kRow_STUR_Q_ldst_unscaled};
  BatchOptions options;
  options.lanes = 100;
  options.inputs_per_block = 1;
  options.length = 2;
  options.vectors = true;
  options.code_is_data = false;
  const Batch batch = make_batch(BlockGenerator(rows), options);
  BatchResult result = run_on(batch, "cpu", 0, options.lanes, options.limit);
  const std::vector<uint32_t> lanes = comparable(result);
  if (lanes.size() < 20) return false;
  qemu.run(batch, lanes);
  if (!differences(qemu, batch, lanes, result).empty()) return false;
  for (size_t i = 0; i < batch.fields.size(); i++) {
    if (batch.fields[i] == Field::tpidr) continue;  // not kept by QemuEngine
    const uint32_t lane = lanes[i % lanes.size()];
    result.values[i][lane] ^= 1;
    if (differences(qemu, batch, lanes, result) != std::vector{lane}) return false;
    result.values[i][lane] ^= 1;
  }
  for (size_t i = 0; i < lanes.size(); i++) {
    uint8_t& byte = result.memory[lanes[i] * Layout::data_bytes + i * 997 % Layout::data_bytes];
    byte ^= 0x80;
    if (differences(qemu, batch, lanes, result) != std::vector{lanes[i]}) return false;
    byte ^= 0x80;
  }
  return true;
}

/// Finds the first instruction after which the case differs, and prints listing, states and how to repeat it.
void tell(QemuEngine& qemu, const Batch& batch, uint32_t lane, const std::string& device,
          const std::string& reproduce) {
  std::printf("\nDIFFERENT: case %u of batch seed %llu\n", lane, static_cast<unsigned long long>(batch.options.seed));
  const size_t begin = (batch.block_begin[lane] - Layout::code_begin) / 4;
  const uint32_t lanes[] = {lane};
  State before = run_on(batch, device, lane, 1, 0).state(0);
  for (uint32_t count = 1; count < batch.block_words[lane]; count++) {
    Batch cut = batch;
    cut.code[begin + count] = halt_instruction(0);
    cut.rows[begin + count] = kRow_HLT_EX_exception;
    const State ours = run_on(batch, device, lane, 1, count).state(0);
    qemu.run(cut, lanes);
    const std::optional<State> theirs = qemu.state(cut, 0, ours);
    if (theirs && same_state(ours, *theirs)) {
      before = ours;
      continue;
    }
    print_listing(batch, lane, batch.block_begin[lane] + 4 * (count - 1));
    if (!theirs) std::printf("QEMU was %s\n", qemu.failure().c_str());
    print_states(batch, before, ours, "myriarm", theirs.value_or(before), "QEMU");
    break;
  }
  std::printf("reproduce: %s\n", reproduce.c_str());
  std::fflush(stdout);
}

int run(const Options& options) {
  QemuEngine qemu(options.qemu);
  const std::optional<OracleVersion> version = qemu.version();
  if (!version) {
    std::printf("Skipped: nothing was compared with QEMU, because %s does not start: install qemu-user\n",
                options.qemu.c_str());
    return kSkipped;
  }
  if (!finds_a_difference(qemu)) {
    std::printf("The comparison does not find one changed bit of a register or of memory: it cannot be trusted\n");
    return 1;
  }
  const std::vector<u16> all = rows_for_qemu();
  const Exclusions exclusions = qemu_exclusions(*version);
  const auto [rows, block_rows, fpcr_off] = compared_rows(exclusions, all, options.row);
  if (rows.empty()) {
    std::fprintf(stderr, "qemu_test: no row that is compared with QEMU has \"%s\" in its name; see `myriarm isa`\n",
                 options.row.c_str());
    return 2;
  }
  int wrong = 0;
  if (options.row.empty() && !options.batch) {
    wrong = check_exclusions(exclusions, "exclusions_qemu.inc", "QEMU", all,
                             [&](u16 row) { return differs_alone(qemu, row); });
  }

  const BlockGenerator singles(rows), blocks(block_rows);
  const bool any_vector = std::any_of(rows.begin(), rows.end(), is_vector_row);
  VectorCount vectors;
  uint64_t instructions = 0, cases = 0, different = 0;
  BatchResult result;
  std::map<std::string_view, uint64_t> differing_rows;
  std::vector<uint64_t> executed(kRowCount);
  for (uint64_t n = options.batch.value_or(0);
       (any_vector ? vectors.instructions() : instructions) < options.instructions; n++) {
    const Batch batch = make_batch(n % 2 == 0 ? singles : blocks, batch_options(options, n, fpcr_off));
    result = run_on(batch, options.device, 0, batch.options.lanes, batch.options.limit, std::move(result));
    const std::vector<uint32_t> lanes = comparable(result, options.lane);
    if (lanes.empty()) throw std::runtime_error("a batch has no case that ends at a HLT in myriarm");
    qemu.run(batch, lanes);
    for (size_t i = 0; i < lanes.size(); i++) {
      const uint32_t lane = lanes[i];
      instructions += result.instructions[lane];
      cases++;
      vectors.add(batch, lane, result.instructions[lane]);
      const u16 first_row = batch.rows[(batch.block_begin[lane] - Layout::code_begin) / 4];
      executed[first_row]++;
      if (agrees(qemu, batch, i, result, lane)) continue;
      different++;
      if (batch.options.length == 1) differing_rows[kRowInfos[first_row].name]++;
      if (options.keep_going || different > options.failures) continue;
      tell(qemu, batch, lane, options.device, reproduce(options, "qemu_test", " --qemu " + options.qemu, n, lane));
      qemu.run(batch, lanes);
    }
    if (options.batch || (different > options.failures && !options.keep_going)) break;
  }

  uint64_t untried = 0;
  for (u16 row : rows) untried += executed[row] == 0;
  std::printf("%llu instructions in %llu cases of %zu rows (%zu exclusions), QEMU %u.%u.%u: %llu cases differ\n",
              static_cast<unsigned long long>(instructions), static_cast<unsigned long long>(cases), rows.size(),
              exclusions.size(), version->major, version->minor, version->micro,
              static_cast<unsigned long long>(different));
  std::printf("seed %llu; rows that began no case: %llu\n", static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(untried));
  std::printf("%llu of the instructions are of floating point, AdvSIMD or cryptography, in %u of 64 modes of FPCR\n",
              static_cast<unsigned long long>(vectors.instructions()), vectors.modes());
  for (auto [row, count] : differing_rows) {
    std::printf("differs alone: %s %llu times\n", std::string(row).c_str(), static_cast<unsigned long long>(count));
  }
  if (!options.batch && options.row.empty() &&
      (vectors.instructions() < options.instructions || vectors.modes() != 64)) {
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
      argc, argv, "qemu_test", kUsage, options,
      [&](std::string_view name, const char* value) {
        if (name != "--qemu") return false;
        options.qemu = value;
        return true;
      },
      [&] { return run(options); });
}
