// SPDX-License-Identifier: Apache-2.0
// Random sequences of runs, writes, maps, snapshots, restores, forks and transactions, compared with a model: a second
// fleet without snapshots, restores, forks and transactions, in which the test writes registers and pages instead.
#include <map>

#include "mode_fixture.h"

namespace fleet_test {
namespace {

using myriarm::Placement;

constexpr uint32_t kAll = kRead | kWrite | kExecute;
constexpr uint64_t kWindow = 16 * kPageBytes;
constexpr uint64_t kPages = kWindow / kPageBytes;
constexpr uint64_t kHeap = kCode + 2 * kPageBytes;  // 6 pages
constexpr int kUnmappedPage = -1;

/// What the wandering program changes, as fields that are compared after each step.
const std::vector<Field> kTouched = {x(1),        x(2),      x(4),      x(5),        x(6),
                                     x(7),        x(19),     x(21),     x(23),       x(24),
                                     x(30),       Field::sp, Field::pc, Field::nzcv, Field::instructions,
                                     Field::limit};

Program random_program(uint8_t seed) {
  Words words = wandering_program(true);
  words[0] = seed == 0 ? words[0] : guest::madd(19, 20, 19, 22);  // another encoding of the same
  Program program;
  program.name = "random";
  program.entry = kCode;
  program.stack_pointer = kCode + kWindow;
  auto bytes = [&](uint64_t address, uint64_t size) {
    std::vector<uint8_t> made = initial_bytes(address, size);
    for (uint8_t& byte : made) byte = static_cast<uint8_t>(byte + seed);
    return made;
  };
  program.segments = {{kCode, kPageBytes, kAll, bytes_of(words)},
                      {kHeap, 6 * kPageBytes, kRead | kWrite, bytes(kHeap, 4 * kPageBytes)},
                      {kCode + 10 * kPageBytes, kPageBytes, kRead, bytes(kCode, kPageBytes)}};
  return program;
}

/// One lane of the model.
struct Model {
  LaneState state;               // with the first fields of RandomSequence::changed_
  std::vector<int> permissions;  // of each page, or kUnmappedPage
};

class RandomSequence {
 public:
  RandomSequence(MemoryPolicy policy, uint64_t lanes, uint32_t seed)
      : policy_(policy),
        random_(seed),
        tested_(placements(lanes), options(lanes, policy)),
        plain_(placements(lanes), options(lanes, MemoryPolicy::private_copy)),
        permissions_(lanes, std::vector<int>(kPages, kUnmappedPage)) {
    for (auto& pages : permissions_) {
      pages[0] = kAll;
      for (uint64_t page = 2; page < 8; page++) pages[page] = kRead | kWrite;
      pages[10] = kRead;
    }
    for (Fleet* fleet : {&tested_, &plain_}) {
      prepare_wandering(*fleet, uint64_t{1} << 40);
      fleet->fill(x(21), kHeap);
    }
  }

  void step(int number) {
    switch (below(policy_ == MemoryPolicy::transactional ? 18 : 16)) {
      case 0:
      case 1:
      case 2:
      case 3: run(); break;
      case 4:
      case 5: write(); break;
      case 6: map(); break;
      case 7: protect(); break;
      case 8:
      case 9: take(); break;
      case 10:
      case 11: restore(); break;
      case 12:
      case 13: fork(); break;
      case 14: drop(); break;
      case 15: aim(); break;
      case 16: commit(); break;
      default: rollback(); break;
    }
    const bool thorough = number % 10 == 9;
    const std::vector<Field>& fields = thorough ? every_field_ : kTouched;
    expect_same(states_of(tested_, kCode, kCode + kWindow, fields), states_of(plain_, kCode, kCode + kWindow, fields),
                "step " + std::to_string(number) + ", " + what_);
    // What a poll tells is the same.
    std::vector<uint64_t> polled(lanes()), counts(lanes());
    std::vector<Signal> signals(lanes());
    tested_.poll_lanes(polled, signals);
    tested_.get_all(Field::instructions, counts);
    EXPECT_EQ(polled, counts) << "step " << number << ", " << what_;
    for (uint64_t lane = 0; lane < lanes(); lane++) {
      EXPECT_EQ(signals[lane], signal_of(tested_.stops()[lane].reason)) << "step " << number << ", " << what_;
    }
  }

 private:
  struct Kept {
    Snapshot snapshot;
    std::vector<uint32_t> lanes;
    std::vector<Model> models;  // of these lanes
  };

  static std::vector<Placement> placements(uint64_t lanes) {
    if (lanes <= 32) return {{random_program(0), lanes}};
    return {{random_program(0), 32}, {random_program(1), lanes - 32}};
  }
  static FleetOptions options(uint64_t lanes, MemoryPolicy policy) { return options_of(lanes, policy, kWindow); }

  uint64_t below(uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random_); }
  uint64_t lanes() const { return tested_.lanes(); }
  uint32_t some_lane() { return static_cast<uint32_t>(below(lanes())); }
  /// All, one team or a part of it, or here and there.
  std::vector<uint32_t> some_lanes() {
    std::vector<uint32_t> chosen;
    const uint64_t kind = below(4), team = below((lanes() + 31) / 32), share = 1 + below(8);
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      if (kind == 0 || (kind == 1 && lane / 32 == team) || (kind >= 2 && below(share + kind - 2) == 0)) {
        chosen.push_back(lane);
      }
    }
    if (chosen.empty()) chosen.push_back(some_lane());
    return chosen;
  }
  /// The same in both.
  template <class Call>
  void both(Call call) {
    call(tested_);
    call(plain_);
  }

  std::vector<Model> models_of(const std::vector<uint32_t>& chosen) {
    std::vector<LaneState> states = states_of(plain_, kCode, kCode + kWindow, changed_);
    std::vector<Model> models;
    for (uint32_t lane : chosen) models.push_back({states[lane], permissions_[lane]});
    return models;
  }

  /// Gives lanes of the model fleet the states `models`, by writing registers and pages.
  void assign(const std::vector<uint32_t>& to, const std::vector<const Model*>& models) {
    std::vector<uint64_t> values(to.size());
    for (size_t f = 0; f < changed_.size(); f++) {
      for (size_t i = 0; i < to.size(); i++) {
        const std::vector<uint64_t>& kept = models[i]->state.fields;
        values[i] = f < kept.size() ? kept[f] : 0;  // before aim() set the field for the first time, it was 0
      }
      plain_.set(changed_[f], to, values);
    }
    std::vector<Stop> stops;
    for (const Model* model : models) stops.push_back(model->state.stop);
    plain_.set_stops(to, stops);
    std::vector<Transfer> transfers;
    std::vector<uint8_t> buffer;
    for (uint64_t page = 0; page < kPages; page++) {
      std::map<int, std::vector<uint32_t>> to_map, to_protect;  // by the permissions that lanes are to have
      std::vector<uint32_t> to_unmap;
      for (size_t i = 0; i < to.size(); i++) {
        const int have = permissions_[to[i]][page], wanted = models[i]->permissions[page];
        if (have == wanted) continue;
        if (wanted == kUnmappedPage) to_unmap.push_back(to[i]);
        else (have == kUnmappedPage ? to_map : to_protect)[wanted].push_back(to[i]);
      }
      const uint64_t address = kCode + page * kPageBytes;
      plain_.unmap(to_unmap, address, kPageBytes);
      for (const auto& [wanted, some] : to_map) plain_.map(some, address, kPageBytes, static_cast<uint32_t>(wanted));
      for (const auto& [wanted, some] : to_protect) {
        plain_.protect(some, address, kPageBytes, static_cast<uint32_t>(wanted));
      }
    }
    for (size_t i = 0; i < to.size(); i++) {
      for (uint64_t page = 0; page < kPages; page++) {
        if (models[i]->permissions[page] == kUnmappedPage) continue;
        transfers.push_back({to[i], kPageBytes, kCode + page * kPageBytes, buffer.size()});
        auto from = models[i]->state.memory.begin() + static_cast<std::ptrdiff_t>(page * kPageBytes);
        buffer.insert(buffer.end(), from, from + kPageBytes);
      }
    }
    plain_.write(transfers, buffer);
    for (size_t i = 0; i < to.size(); i++) permissions_[to[i]] = models[i]->permissions;
  }

  void run() {
    // Lanes that have stopped for good go back to the start of the program, mostly.
    std::vector<uint32_t> stopped;
    for (uint32_t lane = 0; lane < lanes(); lane++) {
      const StopReason reason = plain_.stops()[lane].reason;
      if (reason != StopReason::none && reason != StopReason::budget && below(3) != 0) stopped.push_back(lane);
    }
    const uint64_t budget = 1 + below(below(2) == 0 ? 40 : 400);
    what_ = "run of " + std::to_string(budget);
    both([&](Fleet& fleet) {
      fleet.set(Field::pc, stopped, std::vector<uint64_t>(stopped.size(), kCode));
      fleet.resume(stopped);
    });
    if (policy_ == MemoryPolicy::transactional && transaction_.empty()) transaction_ = models_of(all_lanes(plain_));
    const uint64_t per_batch = 1 + below(150);
    RunResult have = drive(tested_, kHows[below(std::size(kHows))], budget_of(budget, per_batch));
    RunResult want = plain_.run(budget_of(budget));
    EXPECT_EQ(have.instructions, want.instructions);
    EXPECT_EQ(have.stops, want.stops);
  }

  void write() {
    const bool code = below(6) == 0;
    what_ = code ? "write of code" : "write";
    std::vector<uint32_t> chosen = some_lanes();
    std::vector<Transfer> transfers;
    std::vector<uint8_t> buffer;
    for (uint32_t lane : chosen) {
      uint32_t size = static_cast<uint32_t>(1 + below(below(4) == 0 ? 6000 : 16));
      uint64_t address = kCode + below(kWindow);
      if (code) {
        // The constant of an ADD that the program has at kPatchedWord.
        uint32_t word = guest::add(5, 5, static_cast<uint32_t>(below(4096)));
        address = kPatchedWord;
        size = 4;
        transfers.push_back({lane, size, address, buffer.size()});
        for (int byte = 0; byte < 4; byte++) buffer.push_back(static_cast<uint8_t>(word >> 8 * byte));
        continue;
      }
      if (address < kCode + kPageBytes) address += kPageBytes;  // not into the code
      transfers.push_back({lane, size, address, buffer.size()});
      for (uint32_t i = 0; i < size; i++) buffer.push_back(static_cast<uint8_t>(below(256)));
    }
    std::vector<uint32_t> have(transfers.size()), want(transfers.size());
    tested_.write(transfers, buffer, have);
    plain_.write(transfers, buffer, want);
    EXPECT_EQ(have, want);
  }

  struct Pages {
    uint64_t first, count;
    uint64_t address() const { return kCode + first * kPageBytes; }
    uint64_t bytes() const { return count * kPageBytes; }
  };
  /// Some pages, rarely those of the code.
  Pages some_pages() {
    const uint64_t first = below(12) == 0 ? 0 : 1 + below(kPages - 1);
    return {first, 1 + below(std::min<uint64_t>(3, kPages - first))};
  }
  void map() {
    what_ = "map";
    const std::vector<uint32_t> chosen = some_lanes();
    const Pages pages = some_pages();
    const bool mapped = below(4) != 0;
    const auto permissions = static_cast<uint32_t>(below(3) == 0 ? below(8) : kRead | kWrite);
    both([&](Fleet& fleet) {
      if (mapped) fleet.map(chosen, pages.address(), pages.bytes(), permissions);
      else fleet.unmap(chosen, pages.address(), pages.bytes());
    });
    for (uint32_t lane : chosen) {
      for (uint64_t page = pages.first; page < pages.first + pages.count; page++) {
        permissions_[lane][page] = mapped ? static_cast<int>(permissions) : kUnmappedPage;
      }
    }
  }
  void protect() {
    what_ = "protect";
    const std::vector<uint32_t> chosen = some_lanes();
    const Pages pages = some_pages();
    const auto permissions = static_cast<uint32_t>(below(8));
    both([&](Fleet& fleet) { fleet.protect(chosen, pages.address(), pages.bytes(), permissions); });
    for (uint32_t lane : chosen) {
      for (uint64_t page = pages.first; page < pages.first + pages.count; page++) {
        int& have = permissions_[lane][page];
        if (have != kUnmappedPage) have = static_cast<int>(permissions);
      }
    }
  }

  void take() {
    what_ = "snapshot";
    std::vector<uint32_t> chosen = below(2) == 0 ? all_lanes(tested_) : some_lanes();
    Kept made{tested_.snapshot(chosen), chosen, models_of(chosen)};
    if (kept_.size() < 6) kept_.push_back(std::move(made));
    else kept_[below(6)] = std::move(made);
  }
  void drop() {
    what_ = "drop";
    if (!kept_.empty()) kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(below(kept_.size())));
  }
  void restore() {
    if (kept_.empty()) return take();
    const Kept& kept = kept_[below(kept_.size())];
    std::vector<uint32_t> chosen;
    std::vector<const Model*> models;
    const uint64_t share = 1 + below(3);
    const bool all = below(2) == 0;
    for (size_t i = 0; i < kept.lanes.size(); i++) {
      if (!all && below(share) != 0) continue;
      chosen.push_back(kept.lanes[i]);
      models.push_back(&kept.models[i]);
    }
    what_ = "restore of " + std::to_string(chosen.size()) + " of " + std::to_string(kept.lanes.size()) + " lanes";
    if (all) tested_.restore(kept.snapshot);
    else tested_.restore(kept.snapshot, chosen);
    assign(chosen, models);
  }
  void fork() {
    const uint32_t from = some_lane();
    const std::vector<uint32_t> targets = some_lanes();
    what_ = "fork of lane " + std::to_string(from) + " to " + std::to_string(targets.size());
    tested_.fork(from, targets);
    const std::vector<Model> models = models_of({from});
    assign(targets, std::vector<const Model*>(targets.size(), &models[0]));
  }

  /// Sets a field that the program does not need, or sends lanes to other data.
  void aim() {
    const std::vector<uint32_t> chosen = some_lanes();
    if (below(2) == 0) {
      const Field unused[] = {x(9), x(28), Field::sp, Field::nzcv, Field::tpidr, Field::fpcr, Field::fpsr};
      const Field field = below(2) == 0 ? unused[below(std::size(unused))]
                                        : static_cast<Field>(static_cast<uint64_t>(Field::v0_low) + below(64));
      what_ = "set";
      if (std::find(changed_.begin(), changed_.end(), field) == changed_.end()) changed_.push_back(field);
      std::vector<uint64_t> values(chosen.size());
      for (uint64_t& value : values) value = random_();
      return both([&](Fleet& fleet) { fleet.set(field, chosen, values); });
    }
    what_ = "aim";
    std::vector<uint64_t> bases, seeds;
    for (size_t i = 0; i < chosen.size(); i++) {
      bases.push_back(kCode + below(14) * kPageBytes + kPageBytes + below(64));
      seeds.push_back(random_() * 0x9E3779B97F4A7C15);
    }
    both([&](Fleet& fleet) {
      fleet.set(x(21), chosen, bases);
      fleet.set(x(19), chosen, seeds);
      fleet.set(Field::pc, chosen, std::vector<uint64_t>(chosen.size(), kCode));
      fleet.resume(chosen);
    });
  }

  void commit() {
    what_ = "commit";
    tested_.commit();
    transaction_.clear();
  }
  void rollback() {
    what_ = transaction_.empty() ? "rollback of nothing" : "rollback";
    tested_.rollback();
    if (transaction_.empty()) return;
    std::vector<const Model*> models;
    for (const Model& model : transaction_) models.push_back(&model);
    assign(all_lanes(plain_), models);
    transaction_.clear();
  }

  const std::vector<Field> every_field_ = all_fields();
  std::vector<Field> changed_ = kTouched;  // the fields that are not as the fleets began, and so belong to a model
  MemoryPolicy policy_;
  std::mt19937_64 random_;
  Fleet tested_, plain_;
  std::vector<std::vector<int>> permissions_;  // of every lane's pages
  std::vector<Kept> kept_;
  std::vector<Model> transaction_;  // every lane as the transaction began; empty if there is none
  std::string what_;
};

class RandomSnapshots : public testing::TestWithParam<std::tuple<MemoryPolicy, uint64_t, uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(All, RandomSnapshots,
                         testing::Combine(testing::ValuesIn(kWritablePolicies), testing::Values(1, 5, 40, 70),
                                          testing::Values(1u, 2u, 3u, 4u)),
                         [](const auto& info) {
                           return std::string(policy_name(std::get<0>(info.param))) + "_" +
                                  std::to_string(std::get<1>(info.param)) + "_seed_" +
                                  std::to_string(std::get<2>(info.param));
                         });

TEST_P(RandomSnapshots, AreWhatThePlainModelIs) {
  auto [policy, lanes, seed] = GetParam();
  RandomSequence sequence(policy, lanes, seed * 1000003 + static_cast<uint32_t>(lanes));
  // More lanes take longer, and show as much in a shorter sequence.
  const int steps = lanes == 70 ? 150 : 300;
  for (int step = 0; step < steps && !testing::Test::HasFailure(); step++) sequence.step(step);
}

}  // namespace
}  // namespace fleet_test
