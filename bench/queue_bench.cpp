// SPDX-License-Identifier: Apache-2.0
// Executions a second: a queue of different inputs of 256 bytes for the parser of bench/guests/parse.c, or another program,
// for some seconds. Inputs are made here, and each becomes a digest. The first digests are compared with those of the CPU. It
// needs only the C library, so that it can be copied to a GPU machine.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "measure.h"
#include "myriarm/queue.h"

namespace myriarm::bench {
namespace {

struct Settings {
  std::string device = "auto", program, json, commit = "unknown", fork_after = "start";
  uint64_t lanes = 0, bytes = 256, checked = 5000, most = kEndless, limit = 1'000'000'000, memory = kUsualMemory;
  double seconds = 10;
  std::vector<std::string> arguments;  // of the program
};

constexpr const char* kUsage =
    "queue_bench PROGRAM [--device auto|cpu|cuda|cuda:N] [--lanes N] [--seconds S] [--bytes N] [--fork-after POINT]\n"
    "            [--inputs N] [--check N] [--limit N] [--memory N] [--json FILE|-] [--commit TEXT]\n"
    "            [-- ARGUMENT...]\n"
    "PROGRAM: a static AArch64 program that reads standard input. Without --lanes: 100,000 on a GPU, 1,000 on the "
    "CPU.\n"
    "--memory: bytes of guest addresses of a lane. --bytes: of an input. --check: how many of the first digests are "
    "compared with those of one lane on the CPU.\n";

bool parse(int argc, char** argv, Settings& settings) {
  if (argc < 2) return false;
  settings.program = argv[1];
  for (int i = 2; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--") {
      settings.arguments.assign(argv + i + 1, argv + argc);
      break;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (name == "--device") settings.device = value;
    else if (name == "--lanes") settings.lanes = std::strtoull(value, nullptr, 0);
    else if (name == "--seconds") settings.seconds = std::atof(value);
    else if (name == "--bytes") settings.bytes = std::strtoull(value, nullptr, 0);
    else if (name == "--inputs") settings.most = std::strtoull(value, nullptr, 0);
    else if (name == "--check") settings.checked = std::strtoull(value, nullptr, 0);
    else if (name == "--limit") settings.limit = std::strtoull(value, nullptr, 0);
    else if (name == "--memory") settings.memory = std::strtoull(value, nullptr, 0);
    else if (name == "--fork-after") settings.fork_after = value;
    else if (name == "--json") settings.json = value;
    else if (name == "--commit") settings.commit = value;
    else return false;
  }
  return true;
}

/// Inputs of words and numbers: any part of them can be made again from their numbers.
class Inputs {
 public:
  explicit Inputs(uint64_t bytes) : size_(bytes) {}

  void make(uint64_t first, uint64_t count) {
    bytes_.resize(count * size_);
    offsets_.resize(count + 1);
    const uint64_t threads = std::clamp<uint64_t>(std::thread::hardware_concurrency() / 2, 1, 16);
    std::vector<std::jthread> workers;
    for (uint64_t t = 0; t < threads; t++) {
      workers.emplace_back([=, this] {
        for (uint64_t i = count * t / threads; i < count * (t + 1) / threads; i++)
          make_one(first + i, &bytes_[i * size_]);
      });
    }
    workers.clear();
    for (uint64_t i = 0; i <= count; i++) offsets_[i] = i * size_;
    first_ = first;
  }
  InputBatch batch() const { return {first_, bytes_, offsets_}; }

 private:
  void make_one(uint64_t number, uint8_t* to) const {
    constexpr char kLetters[] = "etaoin shrdlu 0123456789 cmfwyp\n vbgkqjxz etaoin shrdlu 01234567";
    uint64_t state = number * 0x9e3779b97f4a7c15 + 1;
    for (uint64_t i = 0; i < size_; i += 8) {
      state ^= state >> 12;
      state ^= state << 25;
      state ^= state >> 27;
      const uint64_t word = state * 0x2545f4914f6cdd1d;
      for (uint64_t k = 0; k < 8 && i + k < size_; k++) to[i + k] = static_cast<uint8_t>(kLetters[word >> k * 8 & 63]);
    }
  }

  const uint64_t size_;
  uint64_t first_ = 0;
  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> offsets_;
};

LinuxOptions process_options(const Settings& settings, const ElfImage& image) {
  LinuxOptions options;
  options.arguments = settings.arguments;
  options.arguments.insert(options.arguments.begin(), settings.program);
  if (settings.fork_after != "start") {
    const std::vector<uint8_t> file = read_file(settings.program);
    options.fork_after = fork_point(settings.fork_after, file, image);
  }
  return options;
}

std::vector<InputDigest> reference(const Settings& settings, const ElfImage& image, uint64_t count) {
  FleetOptions fleet;
  fleet.device = "cpu";
  fleet.lanes = 64;
  fleet.memory = settings.memory;
  Queue queue(image, fleet, process_options(settings, image));
  Inputs inputs(settings.bytes);
  inputs.make(0, count);
  bool given = false;
  std::vector<InputDigest> digests;
  QueueOptions options;
  options.instructions = settings.limit;
  queue.digest(
      [&](InputBatch& batch, bool) {
        batch = inputs.batch();
        return std::exchange(given, true) ? Supply::ended : Supply::input;
      },
      [&](std::span<const InputDigest> some) {
        digests.insert(digests.end(), some.begin(), some.end());
        return true;
      },
      options);
  return digests;
}

int run(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const Device device = find_device(settings.device);
  const bool gpu = device.kind != DeviceKind::cpu;
  FleetOptions fleet;
  fleet.device = settings.device;
  fleet.memory = settings.memory;
  fleet.lanes = settings.lanes != 0 ? settings.lanes : gpu ? 100'000 : 1000;
  const ElfImage image = load_elf(settings.program);
  Report report(argc, argv, settings.commit);
  report.begin("executions of " + settings.program);

  Queue queue(image, fleet, process_options(settings, image));
  const uint64_t part = std::min<uint64_t>(gpu ? 1u << 20 : 10'000, settings.most);
  Inputs inputs[2] = {Inputs(settings.bytes), Inputs(settings.bytes)};
  uint64_t made = 0, turn = 0;
  const double begin = now_seconds();
  double first_digest = 0;
  std::vector<InputDigest> checked;
  const uint64_t wanted = std::min(settings.checked, settings.most);
  QueueOptions options;
  options.ordered = false;
  options.instructions = settings.limit;
  const QueueProgress progress = queue.digest(
      [&](InputBatch& batch, bool) {
        if (made >= settings.most || now_seconds() - begin >= settings.seconds) return Supply::ended;
        const uint64_t count =
            std::min(made == 0 ? std::min<uint64_t>(part, 2 * fleet.lanes) : part, settings.most - made);
        Inputs& own = inputs[turn++ % 2];
        own.make(made, count);
        made += count;
        batch = own.batch();
        return Supply::input;
      },
      [&](std::span<const InputDigest> digests) {
        if (first_digest == 0) first_digest = now_seconds() - begin;
        if (checked.size() < wanted) {
          std::ranges::copy_if(digests, std::back_inserter(checked),
                               [&](const InputDigest& digest) { return digest.number < wanted; });
        }
        return true;
      },
      options);
  const double seconds = now_seconds() - begin;
  std::ranges::sort(checked, {}, &InputDigest::number);
  const std::vector<InputDigest> expected = reference(settings, image, std::min(wanted, made));
  if (checked != expected) throw ArgumentError("digests differ from those of the CPU");
  const double rate = static_cast<double>(progress.done) / seconds;
  report.add("executions", device.id, fleet.lanes, progress.instructions, Times{{seconds}},
             {{"executions", progress.done},
              {"executions_per_second", rate},
              {"failed", progress.failed},
              {"first_digest_seconds", first_digest},
              {"median_instructions", progress.median_instructions},
              {"pool_bytes", queue.fleet().pool_used()}});
  char line[160];
  std::snprintf(line, sizeof line, "%llu executions, %.3f M a second; first digests after %.2f s; %zu as on the CPU",
                static_cast<unsigned long long>(progress.done), rate / 1e6, first_digest, expected.size());
  report.note(line);
  report.write(settings.json);
  return 0;
}

}  // namespace
}  // namespace myriarm::bench

int main(int argc, char** argv) { return myriarm::bench::main_of("queue_bench", myriarm::bench::run, argc, argv); }
