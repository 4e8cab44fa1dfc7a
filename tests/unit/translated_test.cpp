// SPDX-License-Identifier: Apache-2.0
// Engine::translate on the CPU with fakes in place of translated code: that lanes enter and leave regions without a trace
// in their results, whatever happens to their budgets, their memory and their code meanwhile.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "engines/mode_fixture.h"
#include "fake_translator/fake_translator.h"
#include "fake_translator/gate.h"

namespace fleet_test {
namespace {

using myriarm::TranslationReport;
using myriarm::test::FakeRegions;
using myriarm::test::FakeTranslation;
using myriarm::test::Gate;

FleetOptions options_for(Engine engine, uint64_t lanes, unsigned threads = 1) {
  FleetOptions options;
  options.device = "cpu";
  options.lanes = lanes;
  options.memory = kEnd - kCode;
  options.engine = engine;
  options.threads = threads;
  options.compile_threads = 2;
  return options;
}

/// `pages`: of code. The words are followed by returns, because a lane that is nearer to its budget than the longest
/// run without a branch is not run fast.
Program wandering(uint64_t pages = 1, bool changes_itself = false) {
  Words words = wandering_program(changes_itself);
  words.resize(pages * kPageBytes / 4, guest::ret());
  return program_of(words, kRead | kExecute | (changes_itself ? uint32_t{kWrite} : 0));
}
Fleet wanderers(Engine engine, uint64_t lanes, uint64_t rounds, const Program& program = wandering(),
                unsigned threads = 1) {
  Fleet fleet(program, options_for(engine, lanes, threads));
  prepare_wandering(fleet, rounds);
  return fleet;
}
bool same_states(const Fleet& a, const Fleet& b, const std::string& what) {
  return expect_same(states_of(a, kCode), states_of(b, kCode), what);
}
RunOptions with_engine(Engine engine) {
  RunOptions options;
  options.engine = engine;
  return options;
}
void write_word(Fleet& fleet, uint32_t lane, uint64_t address, uint32_t word) {
  const Transfer transfer{lane, 4, address, 0};
  fleet.write(std::span(&transfer, 1), bytes_of({word}));
}

TEST(Translated, EveryBudgetEndsWhereTheStepperEnds) {
  for (const uint32_t longest_run : {1u, 7u, 300u}) {
    FakeRegions regions;
    regions.longest_run = longest_run;
    FakeTranslation fakes(regions);
    Fleet fleet = wanderers(Engine::translate, 1, 150), reference = wanderers(Engine::stepper, 1, 150);
    const Snapshot begin = fleet.snapshot();
    fleet.run();
    const uint64_t translated = fleet.translation().translated;
    EXPECT_GT(translated, 100u);
    for (uint64_t count = 1; reference.stops()[0].reason != StopReason::halt; count++) {
      fleet.restore(begin);
      fleet.run(budget_of(count));
      reference.run(budget_of(1));
      ASSERT_TRUE(same_states(fleet, reference, std::to_string(count) + " instructions"));
    }
    EXPECT_GT(fleet.translation().translated, 100 * translated);
  }
}

TEST(Translated, AnySplitLeavesTheStateOfOneRun) {
  std::mt19937 random(1);
  for (uint64_t seed = 1; seed <= 10; seed++) {
    FakeRegions regions;
    regions.seed = seed;
    regions.most = 1 + random() % 30;
    regions.longest_run = 1 + random() % 50;
    regions.exits_in = random() % 3 == 0 ? 0 : 1 + random() % 20;
    FakeTranslation fakes(regions, 1 + random() % 100);
    Fleet fleet = wanderers(Engine::translate, 5, 1000), whole = wanderers(Engine::stepper, 5, 1000);
    whole.run();
    constexpr Engine kEngines[] = {Engine::translate, Engine::translate, Engine::interpreter, Engine::stepper};
    uint64_t sum = 0;
    for (int call = 0; call < 400; call++) {
      RunOptions options = budget_of(1 + random() % (call % 2 == 0 ? 20 : 300));
      options.engine = kEngines[random() % 4];
      sum += fleet.run(options).instructions;
    }
    sum += fleet.run().instructions;
    same_states(fleet, whole, "seed " + std::to_string(seed));
    const std::vector<uint64_t> counts = values_of(whole, Field::instructions);
    EXPECT_EQ(sum, std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
    EXPECT_GT(fleet.translation().regions, 0u);
  }
}

TEST(Translated, InstructionsAreCountedByTheTierThatRetiresThem) {
  FakeTranslation fakes;
  Fleet fleet = wanderers(Engine::translate, 7, 300, wandering(), 3);
  const uint64_t retired = fleet.run().instructions;
  const TranslationReport report = fleet.translation();
  EXPECT_EQ(report.interpreted + report.translated, retired);
  EXPECT_GT(report.translated, retired / 4);
  EXPECT_EQ(report.translated_by_copying, 0u);
  EXPECT_GT(report.interpreted, 0u);
  EXPECT_GT(report.instructions, report.regions);
  EXPECT_NEAR(report.seconds, 0.001 * static_cast<double>(report.regions), 0.02 + report.seconds / 2);
  // Another engine leaves the regions alone.
  fleet.fill(Field::pc, kCode);
  prepare_wandering(fleet, 300);
  fleet.resume(all_lanes(fleet));
  const uint64_t runs = fakes.runs();
  EXPECT_GT(runs, 0u);
  EXPECT_GT(fleet.run(with_engine(Engine::interpreter)).instructions, 0u);
  EXPECT_EQ(fakes.runs(), runs);
  EXPECT_EQ(fleet.translation().translated, report.translated);
  EXPECT_EQ(fleet.translation().interpreted, report.interpreted);
}

TEST(Translated, FaultsAndStopsAreWhereTheStepperHasThem) {
  // x1 runs upwards through the data and beyond; x2 is what happens after x3 rounds.
  const Words words = {guest::ldr_post(4, 1, 8),
                       guest::add_register(0, 0, 4),
                       guest::str_post(0, 5, 8),
                       guest::subs(3, 3, 1),
                       guest::b_cond(guest::kNe, -4),
                       guest::br(2),
                       guest::svc(3),
                       guest::hlt(1),
                       guest::brk(5),
                       guest::udf(77),
                       guest::ldr(3, 0, 6),
                       guest::str(3, 0, 6),
                       guest::add(0, 0, 1),
                       guest::b(-13)};
  constexpr uint64_t kLanes = 200;
  for (const uint32_t exits_in : {0u, 5u}) {
    FakeRegions regions;
    regions.exits_in = exits_in;
    FakeTranslation fakes(regions);
    Fleet fleet(program_of(words), options_for(Engine::translate, kLanes, 2));
    Fleet reference(program_of(words), options_for(Engine::stepper, kLanes, 2));
    for (Fleet* each : {&fleet, &reference}) {
      set_each(*each, x(1), [](uint64_t lane) { return kData + lane % 50 * 200; });
      set_each(*each, x(5), [](uint64_t lane) { return kData + 0x3000 - lane % 9 * 0x400; });
      set_each(*each, x(3), [](uint64_t lane) { return 1 + lane * 37 % 1500; });
      set_each(*each, x(2), [](uint64_t lane) { return lane % 11 == 10 ? kCode + 2 : kCode + (6 + lane % 11) * 4; });
      set_each(*each, x(6), [](uint64_t lane) { return lane % 2 == 0 ? kNoAccess + 8 : kUnmapped - 4; });
      RunOptions options;
      options.on_syscall = [](Fleet&, const SyscallBatch& batch) {
        for (size_t i = 0; i < batch.lanes.size(); i++) batch.results[i] = batch.arguments[6 * i] + 1000;
      };
      for (int again = 0; again < 5; again++) each->run(options);
    }
    same_states(fleet, reference, "faults");
    EXPECT_GT(fleet.translation().translated, 0u);
    std::set<std::pair<StopReason, FaultKind>> seen;
    for (const Stop& stop : fleet.stops()) seen.insert({stop.reason, stop.fault});
    EXPECT_GE(seen.size(), 6u) << "the test should see most of what can happen";
  }
}

TEST(Translated, ALaneCanBeCancelledInARegion) {
  FakeRegions regions;
  regions.exits_in = 0;
  FakeTranslation fakes(regions);
  Fleet fleet(program_of({guest::add(0, 0, 1), guest::add(1, 1, 1), guest::b(-2)}), options_for(Engine::translate, 3));
  fleet.start();
  // What was translated can be asked for meanwhile.
  until([&] { return fleet.poll().instructions > 200'000 && fleet.translation().translated > 100'000; });
  fleet.cancel();
  fleet.wait();
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::cancelled);
  for (uint32_t lane = 0; lane < 3; lane++) {
    EXPECT_EQ(fleet.get(Field::instructions, lane),
              fleet.get(x(0), lane) + fleet.get(x(1), lane) +
                  (fleet.get(x(1), lane) - (fleet.get(Field::pc, lane) == kCode + 8)));
  }
  EXPECT_GT(fleet.translation().translated, 100'000u);
}

// A small program's predecoded code is copied for a lane that changes it; a large one's is mapped from a file.
class TranslatedCode : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Pages, TranslatedCode, testing::Values(1, 6));

TEST_P(TranslatedCode, ALaneThatChangesItsCodeLeavesItsRegionsBehind) {
  const Program program = wandering(GetParam(), true);
  for (const uint64_t interval : {1, 20, 400}) {
    FakeTranslation fakes({}, interval);
    Fleet fleet = wanderers(Engine::translate, 40, 300, program, 2);
    Fleet reference = wanderers(Engine::stepper, 40, 300, program, 2);
    for (int round = 0; round < 3; round++) {
      for (Fleet* each : {&fleet, &reference}) {
        // One lane changes its code, then a few, then all.
        set_each(*each, x(26), [&](uint64_t lane) {
          return (round == 0 && lane == 7) || (round == 1 && lane % 9 == 0) || round == 2 ? kPatchedWord : kData;
        });
        set_each(*each, x(24), [](uint64_t lane) { return 200 + lane % 7; });
        each->fill(Field::pc, kCode);
        each->resume(all_lanes(*each));
        each->run();
      }
      ASSERT_TRUE(same_states(fleet, reference, "round " + std::to_string(round)));
    }
    EXPECT_GT(fleet.translation().translated, 0u);
  }
}

TEST_P(TranslatedCode, ThatOneLaneHasForItselfIsInterpreted) {
  FakeTranslation fakes({}, 5);
  Fleet fleet = wanderers(Engine::translate, 1, 5000, wandering(GetParam() + 1));
  write_word(fleet, 0, kCode + GetParam() * kPageBytes, guest::hlt(9));  // never executed
  fleet.run(budget_of(40'000));
  EXPECT_EQ(fakes.runs(), 0u);
}

TEST_P(TranslatedCode, WhatTheHostWritesToCodeTakesEffect) {
  FakeTranslation fakes({}, 7);
  const Program program = wandering(GetParam());
  constexpr uint32_t kRounds = 8, kMostRounds = 500;
  Fleet fleet = wanderers(Engine::translate, 20, 200'000, program, 2);
  Fleet reference = wanderers(Engine::stepper, 20, 200'000, program, 2);
  uint64_t regions = 0;
  // Other threads translate, when they can: the rounds go on, with words that are new each time, until they have.
  for (uint32_t round = 0; round < kRounds || (round < kMostRounds && fleet.translation().regions <= regions);
       round++) {
    for (Fleet* each : {&fleet, &reference}) {
      each->run(budget_of(1500));
      for (uint32_t lane = 0; lane < 20; lane++) {
        if (lane % 4 <= round % 5)
          write_word(*each, lane, kPatchedWord, guest::add(5, 5, 3 + (round < kRounds ? round % 3 : round)));
      }
    }
    ASSERT_TRUE(same_states(fleet, reference, "round " + std::to_string(round)));
    if (round == 2) regions = fleet.translation().regions;
  }
  EXPECT_GT(fleet.translation().regions, regions) << "code that lanes share once it was written is translated too";
}

TEST_P(TranslatedCode, ARegionEndsWithThePermissionsOfItsPages) {
  // A loop over a page boundary.
  Words words(GetParam() * kPageBytes / 4 + kPageBytes / 4, guest::ret());
  const size_t last = kPageBytes / 4 - 2;
  words[0] = guest::b(static_cast<int32_t>(last));
  words[last] = guest::add(0, 0, 1);
  words[last + 1] = guest::add(1, 1, 1);
  words[last + 2] = guest::add(2, 2, 1);
  words[last + 3] = guest::subs(3, 3, 1);
  words[last + 4] = guest::b_cond(guest::kNe, -4);
  words[last + 5] = guest::hlt(3);
  const uint64_t second = kCode + kPageBytes;
  FakeRegions regions;
  regions.exits_in = 40;
  FakeTranslation fakes(regions, 3);
  Fleet fleet(program_of(words), options_for(Engine::translate, 12, 2));
  Fleet reference(program_of(words), options_for(Engine::stepper, 12, 2));
  for (Fleet* each : {&fleet, &reference}) {
    each->fill(x(3), 2000);
    each->run(budget_of(1000));
    const std::vector<uint32_t> some = {1, 4, 5}, others = {2, 7}, gone = {9};
    each->protect(some, second, kPageBytes, kRead);
    each->protect(others, kCode, kPageBytes, kRead | kWrite);
    each->unmap(gone, second, kPageBytes);
    each->run(budget_of(1000));
  }
  same_states(fleet, reference, "without permission");
  EXPECT_EQ(fleet.stops()[4].fault, FaultKind::execute);
  EXPECT_EQ(fleet.stops()[9].fault, FaultKind::unmapped);
  const uint64_t before = fleet.translation().translated;
  for (Fleet* each : {&fleet, &reference}) {
    const std::vector<uint32_t> all = all_lanes(*each);
    const std::vector<uint32_t> some = {1, 4, 5}, others = {2, 7}, mapped = {9};
    each->protect(some, second, kPageBytes, kRead | kExecute);
    each->protect(others, kCode, kPageBytes, kRead | kExecute);
    each->map(mapped, second, kPageBytes, kRead | kExecute);
    each->resume(all);
    each->run();
  }
  same_states(fleet, reference, "with permission again");
  expect_stop(fleet, 4, halt(3));
  EXPECT_GT(fleet.translation().translated, before);
}

TEST_P(TranslatedCode, AnythingThatHappensToCodeLeavesTheStepperResult) {
  for (uint32_t seed = 1; seed <= 12; seed++) {
    std::mt19937 random(seed);
    auto below = [&](uint64_t end) { return random() % end; };
    FakeRegions regions;
    regions.seed = seed;
    regions.exits_in = static_cast<uint32_t>(below(2) * (1 + below(20)));
    FakeTranslation fakes(regions, 1 + below(60));
    constexpr uint64_t kLanes = 10;
    const Program program = wandering(GetParam(), true);
    Fleet fleet = wanderers(Engine::translate, kLanes, 3000, program, 2);
    Fleet reference = wanderers(Engine::stepper, kLanes, 3000, program, 2);
    std::vector<std::pair<Snapshot, Snapshot>> snapshots;
    for (int step = 0; step < 60; step++) {
      const uint64_t action = below(8), amount = 1 + below(700), value = below(5), number = below(100);
      std::vector<uint32_t> lanes;
      for (uint32_t lane = 0; lane < kLanes; lane++) {
        if (below(3) == 0) lanes.push_back(lane);
      }
      for (Fleet* each : {&fleet, &reference}) {
        switch (action) {
          case 0:
            for (const uint32_t lane : lanes) {
              write_word(*each, lane, kPatchedWord, guest::add(5, 5, static_cast<uint32_t>(value)));
            }
            break;
          case 1:
            if (!lanes.empty()) each->protect(lanes, kCode, kPageBytes, kRead | (value < 2 ? 0 : kExecute | kWrite));
            break;
          case 2:
            set_each(*each, x(26), [&](uint64_t lane) { return (lane + value) % 3 ? kData : kPatchedWord; });
            break;
          case 3:
            if (snapshots.empty() || value == 0) break;
            each->restore(each == &fleet ? snapshots[number % snapshots.size()].first
                                         : snapshots[number % snapshots.size()].second);
            break;
          default: break;
        }
        RunOptions options = budget_of(amount);
        if (each == &fleet && value == 4) options.engine = Engine::interpreter;
        each->run(options);
        each->resume(all_lanes(*each));
        if (value == 3) each->protect(all_lanes(*each), kCode, kPageBytes, kRead | kWrite | kExecute);
      }
      if (action == 4 && snapshots.size() < 4) snapshots.emplace_back(fleet.snapshot(), reference.snapshot());
      ASSERT_TRUE(same_states(fleet, reference, "seed " + std::to_string(seed) + ", step " + std::to_string(step)));
    }
    EXPECT_GT(fleet.translation().translated, 0u);
  }
}

TEST(Translated, FlatMemoryThatTheHostWritesThroughAView) {
  FakeTranslation fakes({}, 5);
  FleetOptions options = options_for(Engine::translate, 6, 2);
  options.memory_policy = MemoryPolicy::shared;
  Fleet fleet(wandering(), options);
  options.engine = Engine::stepper;
  Fleet reference(wandering(), options);
  for (Fleet* each : {&fleet, &reference}) {
    prepare_wandering(*each, 400);
    for (uint32_t round = 0; round < 6; round++) {
      each->run(budget_of(600));
      const auto view = each->memory_view();
      for (int64_t lane = round % 2; lane < 6; lane += 2) {
        const uint32_t word = guest::add(5, 5, 10 + round);
        std::memcpy(static_cast<uint8_t*>(view.data) + lane * view.lane_stride + (kPatchedWord - kCode), &word, 4);
      }
    }
    each->run();
  }
  same_states(fleet, reference, "flat memory");
  EXPECT_GT(fleet.translation().translated, 0u);
}

TEST(Translated, ManyLanesMeetRegionsThatComeWhileTheyRun) {
  FakeTranslation fakes({}, 50, 2, false);
  Fleet fleet = wanderers(Engine::translate, 300, 600, wandering(6, true), 4);
  Fleet reference = wanderers(Engine::stepper, 300, 600, wandering(6, true), 2);
  for (Fleet* each : {&fleet, &reference}) {
    set_each(*each, x(26), [&](uint64_t lane) { return lane % 5 == 0 ? kPatchedWord : kData; });
    each->run();
  }
  same_states(fleet, reference, "many lanes");
  until([&] { return fleet.translation().regions > 0; });
  prepare_wandering(fleet, 50);
  fleet.fill(x(26), kData);
  fleet.fill(Field::pc, kCode);
  fleet.resume(all_lanes(fleet));
  fleet.run();
  EXPECT_GT(fleet.translation().translated, 0u);
}

TEST(Translated, LargeRegionsTakeThePlacesOfThoseThatLanesRun) {
  for (const bool at_once : {true, false}) {
    FakeRegions regions;
    regions.hot_for_long = 2;
    FakeTranslation fakes(regions, 20, 1, at_once);
    constexpr uint64_t kLanes = 100;
    Fleet fleet = wanderers(Engine::translate, kLanes, 800, wandering(), 4);
    Fleet reference = wanderers(Engine::stepper, kLanes, 800, wandering(), 2);
    const Snapshot begin = fleet.snapshot();
    reference.run();
    uint64_t runs = 0;
    do {
      fleet.restore(begin);
      fleet.run();
      ASSERT_TRUE(same_states(fleet, reference, "while large regions come"));
    } while (++runs < 3 || (!at_once && fakes.asked_large() == 0));  // other threads take their time
    EXPECT_GT(fakes.asked_large(), 0u);
    EXPECT_EQ(fleet.translation().refused, 0u) << "a large region can always take a place of a small one";
  }
}

TEST(Translated, ARegionThatStaysHotIsAskedForOnceMore) {
  for (const uint32_t hot_for_long : {0u, 3u}) {
    FakeRegions regions;
    regions.exits_in = 0;
    regions.hot_for_long = hot_for_long;
    FakeTranslation fakes(regions, 20);
    // A loop of one instruction: every look is at its entry.
    Fleet fleet(program_of({guest::b(0)}), options_for(Engine::translate, 1));
    for (int i = 0; i < 100; i++) fleet.run(budget_of(1000));
    EXPECT_EQ(fakes.asked().size(), 1u);
    EXPECT_EQ(fakes.asked_large(), hot_for_long == 0 ? 0u : 1u);
    EXPECT_EQ(fleet.translation().regions, hot_for_long == 0 ? 1u : 2u);
    EXPECT_EQ(fleet.get(Field::instructions, 0), 100'000u);
  }
}

TEST(Translated, LanesThatAreFollowedLeaveTheStepperResult) {
  for (const uint64_t interval : {1, 20, 90}) {
    for (const uint32_t followed : {1u, 7u, 500u}) {
      FakeRegions regions;
      regions.followed = followed;
      FakeTranslation fakes(regions, interval);
      // Lanes change their code, fault and reach budgets while they are followed.
      Fleet fleet = wanderers(Engine::translate, 30, 300, wandering(1, true), 2);
      Fleet reference = wanderers(Engine::stepper, 30, 300, wandering(1, true), 2);
      for (Fleet* each : {&fleet, &reference}) {
        set_each(*each, x(26), [](uint64_t lane) { return lane % 3 == 0 ? kPatchedWord : kData; });
      }
      for (const uint64_t budget : {1, 5, 70, 333, 1000, 100'000}) {
        for (Fleet* each : {&fleet, &reference}) each->run(budget_of(budget));
        ASSERT_TRUE(same_states(fleet, reference, std::to_string(followed) + " instructions"));
      }
      EXPECT_GT(fleet.translation().regions, 0u);
      const TranslationReport report = fleet.translation();
      const std::vector<uint64_t> counts = values_of(reference, Field::instructions);
      EXPECT_EQ(report.interpreted + report.translated, std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
    }
  }
}

TEST(Translated, ARegionHasOnlyWhatTheLaneRanThatWasFollowed) {
  // Of every 64 instructions of the loop, the lane jumps over 60.
  Words words;
  for (int i = 0; i < 4; i++) {
    words.push_back(guest::add(0, 0, 1));
    words.push_back(guest::b(62));
    words.resize(words.size() + 61, guest::add(1, 1, 1));
    words.push_back(guest::add(2, 2, 1));
  }
  words.push_back(guest::b(-256));
  for (const uint32_t followed : {0u, 100u}) {
    FakeRegions regions;
    regions.followed = followed;
    regions.most = 40;
    FakeTranslation fakes(regions, 20);
    Fleet fleet(program_of(words), options_for(Engine::translate, 1));
    fleet.run(budget_of(100'000));
    const TranslationReport report = fleet.translation();
    ASSERT_GT(report.regions, 2u);
    if (followed == 0) {
      EXPECT_GT(report.instructions, 8 * report.regions);
    } else {
      EXPECT_LE(report.instructions, 4 * report.regions) << "two words before a branch, two behind it";
    }
    EXPECT_EQ(fleet.get(x(1), 0), 0u);
  }
}

TEST(Translated, TwoFleetsAtOnce) {
  FakeTranslation fakes({}, 30, 2, false);
  Fleet reference = wanderers(Engine::stepper, 20, 900);
  reference.run();
  const auto want = states_of(reference);
  auto run = [&] {
    for (int again = 0; again < 5; again++) {
      Fleet fleet = wanderers(Engine::translate, 20, 900, wandering(), 2);
      fleet.run();
      expect_same(states_of(fleet), want, "one of two");
    }
  };
  std::thread other(run);
  run();
  other.join();
}

TEST(Translated, ATranslatorThatFailsLosesNothing) {
  FakeRegions regions;
  regions.hot_for_long = 0;
  std::atomic<uint64_t> calls{0};
  regions.allow = [&](uint64_t, std::string& why) {
    why = "it is Sunday";
    switch (calls++ % 4) {
      case 0: return false;
      case 1: throw std::bad_alloc();
      case 2: throw 7;
      default: return true;
    }
  };
  FakeTranslation fakes(regions, 10);
  Fleet fleet = wanderers(Engine::translate, 10, 700), reference = wanderers(Engine::stepper, 10, 700);
  for (Fleet* each : {&fleet, &reference}) each->run();
  same_states(fleet, reference, "after failures");
  const TranslationReport report = fleet.translation();
  EXPECT_GE(report.refused, 3u);
  EXPECT_EQ(report.refused, report.refusals.size());
  EXPECT_EQ(report.refusals[0].why, "it is Sunday");
  EXPECT_EQ(fakes.asked().size(), calls) << "no address is asked for twice";
}

TEST(Translated, WithoutATranslatorEverythingIsInterpreted) {
  FakeTranslation fakes({}, 10);
  myriarm::cpu::translation_setup().make = [](const auto&, const auto&, std::string& why) {
    why = "nobody is there";
    return nullptr;
  };
  Fleet fleet = wanderers(Engine::translate, 10, 700), reference = wanderers(Engine::stepper, 10, 700);
  EXPECT_EQ(fleet.translation().unavailable, "");
  for (Fleet* each : {&fleet, &reference}) each->run();
  same_states(fleet, reference, "without translator");
  EXPECT_EQ(fleet.translation().unavailable, "nobody is there");
  EXPECT_EQ(fleet.translation().translated, 0u);
  EXPECT_EQ(fleet.translation().regions, 0u);
}

TEST(Translated, ASlowTranslatorHoldsUpNoRun) {
  Gate gate;
  FakeRegions regions;
  regions.allow = [&](uint64_t, std::string&) { return gate.pass(), true; };
  FakeTranslation fakes(regions, 10, 1, false);
  Fleet fleet = wanderers(Engine::translate, 10, 700), reference = wanderers(Engine::stepper, 10, 700);
  for (Fleet* each : {&fleet, &reference}) each->run();
  same_states(fleet, reference, "while it translates");
  gate.wait_for_someone();
  EXPECT_EQ(fleet.translation().regions, 0u);
  gate.open();
}

TEST(Translated, ColdCodeMakesNoTranslator) {
  FakeTranslation fakes({}, 20, 1000);
  Fleet fleet = wanderers(Engine::translate, 1, 200);
  fleet.run();
  EXPECT_EQ(fakes.made(), 0u);
}

// The thread that translates is held in the translator while the process forks. So it is at work in every run of this
// test, and it holds no lock of a memory allocator, which gcc's address sanitizer would leave locked in the child.
TEST(Translated, AForkedChildHasFleetsOfItsOwn) {
  const pid_t parent = getpid();
  Gate gate;
  FakeRegions regions;
  regions.allow = [&](uint64_t, std::string&) {
    if (getpid() == parent) gate.pass();
    return true;
  };
  FakeTranslation fakes(regions, 30, 2, false);
  Fleet reference = wanderers(Engine::stepper, 20, 900);
  reference.run();
  const auto want = states_of(reference);
  FleetOptions options = options_for(Engine::translate, 20, 2);
  options.compile_threads = 1;
  Fleet fleet(wandering(), options);
  prepare_wandering(fleet, 900);
  fleet.run(budget_of(2000));
  gate.wait_for_someone();
  const pid_t child = fork();
  if (child == 0) {
    Fleet own = wanderers(Engine::translate, 20, 900, wandering(), 2);
    own.run();
    const auto have = states_of(own);
    bool same = true;
    for (size_t lane = 0; lane < want.size(); lane++) same &= difference(have[lane], want[lane]).empty();
    { Fleet gone = std::move(own); }
    _exit(same ? 0 : 1);
  }
  gate.open();
  ASSERT_GE(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  fleet.run();
  same_states(fleet, reference, "the parent");
}

}  // namespace
}  // namespace fleet_test
