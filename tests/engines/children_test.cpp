// SPDX-License-Identifier: Apache-2.0
// Lanes with several processes: children that write to what they share with their parents until then, map memory and files, and have
// children of their own, in lanes that are out of step. Any split of a run gives the state and the counts of one run, on every engine and
// device; snapshots, restores and forks of lanes keep the processes.
#include <numeric>
#include <random>

#include "../root_folder.h"
#include "mode_fixture.h"
#include "myriarm/error.h"
#include "myriarm/file_tree.h"
#include "process_words.h"
#include "silent_host.h"
#include "translated_pieces.h"

namespace fleet_test {
namespace {

// Numbers of Linux on AArch64.
constexpr uint32_t kExitGroupCall = 94, kYieldCall = 124, kCloneCall = 220, kExecveCall = 221, kMmapCall = 222,
                   kWaitCall = 260;
constexpr uint32_t kTruncateCall = 46, kReadCall = 67, kWriteCall = 68,
                   kMemoryFileCall = 279;                                     // ftruncate(), pread64(), pwrite64()
constexpr uint32_t kChildFlags = 17, kSharesMemory = 0x100, kVfork = 0x4000;  // SIGCHLD, CLONE_VM, CLONE_VFORK
constexpr uint32_t kProtReadWrite = 3, kPrivate = 0x22, kShared = 0x21, kSharedFile = 1;
constexpr uint64_t kStatus = kData + 64, kPages = kUnmapped + 8 * kPageBytes;
constexpr uint64_t kPathBytes = kData + 128, kArgument = kData + 192, kArguments = kData + 224;  // of execve()
constexpr uint64_t kTurns = 12;

int32_t size_of(const Words& words) { return static_cast<int32_t>(words.size()); }
Words clone_call(uint32_t flags) {
  return value_of(0, flags) + Words{guest::movz(1, 0), guest::movz(2, 0), guest::movz(3, 0), guest::movz(4, 0)} +
         make_call(kCloneCall);
}
/// Waits for any child; its id and status go into the hash in x27.
Words wait_for_child() {
  return Words{guest::movz(0, 0), guest::sub(0, 0, 1)} + value_of(1, kStatus) +
         Words{guest::movz(2, 0), guest::movz(3, 0)} + make_call(kWaitCall) + value_of(1, kStatus) +
         Words{guest::ldr(2, 2, 1), guest::madd(27, 27, 26, 2), guest::madd(27, 27, 26, 0)};
}
/// Adds x19 to a word of page 0 to 3, by the lower bits of x19, and that to the hash.
Words write_page() {
  return value_of(21, kPages) + Words{guest::tbnz(19, 0, 2), guest::add(21, 21, 8)} + Words{guest::tbnz(19, 1, 4)} +
         value_of(22, kPageBytes) + Words{guest::add_register(21, 21, 22)} +
         Words{guest::ldr(3, 2, 21), guest::madd(2, 2, 26, 19), guest::str(3, 2, 21), guest::madd(27, 27, 26, 2)};
}
Words map_page(uint32_t kind) {
  return Words{guest::movz(0, 0)} + value_of(1, 2 * kPageBytes) + value_of(2, kProtReadWrite) + value_of(3, kind) +
         Words{guest::movz(4, 0), guest::sub(4, 4, 1), guest::movz(5, 0)} + make_call(kMmapCall);
}
Words exit_with_hash() { return Words{guest::add(0, 27, 0)} + make_call(kExitGroupCall) + Words{guest::hlt(9)}; }
/// `child` in the child alone.
Words in_child(const Words& child) { return Words{guest::cbnz(0, size_of(child) + 1)} + child; }

/// x19 turns, each of which makes a child; those of even turns make one themselves. x23: what the lane spins first.
Words family() {
  const Words spin = {guest::sub(23, 23, 1), guest::cbnz(23, -1)};
  const Words grandchild = write_page() + exit_with_hash();
  const Words further = clone_call(kChildFlags) + in_child(grandchild) + write_page() + wait_for_child();
  const Words child = write_page() + map_page(kPrivate) +
                      Words{guest::str(3, 27, 0), guest::tbnz(19, 0, size_of(further) + 1)} + further +
                      exit_with_hash();
  const Words turn = clone_call(kChildFlags) + in_child(child) + write_page() + make_call(kYieldCall) + write_page() +
                     wait_for_child();
  const Words vfork = clone_call(kChildFlags | kSharesMemory | kVfork) + in_child(write_page() + exit_with_hash()) +
                      write_page() + wait_for_child();
  return spin + turn + vfork + Words{guest::subs(19, 19, 1), guest::b_cond(guest::kNe, -size_of(turn + vfork) - 1)} +
         exit_with_hash();
}

/// A parent and its child write to a page that both have, and to one that they have not.
Words sharing_family() {
  const Words add = {guest::ldr(3, 2, 25), guest::madd(2, 2, 26, 19), guest::str(3, 2, 25)};
  const Words child = add + write_page() + exit_with_hash();
  const Words turn = clone_call(kChildFlags) + in_child(child) + wait_for_child() + add +
                     Words{guest::madd(27, 27, 26, 2)} + write_page();
  return Words{guest::sub(23, 23, 1), guest::cbnz(23, -1)} + map_page(kShared) + Words{guest::add(25, 0, 0)} + turn +
         Words{guest::subs(19, 19, 1), guest::b_cond(guest::kNe, -size_of(turn) - 1)} + exit_with_hash();
}

/// Moves 8 bytes between kStatus and a place of what is mapped of the file in x20.
Words file_call(uint32_t number, uint32_t offset) {
  return Words{guest::add(0, 20, 0)} + value_of(1, kStatus) +
         Words{guest::movz(2, 8), guest::movz(3, offset), guest::add_register(3, 3, 28)} + make_call(number);
}
Words resize_file(uint64_t size) { return Words{guest::add(0, 20, 0)} + value_of(1, size) + make_call(kTruncateCall); }
/// A file in memory, which a parent and its child have mapped: what one of them stores or writes is what the other loads and reads. It
/// loses pages and gets them again, with zeros. Values differ from lane to lane, and the pages that are mapped at one address: from x28
/// on.
Words mapping_family() {
  const Words begin = Words{guest::add_register(27, 27, 23)} + value_of(0, kData + 2 * kPageBytes) +
                      Words{guest::movz(1, 0)} + make_call(kMemoryFileCall) + Words{guest::add(20, 0, 0)} +
                      resize_file(3 * kPageBytes) + Words{guest::movz(28, 0), guest::tbnz(19, 0, 3)} +
                      value_of(28, kPageBytes);
  const Words map = Words{guest::movz(0, 0)} + value_of(1, 2 * kPageBytes) + value_of(2, kProtReadWrite) +
                    value_of(3, kSharedFile) + Words{guest::add(4, 20, 0), guest::add(5, 28, 0)} +
                    make_call(kMmapCall) + Words{guest::add(24, 0, 0)} + value_of(22, kPageBytes) +
                    Words{guest::add_register(25, 24, 22)};
  const Words store = {guest::ldr(3, 2, 24), guest::madd(2, 2, 26, 27), guest::str(3, 2, 24)};
  const Words note = {guest::ldr(3, 2, 24), guest::madd(27, 27, 26, 2), guest::ldr(3, 2, 25),
                      guest::madd(27, 27, 26, 2)};
  const Words read =
      file_call(kReadCall, 0) + value_of(1, kStatus) + Words{guest::ldr(3, 2, 1), guest::madd(27, 27, 26, 2)};
  const Words write = value_of(1, kStatus) + Words{guest::str(3, 27, 1)} + file_call(kWriteCall, kPageBytes);
  const Words turn = store + read + clone_call(kChildFlags) +
                     in_child(note + store + write + write_page() + exit_with_hash()) + wait_for_child() + note +
                     resize_file(kPageBytes) + write_page() + resize_file(3 * kPageBytes) + note;
  return begin + Words{guest::sub(23, 23, 1), guest::cbnz(23, -1)} + map + turn +
         Words{guest::subs(19, 19, 1), guest::b_cond(guest::kNe, -size_of(turn) - 1)} + exit_with_hash();
}

/// What executing_family() becomes: a family of few turns, whose hash begins with the argument.
Words executed_family() {
  return value_of(19, 4) + value_of(23, 1) + value_of(26, 0x9E3779B1) +
         Words{guest::add(1, 31, 8), guest::ldr(3, 1, 1), guest::ldr(3, 27, 1)} + family();
}
/// A parent and its child become another program, each at its time.
Words executing_family() {
  const Words execute = value_of(0, kPathBytes) + value_of(1, kArguments) + Words{guest::movz(2, 0)} +
                        make_call(kExecveCall) + Words{guest::hlt(8)};
  const Words further = clone_call(kChildFlags) + in_child(write_page() + execute) + write_page();
  return Words{guest::sub(23, 23, 1), guest::cbnz(23, -1)} + further + clone_call(kChildFlags) +
         in_child(write_page() + exit_with_hash()) + wait_for_child() + write_page() + execute;
}

/// A program at kCode with pages of zeros where families write.
std::string elf_of(const Words& words) {
  constexpr uint64_t kHeaders = 64, kHeaderSize = 56;
  std::string file(kPageBytes, 0);
  const auto put = [&](uint64_t at, uint64_t value, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) file[at + i] = static_cast<char>(value >> 8 * i);
  };
  put(0, 0x00010102464C457F, 8);
  put(16, 2 | 183 << 16, 4);  // an executable of AArch64
  put(20, 1, 4);
  put(24, kCode, 8);
  put(32, kHeaders, 8);
  put(52, 64 | kHeaderSize << 16, 4);
  put(56, 3, 2);
  const auto segment = [&](uint32_t index, uint32_t flags, uint64_t address, uint64_t in_file, uint64_t size) {
    const uint64_t at = kHeaders + index * kHeaderSize;
    put(at, 1, 4);
    put(at + 4, flags, 4);
    put(at + 8, in_file == 0 ? 0 : kPageBytes, 8);
    put(at + 16, address, 8);
    put(at + 32, in_file, 8);
    put(at + 40, size, 8);
    put(at + 48, kPageBytes, 8);
  };
  segment(0, 5, kCode, words.size() * 4, words.size() * 4);
  segment(1, 6, kData, 0, kPageBytes);
  segment(2, 6, kPages, 0, 2 * kPageBytes);
  return file + std::string(reinterpret_cast<const char*>(words.data()), words.size() * 4);
}

/// Its processes have a root with one program.
class HostWithRoot final : public myriarm::test::SilentHost {
 public:
  const myriarm::FileTree* root() const override {
    static const std::shared_ptr<const myriarm::FileTree> made = make_root();
    return made.get();
  }

 private:
  /// Its folder stays as it is until this program ends.
  static std::shared_ptr<const myriarm::FileTree> make_root() {
    static const myriarm::test::RootFolder folder;
    folder.file("again", elf_of(executed_family()), 0755);
    return myriarm::read_root(folder.path());
  }
};

Fleet family_fleet(const Words& words, uint64_t lanes, bool on_the_cpu = false, uint64_t pool = 0) {
  Program program = program_of(words);
  program.process = myriarm::ProcessStart{kUnmapped + 4 * kPageBytes, kEnd, 4 * kPageBytes, "/bin/test"};
  program.process->file_bytes = 64 * kPageBytes;
  program.segments.push_back({kPages, 4 * kPageBytes, kRead | kWrite, {}});
  FleetOptions options = options_of(lanes);
  if (on_the_cpu) options.device = "cpu";
  options.pool = pool;
  options.processes.host = std::make_shared<HostWithRoot>();
  options.processes.keep_memory = true;
  Fleet fleet(program, options);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    fleet.set(x(19), lane, kTurns + lane % 3);
    fleet.set(x(23), lane, 1 + lane * 7919 % 1000);
    const auto write = [&](uint64_t address, const void* bytes, size_t size) {
      fleet.write(lane, address, {static_cast<const uint8_t*>(bytes), size});
    };
    const std::string path = "/again", argument = std::to_string(lane % 7) + "argument";
    write(kPathBytes, path.c_str(), path.size() + 1);
    write(kArgument, argument.c_str(), argument.size() + 1);
    const uint64_t arguments[] = {kArgument, 0};
    write(kArguments, arguments, sizeof arguments);
  }
  fleet.fill(x(26), 0x9E3779B1);
  return fleet;
}
bool have_all_exited(const Fleet& fleet) {
  for (const Stop& stop : fleet.stops()) {
    if (stop.reason != StopReason::exited) return false;
  }
  return true;
}

const std::vector<Words>& families() {
  static const std::vector<Words> all = {family(), sharing_family(), mapping_family(), executing_family()};
  return all;
}
std::vector<fleet_test::LaneState> all_of(const Fleet& fleet) {
  return states_of(fleet, kCode, kPages + 4 * kPageBytes);
}

class ChildSplits : public testing::TestWithParam<std::tuple<uint64_t, uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(All, ChildSplits, testing::Combine(testing::Values(1, 5, 40), testing::Values(1u, 2u)));

TEST_P(ChildSplits, LeaveTheStateOfOneRunOnTheCpu) {
  const auto [lanes, seed] = GetParam();
  for (const Words& words : families()) {
    Fleet whole = family_fleet(words, lanes, true), parts = family_fleet(words, lanes);
    std::mt19937 random(seed * 104729 + static_cast<uint32_t>(lanes));
    const auto below = [&](uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random); };
    whole.run();
    ASSERT_TRUE(have_all_exited(whole)) << describe(0, whole.stops()[0]);
    for (int call = 0; call < 400 && !have_all_exited(parts); call++) {
      RunOptions options;
      options.instructions = 1 + below(call % 3 == 0 ? 4 : 300);
      constexpr Engine kEngines[] = {Engine::interpreter, Engine::stepper, Engine::translate};
      options.engine = kEngines[below(on_cpu() ? 3 : 2)];
      Snapshot before;
      const bool taken_back = below(6) == 0;
      if (taken_back) before = parts.snapshot();
      parts.run(options);
      if (taken_back) parts.restore(before);
    }
    parts.run();
    expect_same(states_of(parts, kCode), states_of(whole, kCode), "split against whole");
  }
}

/// What is done to a fleet between two runs is done to one on the CPU too: both are the same after each step.
TEST_P(ChildSplits, AreTakenBackAndCopiedAsOnTheCpu) {
  const auto [lanes, seed] = GetParam();
  for (size_t number = 0; number < families().size(); number++) {
    SCOPED_TRACE("family " + std::to_string(number));
    Fleet there = family_fleet(families()[number], lanes, true), here = family_fleet(families()[number], lanes);
    std::mt19937 random(seed * 7907 + static_cast<uint32_t>(lanes));
    const auto below = [&](uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random); };
    const auto some_of = [&](const std::vector<uint32_t>& all) {
      std::vector<uint32_t> some;
      const uint64_t parts = 1 + below(3);
      for (const uint32_t lane : all) {
        if (below(4) < parts) some.push_back(lane);
      }
      return some;
    };
    std::vector<uint32_t> all(lanes);
    std::iota(all.begin(), all.end(), 0u);
    std::vector<std::pair<Snapshot, Snapshot>> kept;
    int restores = 0;
    const int calls = on_cpu() ? 150 : 60;  // the emulated GPU is slow
    for (int call = 0; call < calls && !have_all_exited(there); call++) {
      RunOptions options;
      options.instructions = 1 + below(call % 3 == 0 ? 20 : 500);
      there.run(options);
      constexpr Engine kEngines[] = {Engine::interpreter, Engine::stepper, Engine::translate};
      options.engine = kEngines[below(on_cpu() ? 3 : 2)];
      here.run(options);
      const uint64_t deed = below(8);
      if (deed < 2) {
        const std::vector<uint32_t> saved = deed == 0 ? all : some_of(all);
        kept.emplace_back(there.snapshot(saved), here.snapshot(saved));
        if (kept.size() > 3) kept.erase(kept.begin());
      } else if (deed == 2 && !kept.empty()) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(below(kept.size())));
      } else if (deed < 6 && restores++ < 40) {
        if (deed == 3 || kept.empty()) {
          const auto from = static_cast<uint32_t>(below(lanes));
          const std::vector<uint32_t> to = some_of(all);
          there.fork(from, to);
          here.fork(from, to);
        } else {
          const auto& [in_there, in_here] = kept[below(kept.size())];
          const std::vector<uint32_t> some = deed == 4 ? in_here.lanes() : some_of(in_here.lanes());
          there.restore(in_there, some);
          here.restore(in_here, some);
        }
      }
      if (!expect_same(all_of(here), all_of(there), "step " + std::to_string(call) + ", deed " + std::to_string(deed)))
        return;
    }
    there.run();
    here.run();
    ASSERT_TRUE(have_all_exited(there)) << describe(0, there.stops()[0]);
    expect_same(all_of(here), all_of(there), "at the end");
  }
}

TEST(Children, AreTheSameOnEachEngine) {
  constexpr uint64_t kLanes = 70;
  for (const Words& words : families()) {
    Fleet expected = family_fleet(words, kLanes, true);
    expected.run();
    ASSERT_TRUE(have_all_exited(expected)) << describe(0, expected.stops()[0]);
    for (const Engine engine : {Engine::interpreter, Engine::stepper, Engine::translate}) {
      Fleet fleet = family_fleet(words, kLanes);
      RunOptions options;
      options.engine = engine;
      fleet.run(options);
      expect_same(states_of(fleet, kCode), states_of(expected, kCode), "engine");
    }
  }
}

TEST(Children, RunTranslatedCode) {
  constexpr uint64_t kLanes = 40;
  const Words loop =
      value_of(10, 0x7FFFFFFF) + Words{guest::madd(27, 27, 26, 10), guest::sub(10, 10, 1), guest::cbnz(10, -2)};
  const Words words = clone_call(kChildFlags) + in_child(loop + exit_with_hash()) + wait_for_child() + exit_with_hash();
  Fleet expected = family_fleet(words, kLanes, true), fleet = family_fleet(words, kLanes);
  RunOptions piece;
  piece.engine = Engine::translate;
  const Pieces pieces = run_until_translated(fleet, kLanes * kPieceInstructions, piece);
  if (!pieces.why.empty() && options_of(1).engine == Engine::translate) FAIL() << pieces.why;
  if (!pieces.why.empty()) GTEST_SKIP() << pieces.why;
  EXPECT_LT(pieces.count, kMostPieces) << "nothing was translated";
  RunOptions whole;
  whole.instructions = pieces.instructions();
  expected.run(whole);
  expect_same(states_of(fleet, kCode), states_of(expected, kCode), "in the children");
}

TEST(Children, EndWhenTheirLaneIsRestored) {
  constexpr uint64_t kLanes = 40;
  for (const Words& words : families()) {
    Fleet expected = family_fleet(words, kLanes, true), fleet = family_fleet(words, kLanes);
    expected.run();
    const Snapshot beginning = fleet.snapshot();
    for (const uint64_t begun : {300, 1500, 4000}) {
      RunOptions options;
      options.instructions = begun;
      fleet.run(options);
      constexpr uint32_t kSome[] = {0, 3, 4, 31, 39};
      fleet.restore(beginning, kSome);
      fleet.run(options);
      fleet.restore(beginning);
      fleet.run();
      expect_same(states_of(fleet, kCode), states_of(expected, kCode), "after a restore");
      fleet.restore(beginning);
    }
  }
}

TEST(Children, StayWhereARestoreFindsNoMemory) {
  if (on_cpu()) GTEST_SKIP() << "the CPU copies nothing to restore a lane";
  constexpr uint64_t kLanes = 40;
  RunOptions options;
  options.instructions = 400;
  std::vector<uint32_t> to(kLanes);
  std::iota(to.begin(), to.end(), 0u);
  for (const Words& words : {sharing_family(), mapping_family()}) {
    Fleet expected = family_fleet(words, kLanes, true), fleet = family_fleet(words, kLanes, false, 10 << 20);
    // Most have only begun, and leave no memory when they become another lane; one has several processes.
    for (Fleet* one : {&expected, &fleet}) {
      for (uint32_t lane = 0; lane < kLanes; lane++) one->set(x(23), lane, lane == 7 || lane == 8 ? 1 : 1 << 20);
      one->run(options);
    }
    const std::vector<LaneState> before = all_of(fleet);
    expect_same(before, all_of(expected), "before");
    EXPECT_THROW(fleet.fork(7, to), myriarm::DeviceError);
    expect_same(all_of(fleet), before, "after a fork that has failed");
    fleet.grow_pool(uint64_t{256} << 20);
    expected.fork(7, to);
    fleet.fork(7, to);
    expect_same(all_of(fleet), all_of(expected), "after a fork");
    expected.run();
    fleet.run();
    expect_same(all_of(fleet), all_of(expected), "to the end");
  }
}

}  // namespace
}  // namespace fleet_test
