// SPDX-License-Identifier: Apache-2.0
// Random programs (generate/programs.h) in translated code against the CPU's interpreter, or its stepper: copied code, compiled
// code, both with lanes that change between the tiers wherever they can, and the smallest regions. Runs are cut by budgets, by
// cancels and by changes of engine; lanes go on behind their faults; the host changes permissions and code between runs.
// Registers, memory, permissions, counts and stops of all lanes are the same at several places of each program.
//   tiers_test --kind changing --instructions 100000000 --seed 1 --each 40000 --lanes 64
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "backends/cpu/translated/setup.h"
#include "cases.h"
#include "generate/programs.h"
#include "myriarm/isa.h"
#include "myriarm/process.h"

namespace myriarm::differential {
namespace {

using Wandering = WanderingLayout;

constexpr int kSkipped = 77;
constexpr u32 kStages = 4;        // of a program, with a comparison behind each
constexpr u32 kMostRepairs = 40;  // of a lane in a stage
constexpr u64 kPages = Wandering::window_bytes / kPageBytes;

constexpr const char* kKinds[] = {"copied", "compiled", "changing", "smallest"};

constexpr const char* kUsage =
    "Usage: tiers_test [--kind copied|compiled|changing|smallest|all] [--device ID] [--instructions N] [--each N] "
    "[--lanes N]\n"
    "                  [--seed N] [--code written|kept]\n"
    "Runs N random instructions or more, --each of them in a lane of a program, and compares with the CPU's "
    "interpreter.\n"
    "kept: nobody writes or protects code. A team of a GPU whose code was written is interpreted until most teams run "
    "the same.\n";

struct Options {
  std::string kind = "all", device;
  u64 instructions = 1'000'000, each = 4000, seed = 1;
  u32 lanes = 16;
  bool keeps_code = false;
};

bool parse(int argc, char** argv, Options& options) {
  const char* device = std::getenv("MYRIARM_TEST_DEVICE");
  options.device = device != nullptr ? device : "cpu";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const auto number = [&] { return std::strtoull(argv[i + 1], nullptr, 0); };
    if (name == "--kind") options.kind = argv[i + 1];
    else if (name == "--device") options.device = argv[i + 1];
    else if (name == "--instructions") options.instructions = number();
    else if (name == "--each") options.each = std::max<u64>(number(), kStages);
    else if (name == "--seed") options.seed = number();
    else if (name == "--code" && argv[i + 1] == std::string_view("kept")) options.keeps_code = true;
    else if (name == "--code" && argv[i + 1] == std::string_view("written")) options.keeps_code = false;
    else if (name == "--lanes") options.lanes = static_cast<u32>(std::max<u64>(number(), 1));
    else return false;
  }
  const bool known =
      options.kind == "all" || std::find(std::begin(kKinds), std::end(kKinds), options.kind) != std::end(kKinds);
  return argc % 2 == 1 && known;
}

/// Processes without input, whose output nobody keeps.
class Host final : public ProcessHost {
 public:
  GivenInput input(uint32_t) const override { return {}; }
  PutOut put_out(uint32_t, unsigned, uint64_t, std::span<const uint8_t> bytes) override {
    return {PutOut::Kind::taken, bytes.size()};
  }
  void unimplemented(HostedCall&) override {}
  void before(HostedCall&) override {}
  void after(HostedCall&, const int64_t*) override {}
  void saved(uint64_t, std::span<const uint32_t>) override {}
  void restored(uint64_t, std::span<const uint32_t>, std::span<const uint32_t>) override {}
  void dropped(uint64_t) override {}
};

/// How the fleets that are made from now on translate.
void set_up(const std::string& kind, Random& random) {
  cpu::TranslationSetup setup;
  setup.may_cache = false;
  setup.at_once = true;
  setup.interval = 1 + random.below(32);
  setup.followed = 0;
  const bool copies = kind != "compiled", compiles = kind != "copied";
  setup.hot_for_stencils = copies ? 1 : 0;
  setup.exits_for_stencils = 1;
  setup.hot = compiles ? 4 : 0;
  setup.hot_in_stencils = compiles ? 2 : 0;
  setup.hot_for_long = compiles ? 4 : 0;
  const bool smallest = kind == "smallest";
  setup.longest_run = 60;
  setup.stencil_limits.instructions = smallest ? 1 : static_cast<u32>(1 + random.below(60));
  setup.limits.instructions = setup.limits_after_stencils.instructions =
      smallest ? 1 : static_cast<u32>(1 + random.below(30));
  setup.large_limits.instructions = smallest ? 2 : static_cast<u32>(setup.limits.instructions + random.below(30));
  if (kind == "changing" || smallest) {
    setup.longest_visit = static_cast<u32>(1 + random.below(50));
    setup.change_seed = random.next();
  }
  cpu::translation_setup() = setup;
  // The same for a GPU.
  setenv("MYRIARM_TRANSLATE_ALL", "words", 1);
  if (setup.longest_visit != 0) setenv("MYRIARM_TRANSLATE_VISITS", std::to_string(setup.longest_visit).c_str(), 1);
  else unsetenv("MYRIARM_TRANSLATE_VISITS");
}

/// A lane that has a stop goes on: past the instruction that was refused, or from the beginning if it has no code there. How
/// often it may depends on the lane alone, so that it does not matter how runs are cut.
class Repairs {
 public:
  Repairs(Fleet& fleet, u64 start) : fleet_(fleet), start_(start), left_(fleet.lanes(), kMostRepairs) {}
  /// Whether any lane goes on.
  bool make() {
    std::vector<u32> lanes;
    std::vector<u64> pcs;
    const std::vector<Stop> stops(fleet_.stops().begin(), fleet_.stops().end());
    for (u32 lane = 0; lane < stops.size(); lane++) {
      const StopReason reason = stops[lane].reason;
      if (reason == StopReason::budget || reason == StopReason::cancelled || reason == StopReason::none ||
          reason == StopReason::exited || left_[lane] == 0) {
        continue;
      }
      left_[lane]--;
      const u64 pc = fleet_.get(Field::pc, lane);
      const bool passes = reason == StopReason::fault && stops[lane].address != pc;
      lanes.push_back(lane);
      pcs.push_back(passes ? pc + 4 : start_);
    }
    if (lanes.empty()) return false;
    fleet_.set(Field::pc, lanes, pcs);
    fleet_.resume(lanes);
    repaired += lanes.size();
    return true;
  }
  u64 repaired = 0;

 private:
  Fleet& fleet_;
  const u64 start_;
  std::vector<u32> left_;
};

/// What both fleets get at the beginning of a stage.
struct Change {
  std::vector<u64> limits;
  std::vector<u32> protected_lanes, written_lanes;
  u64 page = 0, address = 0;
  u32 permissions = 0, word = 0;
};

class Comparison {
 public:
  Comparison(const Options& options, const std::string& kind, u64 seed)
      : options_(options),
        kind_(kind),
        seed_(seed),
        random_(batch_seed(seed, 7)),
        made_(wandering_program(random_, options.keeps_code)) {
    for (u32 n = 0; n < 32; n++) {
      for (u32 lane = 0; lane < options_.lanes; lane++) registers_[n].push_back(first_wandering_value(random_, n));
    }
    for (u32 lane = 0; lane < options_.lanes; lane++) {
      starts_.push_back(random_.one_in(2) ? made_.start : made_.starts[random_.below(made_.starts.size())]);
    }
    fpcr_ = random_.one_in(2) ? 0 : random_.below(4) << 22;
  }

  /// Whether the fleets agree everywhere.
  bool run() {
    Fleet reference = fleet("cpu");
    set_up(kind_, random_);
    Fleet tested = fleet(options_.device);
    const Engine engine = random_.one_in(4) ? Engine::stepper : Engine::interpreter;
    std::vector<u64> limits(options_.lanes);
    for (u32 stage = 0; stage < kStages; stage++) {
      for (u64& limit : limits) limit += 1 + random_.below(2 * options_.each / kStages);
      const Change change = next_change(limits);
      for (Fleet* each : {&reference, &tested}) apply(*each, change);
      Repairs of_reference(reference, made_.start), of_tested(tested, made_.start);
      do {
        RunOptions whole;
        whole.engine = engine;
        reference.run(whole);
      } while (of_reference.make());
      run_in_pieces(tested, of_tested);
      repaired += of_tested.repaired;
      if (!same(reference, tested, stage)) return false;
    }
    report = tested.translation();
    return true;
  }

  TranslationReport report;
  u64 instructions = 0, repaired = 0, cancels = 0, pieces = 0;

 private:
  Fleet fleet(const std::string& device) {
    FleetOptions options;
    options.device = device;
    options.lanes = options_.lanes;
    options.memory = Wandering::window_bytes;
    options.threads = 1 + random_.below(2);
    options.translation_cache = false;
    options.processes.host = std::make_shared<Host>();
    options.processes.keep_memory = true;
    Fleet made(made_.program, options);
    for (u32 n = 0; n < 32; n++) made.set_all(n == 31 ? Field::sp : x(n), registers_[n]);
    made.set_all(Field::pc, starts_);
    made.fill(Field::fpcr, fpcr_);
    return made;
  }

  std::vector<u32> some_lanes() {
    std::vector<u32> chosen;
    const u64 share = 1 + random_.below(4);
    for (u32 lane = 0; lane < options_.lanes; lane++) {
      if (random_.below(share) == 0) chosen.push_back(lane);
    }
    return chosen;
  }
  Change next_change(const std::vector<u64>& limits) {
    Change change;
    change.limits = limits;
    if (random_.one_in(2)) {
      change.protected_lanes = some_lanes();
      const bool of_code = random_.one_in(2) && !options_.keeps_code;
      change.page = of_code ? Wandering::written + random_.below(2) * kPageBytes
                            : Wandering::data + random_.below(4) * kPageBytes;
      change.permissions = of_code ? kRead | kExecute : kRead;
      if (random_.one_in(of_code ? 2 : 3) == of_code) change.permissions |= kWrite;
    }
    if (random_.one_in(2) && !options_.keeps_code) {
      change.written_lanes = some_lanes();
      change.address = Wandering::written + 4 * random_.below(56);
      change.word = random_.one_in(2) ? 0x91000421 : 0xD503201F;  // ADD X1, X1, #1; NOP
    }
    return change;
  }
  static void apply(Fleet& fleet, const Change& change) {
    fleet.set_all(Field::limit, change.limits);
    if (!change.protected_lanes.empty()) {
      fleet.protect(change.protected_lanes, change.page, kPageBytes, change.permissions);
    }
    u8 bytes[4];
    std::memcpy(bytes, &change.word, sizeof bytes);
    for (const u32 lane : change.written_lanes) fleet.write(lane, change.address, bytes);
  }

  RunOptions some_run() {
    RunOptions options;
    options.instructions = 1 + random_.below(random_.one_in(3) ? 20 : options_.each / 4 + 1);
    constexpr Mode kModes[] = {Mode::run, Mode::run, Mode::continuous, Mode::mega};
    options.mode = kModes[random_.below(std::size(kModes))];
    options.instructions_per_batch = std::max<u64>(1 + random_.below(300), options.instructions / 8);
    if (random_.one_in(4)) options.lanes = some_lanes();
    if (options.lanes && options.lanes->empty()) options.lanes.reset();
    constexpr Engine kOthers[] = {Engine::interpreter, Engine::stepper};
    options.engine = random_.one_in(5) ? kOthers[random_.below(2)] : Engine::translate;
    return options;
  }
  /// Until no lane has anything left to do in the stage.
  void run_in_pieces(Fleet& fleet, Repairs& repairs) {
    for (u32 piece = random_.below(12); piece > 0; piece--) {
      const RunOptions options = some_run();
      pieces++;
      if (random_.one_in(4)) {
        fleet.start(options);
        fleet.cancel();  // the run ends anywhere, or has not begun
        instructions += fleet.wait()->instructions;
        fleet.take_cancel();  // the run had ended before
        cancels++;
      } else {
        instructions += fleet.run(options).instructions;
      }
      if (random_.one_in(2)) repairs.make();
    }
    RunOptions whole;
    whole.engine = Engine::translate;
    do {
      instructions += fleet.run(whole).instructions;
    } while (repairs.make());
  }

  bool same(Fleet& reference, Fleet& tested, u32 stage) {
    const u32 lanes = options_.lanes;
    std::vector<std::string> differs(lanes);
    std::vector<u64> want(lanes), have(lanes);
    std::vector<Field> fields = compared_fields(true);
    fields.push_back(Field::instructions);
    for (const Field field : fields) {
      reference.get_all(field, want);
      tested.get_all(field, have);
      for (u32 lane = 0; lane < lanes; lane++) {
        if (want[lane] == have[lane]) continue;
        char text[100];
        std::snprintf(text, sizeof text, "\n  field %u: %016" PRIx64 ", not %016" PRIx64, static_cast<u32>(field),
                      have[lane], want[lane]);
        differs[lane] += text;
      }
    }
    for (u32 lane = 0; lane < lanes; lane++) {
      const Stop a = reference.stops()[lane], b = tested.stops()[lane];
      if (a.reason != b.reason || a.fault != b.fault || a.detail != b.detail || a.address != b.address) {
        differs[lane] += std::string("\n  stop: ") + name(b.reason) + ", not " + name(a.reason);
      }
    }
    constexpr u32 kAtOnce = 64;
    for (u32 first = 0; first < lanes; first += kAtOnce) {
      const u32 count = std::min(kAtOnce, lanes - first);
      const std::vector<u8> a = memory_of(reference, first, count), b = memory_of(tested, first, count);
      for (u32 lane = 0; lane < count; lane++) {
        for (u64 page = 0; page < kPages; page++) {
          const u64 at = (lane * kPages + page) * (kPageBytes + 1);
          if (std::memcmp(&a[at], &b[at], kPageBytes + 1) == 0) continue;
          char text[60];
          std::snprintf(text, sizeof text, "\n  memory: the page at %" PRIx64, Wandering::code + page * kPageBytes);
          differs[first + lane] += text;
        }
      }
    }
    u32 told = 0;
    for (u32 lane = 0; lane < lanes && told < 2; lane++) {
      if (differs[lane].empty()) continue;
      told++;
      std::printf("DIFFERENT: lane %u, seed %" PRIu64 ", stage %u, kind %s%s\n", lane, seed_, stage, kind_.c_str(),
                  differs[lane].c_str());
      const u64 pc = reference.get(Field::pc, lane);
      for (u64 at = pc - 40; at < pc + 12; at += 4) {
        if (at < Wandering::code || at >= Wandering::tables) continue;
        u32 word = 0;
        std::memcpy(&word, reference.read(lane, at, 4).data(), 4);
        std::printf("  %s%8" PRIx64 "  %s\n", at == pc ? ">" : " ", at, disassemble(word, at).c_str());
      }
    }
    if (told != 0) {
      std::printf("reproduce: tiers_test --device %s --kind %s --seed %" PRIu64 " --lanes %u --each %" PRIu64
                  " --instructions 1 --code %s\n",
                  options_.device.c_str(), kind_.c_str(), seed_, options_.lanes, options_.each,
                  options_.keeps_code ? "kept" : "written");
    }
    return told == 0;
  }
  /// Of each page of these lanes its bytes, and its permissions behind them.
  static std::vector<u8> memory_of(const Fleet& fleet, u32 first, u32 count) {
    std::vector<u8> bytes(count * kPages * (kPageBytes + 1)), permissions(count * kPages);
    std::vector<Transfer> transfers;
    std::vector<u32> lanes;
    for (u32 lane = 0; lane < count; lane++) {
      lanes.push_back(first + lane);
      for (u64 page = 0; page < kPages; page++) {
        transfers.push_back({first + lane, static_cast<u32>(kPageBytes), Wandering::code + page * kPageBytes,
                             (lane * kPages + page) * (kPageBytes + 1)});
      }
    }
    fleet.read(transfers, bytes);
    fleet.permissions(lanes, Wandering::code, Wandering::window_bytes, permissions);
    for (u64 page = 0; page < permissions.size(); page++)
      bytes[page * (kPageBytes + 1) + kPageBytes] = permissions[page];
    return bytes;
  }

  const Options& options_;
  const std::string kind_;
  const u64 seed_;
  Random random_;
  const WanderingProgram made_;
  std::vector<u64> registers_[32], starts_;
  u64 fpcr_ = 0;
};

/// What a kind has run.
struct Tally {
  u64 programs = 0, instructions = 0, repaired = 0, cancels = 0, pieces = 0, interpreted = 0, translated = 0,
      copied = 0;
  std::string why_not;  // something was not translated
  void add(const Comparison& more) {
    programs++;
    instructions += more.instructions;
    repaired += more.repaired;
    cancels += more.cancels;
    pieces += more.pieces;
    interpreted += more.report.interpreted;
    translated += more.report.translated;
    copied += more.report.translated_by_copying;
    if (!more.report.unavailable.empty()) why_not = more.report.unavailable;
    else if (!more.report.refusals.empty()) why_not = more.report.refusals.front().why;
  }
  void print(const std::string& kind) const {
    std::printf(
        "%-8s  %" PRIu64 " instructions of %" PRIu64 " programs: %" PRIu64 " interpreted, %" PRIu64 " copied, %" PRIu64
        " compiled; %" PRIu64 " runs, %" PRIu64 " of them cancelled, %" PRIu64 " stops passed\n",
        kind.c_str(), instructions, programs, interpreted, copied, translated - copied, pieces, cancels, repaired);
    std::fflush(stdout);
  }
};

int run(const Options& options) {
  for (const std::string kind : kKinds) {
    if (options.kind != "all" && options.kind != kind) continue;
    const u64 wanted = options.kind == "all" ? options.instructions / std::size(kKinds) : options.instructions;
    Tally tally;
    for (u64 seed = options.seed, next = wanted / 20; tally.instructions < wanted; seed++) {
      Comparison comparison(options, kind, seed);
      if (!comparison.run()) return 1;
      tally.add(comparison);
      if (tally.instructions < next || wanted < 10'000'000) continue;
      tally.print(kind);  // progress
      next += wanted / 20;
    }
    tally.print(kind);
    if (tally.translated == 0) {
      std::printf("Nothing was translated: this build, or this device, has no such tier%s%s\n",
                  tally.why_not.empty() ? "" : ": ", tally.why_not.c_str());
      return options.kind == "all" ? 1 : kSkipped;
    }
    if (tally.interpreted == 0 || tally.repaired == 0 || tally.cancels == 0 ||
        tally.translated < tally.instructions / 20) {
      std::printf("The programs see too little of what this test is for\n");
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace myriarm::differential

int main(int argc, char** argv) {
  using namespace myriarm;
  differential::Options options;
  if (!differential::parse(argc, argv, options)) {
    std::fputs(differential::kUsage, stderr);
    return 2;
  }
  if (const std::string why = myriarm::why_unusable("cuda"); options.device.starts_with("cuda") && !why.empty()) {
    std::printf("Skipped: %s\n", why.c_str());
    return differential::kSkipped;
  }
  try {
    return differential::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tiers_test: %s\n", error.what());
    return 2;
  }
}
