// SPDX-License-Identifier: Apache-2.0
// Code that is written while a fleet lives: by the host and by guests, alike in all lanes or not, once or again and
// again. Every fleet does the same as a fleet of the CPU's stepping engine, which decodes each instruction as it runs:
// registers, counts, stops and memory are equal. The runs are long enough that a GPU predecodes the code meanwhile.
#include <functional>

#include "mode_fixture.h"
#include "translated_pieces.h"

namespace fleet_test {
namespace {

constexpr uint32_t kAll = kRead | kWrite | kExecute;
constexpr uint64_t kRounds = 4000;

/// Adds x8 to x0 by `step` in each of x9 rounds, and stores it to x10.
Words counting_loop(uint32_t step) {
  return {guest::add(0, 0, step), guest::str(3, 0, 10), guest::subs(9, 9, 1), guest::b_cond(guest::kNe, -3),
          guest::hlt(step & 0xFF)};
}
Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// One thing that is done to a fleet and to its reference.
using Step = std::function<void(Fleet&)>;

class WrittenCode : public testing::TestWithParam<uint64_t> {
 protected:
  uint64_t lanes() const { return GetParam(); }

  /// Does the steps with a fleet of the device, and with a reference, and compares the states after each.
  static void expect_like_reference(const std::vector<myriarm::Placement>& programs, FleetOptions options,
                                    const std::vector<Step>& steps) {
    Fleet fleet(programs, options);
    options.device = "cpu";
    options.engine = Engine::stepper;
    options.pool = 0;
    Fleet reference(programs, options);
    int number = 0;
    for (const Step& step : steps) {
      step(fleet);
      step(reference);
      if (!expect_same(states_of(fleet, kCode, kEnd), states_of(reference, kCode, kEnd),
                       "after step " + std::to_string(number++)))
        return;
    }
  }
  void expect_like_reference(const Program& program, const std::vector<Step>& steps,
                             MemoryPolicy policy = MemoryPolicy::private_copy) const {
    expect_like_reference({{program, lanes()}}, options_of(lanes(), policy), steps);
  }
};
INSTANTIATE_TEST_SUITE_P(Lanes, WrittenCode, testing::Values(1, 40),
                         [](const auto& info) { return std::to_string(info.param); });

/// Puts every lane to an address, with registers for counting_loop().
void begin_at(Fleet& fleet, uint64_t address, uint64_t rounds = kRounds) {
  fleet.fill(Field::pc, address);
  fleet.fill(x(9), rounds);
  fleet.fill(x(10), kData);
  fleet.resume_all();
}
void run_from(Fleet& fleet, uint64_t address, uint64_t rounds = kRounds) {
  begin_at(fleet, address, rounds);
  fleet.run();
}
/// Writes counting_loop(step_of(lane)) to each lane.
void write_loops(Fleet& fleet, uint64_t address, const std::function<uint32_t(uint32_t lane)>& step_of) {
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++)
    fleet.write(lane, address, bytes_of(counting_loop(step_of(lane))));
}

TEST_P(WrittenCode, ByTheHostRunsAlikeOrNot) {
  const std::function<uint32_t(uint32_t)> kinds[] = {[](uint32_t) { return 3; }, [](uint32_t lane) { return lane + 1; },
                                                     [](uint32_t lane) { return lane % 32 < 16 ? 5 : 7; },
                                                     [](uint32_t lane) { return lane / 32 + 1; },
                                                     [](uint32_t lane) { return lane == 33 ? 9 : 8; }};
  for (uint64_t address : {kCode, kOtherCode, kOtherCode + 0x80}) {
    std::vector<Step> steps;
    for (const auto& kind : kinds) {
      steps.push_back([&, address](Fleet& fleet) {
        write_loops(fleet, address, kind);
        run_from(fleet, address);
      });
    }
    expect_like_reference(program_of(counting_loop(1)), steps);
  }
}

TEST_P(WrittenCode, RunsFromPagesThatWereMappedLater) {
  expect_like_reference(
      program_of(counting_loop(1)),
      {[](Fleet& fleet) {
         fleet.map(all_lanes(fleet), kUnmapped, 2 * kPageBytes, kAll);
         write_loops(fleet, kUnmapped + kPageBytes - 8, [](uint32_t) { return 2; });
         run_from(fleet, kUnmapped + kPageBytes - 8);
       },
       [](Fleet& fleet) { run_from(fleet, kUnmapped + kPageBytes - 8); }, [](Fleet& fleet) { run_from(fleet, kCode); },
       [](Fleet& fleet) {
         fleet.unmap(even_lanes(fleet), kUnmapped + kPageBytes, kPageBytes);
         run_from(fleet, kUnmapped + kPageBytes - 8);
       },
       [](Fleet& fleet) {
         fleet.map(even_lanes(fleet), kUnmapped + kPageBytes, kPageBytes, kAll);
         run_from(fleet, kUnmapped + kPageBytes - 8);
       }});
}

TEST_P(WrittenCode, RunsFarFromTheProgramToo) {
  // A GPU has memory for predecoded words in pieces of 128 pages; these loops lie over the border of two. What has none shows the
  // same again every 16 pieces, so that one of these loops would run the words of another.
  constexpr uint64_t kWindow = uint64_t{1} << 30, kPiece = 128 * kPageBytes;
  constexpr uint64_t kLibrary = kCode + 1800 * kPiece - 8, kMapped = kCode + (1800 - 56 * 16) * kPiece - 8,
                     kLater = kCode + (1800 - 90 * 16) * kPiece - 8;
  Program program = program_of(counting_loop(1));
  const uint64_t begin = kLibrary / kPageBytes * kPageBytes;
  std::vector<uint8_t> library(2 * kPageBytes);
  std::ranges::copy(bytes_of(counting_loop(6)), library.begin() + static_cast<std::ptrdiff_t>(kLibrary - begin));
  program.segments.push_back({begin, library.size(), kRead | kWrite | kExecute, library});
  FleetOptions options = options_of(lanes(), MemoryPolicy::private_copy);
  options.memory = kWindow;
  const auto map_loop = [](Fleet& fleet, uint64_t address, uint32_t step) {
    fleet.map(all_lanes(fleet), address / kPageBytes * kPageBytes, 2 * kPageBytes, kAll);
    write_loops(fleet, address, [=](uint32_t) { return step; });
  };
  const auto run_all = [](Fleet& fleet) {
    for (const uint64_t address : {kCode, kLibrary, kMapped, kLater, kLibrary, kMapped}) run_from(fleet, address);
  };
  expect_like_reference({{program, lanes()}}, options,
                        {[&](Fleet& fleet) {
                           run_from(fleet, kLibrary);
                           map_loop(fleet, kMapped, 2);
                           map_loop(fleet, kLater, 3);
                           run_all(fleet);
                         },
                         run_all,
                         [&](Fleet& fleet) {
                           write_loops(fleet, kLibrary, [](uint32_t) { return 9; });
                           run_all(fleet);
                         },
                         [&](Fleet& fleet) {
                           write_loops(fleet, kMapped, [](uint32_t lane) { return lane % 2 + 4; });
                           run_all(fleet);
                         },
                         run_all});
}

TEST_P(WrittenCode, OneInstructionIsPatchedThereAndBack) {
  std::vector<Step> steps;
  for (uint32_t step : {2, 1, 2, 3, 1, 2}) {
    steps.push_back([step](Fleet& fleet) {
      for (uint32_t lane = 0; lane < fleet.lanes(); lane++)
        fleet.write(lane, kCode, bytes_of({guest::add(0, 0, step)}));
      run_from(fleet, kCode);
    });
  }
  expect_like_reference(program_of(counting_loop(1)), steps);
}

TEST_P(WrittenCode, PermissionsAreTakenAwayAndGivenBack) {
  auto protect = [](uint32_t permissions) {
    return [permissions](Fleet& fleet) {
      fleet.protect(all_lanes(fleet), kOtherCode, kPageBytes, permissions);
      run_from(fleet, kOtherCode);
    };
  };
  expect_like_reference(
      program_of(counting_loop(1)),
      {[](Fleet& fleet) {
         write_loops(fleet, kOtherCode, [](uint32_t) { return 4; });
         run_from(fleet, kOtherCode);
       },
       [](Fleet& fleet) { run_from(fleet, kOtherCode); }, protect(kRead | kWrite), protect(kRead | kExecute),
       [](Fleet& fleet) {
         fleet.protect(even_lanes(fleet), kOtherCode, kPageBytes, kRead);
         run_from(fleet, kOtherCode);
       },
       protect(kAll)});
}

/// Copies 32 bytes from x2 to x3, and branches there.
const Words kCopies = {guest::ldp(4, 5, 2), guest::stp(4, 5, 3), guest::add(2, 2, 16), guest::add(6, 3, 16),
                       guest::ldp(4, 5, 2), guest::stp(4, 5, 6), guest::br(3),         guest::nop()};

void set_copy(Fleet& fleet, uint64_t from, uint64_t to) {
  fleet.fill(x(2), from);
  fleet.fill(x(3), to);
}

TEST_P(WrittenCode, AGuestCopiesItsLoopOnceAndOverIt) {
  const Words words =
      joined(kCopies, joined(counting_loop(6), joined({guest::nop(), guest::nop(), guest::nop()}, counting_loop(11))));
  expect_like_reference(program_of(words), {[](Fleet& fleet) {
                                              set_copy(fleet, kCode + 32, kOtherCode);
                                              run_from(fleet, kCode);
                                            },
                                            [](Fleet& fleet) { run_from(fleet, kOtherCode); },
                                            [](Fleet& fleet) {
                                              set_copy(fleet, kCode + 64, kOtherCode);
                                              run_from(fleet, kCode);
                                            },
                                            [](Fleet& fleet) { run_from(fleet, kOtherCode, 300); }});
}

/// In each of x9 rounds stores w4 to x2, executes the word at x2 by a call of x3, and then w4 ^= w5.
const Words kRewrites = {guest::str(2, 4, 2),           guest::blr(3),
                         guest::eor_register(4, 4, 5),  guest::subs(9, 9, 1),
                         guest::b_cond(guest::kNe, -4), guest::hlt(1)};

void set_rewrites(Fleet& fleet, uint64_t function, bool differently) {
  fleet.fill(x(2), function);
  fleet.fill(x(3), function);
  set_each(fleet, x(4),
           [&](uint64_t lane) { return guest::add(0, 0, differently ? 1 + static_cast<uint32_t>(lane) : 1); });
  fleet.fill(x(5), guest::add(0, 0, 0x100) ^ guest::add(0, 0, 0));
  for (uint32_t lane = 0; lane < fleet.lanes(); lane++)
    fleet.write(lane, function, bytes_of({guest::nop(), guest::ret()}));
}

TEST_P(WrittenCode, AGuestRewritesItsCodeAllTheTime) {
  for (bool differently : {false, true}) {
    // Beside its program, behind it on its page, and on the page after it.
    for (uint64_t function : {kOtherCode, kCode + 0x100, kCode + kPageBytes}) {
      SCOPED_TRACE(function);
      Words words = kRewrites;
      words.resize(2 * kPageBytes / 4, guest::nop());
      expect_like_reference(program_of(words, kAll), {[=](Fleet& fleet) {
                                                        set_rewrites(fleet, function, differently);
                                                        run_from(fleet, kCode, 3000);
                                                      },
                                                      [](Fleet& fleet) { run_from(fleet, kCode, 3000); }});
    }
  }
}

TEST_P(WrittenCode, DataLiesOnThePageOfTheCode) {
  expect_like_reference(program_of(counting_loop(1), kAll),
                        {[](Fleet& fleet) {
                           begin_at(fleet, kCode);
                           fleet.fill(x(10), kCode + 0x800);
                           fleet.run();
                         },
                         [](Fleet& fleet) {
                           begin_at(fleet, kCode);
                           set_each(fleet, x(10), [](uint64_t lane) { return kCode + 0x800 + 8 * (lane % 32); });
                           fleet.run();
                         }});
}

/// As a compiler at run time: writes x2 functions (x4, x5: four words) to x1 and up and calls each, then calls all of
/// them x9 times.
const Words kCompiles = {guest::add(11, 1, 0),
                         guest::add(12, 2, 0),
                         guest::stp(4, 5, 11),
                         guest::blr(11),
                         guest::eor_register(4, 4, 7),
                         guest::add(11, 11, 16),
                         guest::subs(12, 12, 1),
                         guest::b_cond(guest::kNe, -5),
                         guest::add(11, 1, 0),
                         guest::add(12, 2, 0),
                         guest::blr(11),
                         guest::add(11, 11, 16),
                         guest::subs(12, 12, 1),
                         guest::b_cond(guest::kNe, -3),
                         guest::subs(9, 9, 1),
                         guest::b_cond(guest::kNe, -7),
                         guest::hlt(2)};

TEST_P(WrittenCode, AGuestCompilesFunctions) {
  auto pair = [](uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; };
  const Step step = [&](Fleet& fleet) {
    fleet.map(all_lanes(fleet), kUnmapped, 2 * kPageBytes, kAll);
    fleet.fill(x(1), kUnmapped);
    fleet.fill(x(2), 400);
    fleet.fill(x(4), pair(guest::add(0, 0, 1), guest::add_register(0, 0, 11)));
    fleet.fill(x(5), pair(guest::ret(), 0));
    fleet.fill(x(7), guest::add(0, 0, 1) ^ guest::add(0, 0, 6));
    run_from(fleet, kCode, 10);
  };
  expect_like_reference(program_of(kCompiles), {step, step});
}

TEST_P(WrittenCode, ABranchOnTheNextPageIsRewritten) {
  // The loop's last ADD ends a page; the branch back begins the next one, which the host and then the guest change.
  Words words(kPageBytes / 4, guest::nop());
  const size_t last = words.size() - 1;
  words[last - 1] = guest::subs(9, 9, 1);
  words[last] = guest::add(0, 0, 1);
  words.push_back(guest::b_cond(guest::kNe, -2));
  words.push_back(guest::hlt(3));
  const uint64_t loop = kCode + kPageBytes - 8, branch = kCode + kPageBytes;
  auto write = [=](uint32_t word) {
    return [=](Fleet& fleet) {
      for (uint32_t lane = 0; lane < fleet.lanes(); lane++) fleet.write(lane, branch, bytes_of({word}));
      run_from(fleet, loop);
    };
  };
  expect_like_reference(program_of(words, kAll),
                        {[=](Fleet& fleet) { run_from(fleet, loop); }, write(guest::hlt(4)),
                         write(guest::b_cond(guest::kEq, -2)), write(guest::b_cond(guest::kNe, -2))});
}

TEST_P(WrittenCode, APageBeginsWithABranchAndEndsWithAnAdd) {
  // A GPU runs a branch together with the word before it. The word after the last ADD begins the next page, and is no
  // branch; the word that begins the page of the ADD is one, and does not run.
  Words words(kPageBytes / 4, guest::nop());
  words.front() = guest::b(2);
  words.back() = guest::add(0, 0, 1);
  words.push_back(guest::subs(9, 9, 1));
  words.push_back(guest::b_cond(guest::kNe, -2));
  words.push_back(guest::hlt(3));
  const uint64_t last = kCode + kPageBytes - 4;
  expect_like_reference(program_of(words), {[=](Fleet& fleet) { run_from(fleet, last); },
                                            [=](Fleet& fleet) {
                                              for (uint32_t lane = 0; lane < fleet.lanes(); lane++)
                                                fleet.write(lane, last, bytes_of({guest::add(0, 0, 2)}));
                                              run_from(fleet, last);
                                            }});
}

TEST_P(WrittenCode, ARestoreBringsTheProgramBack) {
  // Only the program's page was written, so that after the restore no team has code of its own.
  Fleet fleet = fleet_of(counting_loop(1), lanes());
  Snapshot program = fleet.snapshot();
  auto expect_result = [&](uint64_t result) {
    run_from(fleet, kCode);
    expect_all_stopped(fleet, halt(static_cast<uint32_t>(result / kRounds)));
    EXPECT_EQ(values_of(fleet, x(0)), std::vector<uint64_t>(lanes(), result));
  };
  for (int round = 0; round < 2; round++) {
    write_loops(fleet, kCode, [](uint32_t) { return 2; });
    expect_result(2 * kRounds);
    fleet.restore(program);
    expect_result(kRounds);
    fleet.restore(program);
  }
}

TEST_P(WrittenCode, RestoresGoBetweenTwoCodes) {
  Fleet fleet = fleet_of(counting_loop(1), lanes());
  auto result_of = [&](uint64_t address) {
    run_from(fleet, address);
    return fleet.get(x(0), static_cast<uint32_t>(lanes() - 1));
  };
  Snapshot first = fleet.snapshot();
  write_loops(fleet, kCode, [](uint32_t) { return 2; });
  write_loops(fleet, kOtherCode, [](uint32_t) { return 20; });
  Snapshot second = fleet.snapshot();
  write_loops(fleet, kCode, [](uint32_t lane) { return lane + 3; });
  write_loops(fleet, kOtherCode, [](uint32_t lane) { return lane / 32 + 30; });
  Snapshot third = fleet.snapshot();
  const uint64_t last = lanes() - 1;
  for (int round = 0; round < 3; round++) {
    fleet.restore(first);
    EXPECT_EQ(result_of(kCode), kRounds);
    fleet.restore(second);
    EXPECT_EQ(result_of(kCode), 2 * kRounds);
    EXPECT_EQ(result_of(kOtherCode), 22 * kRounds);
    fleet.restore(third);
    EXPECT_EQ(result_of(kOtherCode), (last / 32 + 30) * kRounds);
    EXPECT_EQ(result_of(kCode), (last / 32 + 30 + last + 3) * kRounds);
    if (lanes() > 1) {
      fleet.restore(second, std::vector<uint32_t>{static_cast<uint32_t>(last)});
      EXPECT_EQ(result_of(kOtherCode), 20 * kRounds);
      fleet.fork(0, std::vector<uint32_t>{static_cast<uint32_t>(last)});
      const uint64_t forked = result_of(kCode);
      EXPECT_EQ(forked, fleet.get(x(0), 0));
    }
  }
}

TEST_P(WrittenCode, EveryModeAndBudgetIsExact) {
  const Words words = joined(kCopies, counting_loop(6));
  for (const How& how : kHows) {
    if (how.async) continue;
    SCOPED_TRACE(how.name);
    for (uint64_t budget : {uint64_t{1}, uint64_t{7}, uint64_t{8}, uint64_t{1000}, 2 * kRounds + 3}) {
      std::vector<Step> steps;
      steps.push_back([=](Fleet& fleet) {
        set_copy(fleet, kCode + 32, kOtherCode);
        begin_at(fleet, kCode);
        drive(fleet, how, budget_of(budget, budget / 3 + 1));
      });
      for (int more = 0; more < 3; more++)
        steps.push_back([=](Fleet& fleet) { drive(fleet, how, budget_of(budget, budget)); });
      steps.push_back([=](Fleet& fleet) { drive(fleet, how, budget_of(100 * kRounds, 3000)); });
      expect_like_reference(program_of(words), steps);
    }
  }
}

TEST_P(WrittenCode, EveryPolicyGivesTheSame) {
  const Words words = joined(kCopies, counting_loop(6));
  for (MemoryPolicy policy : kWritablePolicies) {
    SCOPED_TRACE(policy_name(policy));
    expect_like_reference(program_of(words, kAll),
                          {[](Fleet& fleet) {
                             set_copy(fleet, kCode + 32, kOtherCode);
                             run_from(fleet, kCode, 4000);
                           },
                           [](Fleet& fleet) { run_from(fleet, kOtherCode, 4000); },
                           [](Fleet& fleet) {
                             write_loops(fleet, kCode + 32, [](uint32_t) { return 9; });
                             run_from(fleet, kCode + 32, 4000);
                           },
                           [](Fleet& fleet) {
                             write_loops(fleet, kOtherCode, [](uint32_t lane) { return lane % 3; });
                             run_from(fleet, kOtherCode, 4000);
                           }},
                          policy);
  }
}

TEST_P(WrittenCode, ASpentPoolOnlyMakesItSlower) {
  if (on_cpu()) GTEST_SKIP() << "there a lane whose code finds no room stops as out of memory: CodeMemory";
  // Every team has its own code, and the pool has room for the pages but for few copies of the code.
  FleetOptions options = options_of(lanes());
  const uint64_t teams = (lanes() + 31) / 32;
  options.pool = teams * 3 * (33 * kPageBytes);
  expect_like_reference({{program_of(counting_loop(1)), lanes()}}, options,
                        {[](Fleet& fleet) {
                           write_loops(fleet, kCode, [](uint32_t lane) { return 1 + lane / 32; });
                           run_from(fleet, kCode);
                         },
                         [](Fleet& fleet) {
                           write_loops(fleet, kOtherCode, [](uint32_t lane) { return 5 + lane / 32; });
                           run_from(fleet, kOtherCode);
                           EXPECT_LE(fleet.pool_used(), fleet.pool_size());
                         },
                         [](Fleet& fleet) { run_from(fleet, kCode); }});
}

TEST_P(WrittenCode, SeveralProgramsAreWrittenOver) {
  const std::vector<myriarm::Placement> programs = {{program_of(counting_loop(1)), 32},
                                                    {program_of(counting_loop(2)), 64},
                                                    {program_of(joined({guest::nop()}, counting_loop(3))), lanes()}};
  FleetOptions options = options_of(1);
  auto steps_of = [](uint64_t address) -> std::vector<Step> {
    return {[](Fleet& fleet) { run_from(fleet, kCode); },
            [=](Fleet& fleet) {
              // Only the lanes of the second program; then all alike.
              for (uint32_t lane = 32; lane < 96; lane++) fleet.write(lane, address, bytes_of(counting_loop(7)));
              run_from(fleet, kCode);
            },
            [=](Fleet& fleet) {
              write_loops(fleet, address, [](uint32_t) { return 8; });
              run_from(fleet, address);
            }};
  };
  expect_like_reference(programs, options, steps_of(kCode));
  expect_like_reference(programs, options, steps_of(kOtherCode));
}

/// As a program's libraries are, which it maps itself.
TEST_P(WrittenCode, IsTranslatedOnceMostTeamsRunIt) {
  if (on_cpu()) GTEST_SKIP() << "there lanes translate what they have in common: FleetCode";
  FleetOptions options = options_of(lanes(), MemoryPolicy::private_copy);
  options.engine = Engine::translate;
  options.translation_cache = false;
  Fleet fleet(program_of(counting_loop(1)), options);
  options.device = "cpu";
  options.engine = Engine::interpreter;
  Fleet reference(program_of(counting_loop(1)), options);
  const auto begin_with = [&](uint32_t step) {
    for (Fleet* each : {&fleet, &reference}) {
      write_loops(*each, kOtherCode, [=](uint32_t) { return step; });
      begin_at(*each, kOtherCode, ~uint64_t{0});
    }
  };
  RunOptions piece;
  piece.instructions = kPieceInstructions;
  for (const uint32_t step : {3u, 5u, 20u}) {
    begin_with(step);
    const Pieces pieces = run_until_translated(fleet, lanes() * kPieceInstructions);
    if (!pieces.why.empty() && options_of(1).engine == Engine::translate) FAIL() << pieces.why;
    if (!pieces.why.empty()) GTEST_SKIP() << pieces.why;
    EXPECT_LT(pieces.count, kMostPieces) << "nothing was translated";
    RunOptions whole;
    whole.instructions = pieces.instructions();
    reference.run(whole);
    expect_same(states_of(fleet, kCode, kEnd), states_of(reference, kCode, kEnd), "after step " + std::to_string(step));
    // Code that runs once, until the memory of what was translated before has been freed.
    for (uint32_t other = step + 1; other < step + 9; other++) {
      begin_with(other);
      fleet.run(piece);
      reference.run(piece);
      expect_same(states_of(fleet, kCode, kEnd), states_of(reference, kCode, kEnd), "after " + std::to_string(other));
    }
  }
}

}  // namespace
}  // namespace fleet_test
