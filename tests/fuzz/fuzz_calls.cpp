// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the system calls of a process, on the CPU. The input is a sequence of calls with their arguments, and of
// what a host does between them: it takes a snapshot, restores it, forks the lane, writes to its memory. The process has a root
// and a folder in it whose files it may change. Besides "no crash" it checks that each call returns, ends the process or finds
// the pool spent; that results are numbers which Linux could return; that memory and output stay within their limits; and that
// a lane which makes no call stays as it is. Calls about signals may let handlers run, at addresses and on stacks that the input
// names, and the lane may spend time in which timers expire.
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "myriarm/linux.h"

namespace {

using namespace myriarm;

constexpr uint64_t kCode = 0x400000, kData = 0x410000, kDataBytes = 4 * kPageBytes, kMemory = uint64_t{1} << 20;
constexpr uint64_t kPool = 150 * kPageBytes, kOutputLimit = 65536;
constexpr uint64_t kLoop = kCode + 8, kMostInstructions = 300;
constexpr uint64_t kSigreturn = 139;
constexpr uint32_t kCaller = 0, kBystander = 1, kClone = 2, kLanes = 3;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr const char* kPaths[] = {"/input", "/w",     "/w/f",     "/w/d",           "/w/d/g", "/w/new",
                                  "/w/l",   "/tmp/x", "/w/d/new", "/w/d/..",        "/",      "/dev/urandom",
                                  "/none",  "new",    "/w/p",     "/proc/self/fd/3"};
constexpr uint64_t kPathRoom = 16;

std::vector<uint8_t> paths() {
  std::vector<uint8_t> bytes(std::size(kPaths) * kPathRoom);
  for (size_t i = 0; i < std::size(kPaths); i++) std::strcpy(reinterpret_cast<char*>(&bytes[i * kPathRoom]), kPaths[i]);
  return bytes;
}

/// A folder of the host that is the root, as long as the fuzzer runs.
class RootFolder {
 public:
  RootFolder() {
    std::string name = std::filesystem::temp_directory_path() / "fuzz-calls-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    std::filesystem::create_directories(path_ / "bound/d");
    std::ofstream(path_ / "bound/f") << std::string(10'000, 'f');
    std::ofstream(path_ / "bound/d/g") << "g";
    std::filesystem::create_symlink("d/g", path_ / "bound/l");
    require(::mkfifo((path_ / "bound/p").c_str(), 0600) == 0);
  }
  ~RootFolder() { std::filesystem::remove_all(path_); }
  std::shared_ptr<const FileTree> read() const {
    const BoundFolder bound = {path_ / "bound", "/w", true};
    return read_root(path_, {&bound, 1});
  }

 private:
  std::filesystem::path path_;
};

ElfImage caller() {
  ElfImage image;
  image.program.name = "caller";
  const uint32_t words[] = {0xd4000001 /* svc #0 */, 0xd4200000 /* brk #0 */, 0x14000000 /* b . */};
  std::vector<uint8_t> code(sizeof words);
  std::memcpy(code.data(), words, sizeof words);
  image.program.segments = {{kCode, kPageBytes, kRead | kExecute, code}, {kData, kDataBytes, kRead | kWrite, paths()}};
  image.program.entry = kCode;
  image.break_start = kData + kDataBytes;
  return image;
}

LinuxOptions options() {
  LinuxOptions options;
  options.arguments = {"caller"};
  const std::vector<uint8_t> bytes(10'000, 'i');
  options.standard_input = bytes;
  for (uint32_t lane = 0; lane < kLanes; lane++) options.files.add(bytes);
  options.output_limit = kOutputLimit * kLanes;
  options.keep_memory = true;
  options.keep_files = true;
  options.file_bytes = 40 * kPageBytes;
  static const RootFolder folder;
  options.root = folder.read();
  return options;
}

FleetOptions fleet_options() {
  FleetOptions options;
  options.device = "cpu";
  options.lanes = kLanes;
  options.threads = 1;
  options.memory = kMemory;
  options.pool = kPool;
  return options;
}

struct Fuzzed {
  LinuxFleet processes{caller(), fleet_options(), options()};
  Snapshot beginning = processes.fleet().snapshot();
  std::vector<uint8_t> bystander = processes.fleet().read(kBystander, kData, kDataBytes);
  size_t bystander_files = processes.collect(kBystander, "/").size();
};

/// Takes values from the fuzzer's bytes; zeros behind their end.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t byte() {
    if (left_ == 0) return 0;
    left_--;
    return *data_++;
  }
  uint64_t number(unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= uint64_t{byte()} << (8 * i);
    return value;
  }
  /// A value as calls have them: small, an address, an edge, or any.
  uint64_t argument(int64_t last) {
    const uint64_t edges[] = {~uint64_t{0},       ~uint64_t{0} - 4095,    uint64_t{1} << 63,
                              uint64_t{1} << 48,  kCode + kMemory,        kCode + kMemory - 1,
                              kData + kDataBytes, kData + kDataBytes - 1, uint64_t{0xffffff9c} /* AT_FDCWD */};
    const uint8_t kind = byte();
    switch (kind >> 5) {
      case 0: return kind & 31;
      case 5:
        if (kind & 16) return kData + (kind & 15) % std::size(kPaths) * kPathRoom;
        return uint64_t{1} << (kind & 15) * 2;
      case 1: return kData + number(2) % kDataBytes;
      case 2: return kCode + number(2) % (kMemory / kPageBytes) * kPageBytes;
      case 3: return edges[(kind & 31) % std::size(edges)];
      case 4: return static_cast<uint64_t>(last);
      case 6: return number(2);
      default: return number(8);
    }
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

/// Lets the lane run from an address.
Stop run_from(Fleet& fleet, uint64_t pc, uint64_t instructions) {
  fleet.set(Field::pc, kCaller, pc);
  fleet.resume(std::span(&kCaller, 1));
  RunOptions one;
  one.lanes = {kCaller};
  one.instructions = instructions;
  fleet.run(one);
  Stop stop;
  fleet.get_stops(std::span(&kCaller, 1), std::span(&stop, 1));
  return stop;
}
bool has_ended(const Stop& stop) {
  return stop.reason == StopReason::exited || stop.reason == StopReason::out_of_memory;
}

/// Makes one call. Returns its result, or nothing if the process has ended.
std::optional<int64_t> call(Fuzzed& fuzzed, Source& source, int64_t last) {
  Fleet& fleet = fuzzed.processes.fleet();
  const uint64_t number = source.byte() | uint64_t{source.byte() & 1u} << 8;
  fleet.set(x(8), kCaller, number);
  for (unsigned n = 0; n < 6; n++) fleet.set(x(n), kCaller, source.argument(last));
  const bool alone = fleet.threads(kCaller).size() == 1;
  const uint64_t before = fleet.get(Field::instructions, kCaller);
  const Stop stop = run_from(fleet, kCode, kMostInstructions);
  if (has_ended(stop)) return {};
  const uint64_t pc = fleet.get(Field::pc, kCaller), retired = fleet.get(Field::instructions, kCaller) - before;
  require(retired <= kMostInstructions);
  // A handler has run, the registers are those of a frame, or of another thread, if the call waits: nothing is known.
  if (retired != 1 || number == kSigreturn || !alone) return last;
  // A call may have taken the code away from under itself.
  require(stop.reason == StopReason::breakpoint || (stop.reason == StopReason::fault && pc == kCode + 4) ||
          stop.reason == StopReason::undefined || stop.reason == StopReason::halt);
  if (stop.reason != StopReason::breakpoint) return {};
  const auto result = static_cast<int64_t>(fleet.get(x(0), kCaller));
  require(result >= -4095);
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Fuzzed fuzzed;
  Fleet& fleet = fuzzed.processes.fleet();
  fleet.restore(fuzzed.beginning);
  Source source(data, size);
  std::optional<Snapshot> taken;
  int64_t last = 0;
  for (int step = 0; step < 64 && !source.empty(); step++) {
    const uint8_t what = source.byte();
    if (what >= 32) {
      const std::optional<int64_t> result = call(fuzzed, source, last);
      if (!result) break;
      last = *result;
    } else if (what < 4) {
      taken = fleet.snapshot(std::span(&kCaller, 1));
    } else if (what < 8) {
      if (taken) fleet.restore(*taken);
    } else if (what < 10) {
      fleet.fork(kCaller, std::span(&kClone, 1));
    } else if (what < 12) {
      fleet.set(Field::sp, kCaller, source.argument(last));
    } else if (what < 14) {
      if (has_ended(run_from(fleet, kLoop, 20'000))) break;
    } else {
      const uint64_t words[] = {source.argument(last), source.argument(last), source.argument(last)};
      const Transfer transfer = {kCaller, sizeof words, kData + source.number(2) % (kDataBytes - sizeof words), 0};
      uint32_t done = 0;
      try {
        fleet.write(std::span(&transfer, 1), std::span(reinterpret_cast<const uint8_t*>(words), sizeof words),
                    std::span(&done, 1));
      } catch (const DeviceError&) {  // the pool is spent
      }
    }
    require(fleet.pool_used() <= kPool);
    require(fuzzed.processes.standard_output(kCaller).size() <= kOutputLimit);
    require(fuzzed.processes.standard_error(kCaller).size() <= kOutputLimit);
  }
  require(fleet.read(kBystander, kData, kDataBytes) == fuzzed.bystander);
  require(fuzzed.processes.collect(kBystander, "/").size() == fuzzed.bystander_files);
  (void)fuzzed.processes.collect(kCaller, "/");
  return 0;
}
