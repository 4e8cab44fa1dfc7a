// SPDX-License-Identifier: Apache-2.0
// Calls that are served on the host over the interface of a backend have the results, and leave the registers, memory and
// kernel pages, that they have where the lane runs. The CPU backend is on both sides.
#include "backends/hosted_machine.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <string>

#include "fleet/image.h"
#include "root_folder.h"

namespace myriarm {
namespace {

constexpr u64 kCode = 0x10000, kData = 0x20000, kDataPages = 4, kHeap = 0x30000, kEnd = 0x50000;
constexpr u32 kLane = 1, kLanes = 3;  // the calls are those of lane 1
constexpr u32 kSvc = 0xD4000001, kBranchBack = 0x17FFFFFF;

class Host final : public ProcessHost {
 public:
  const FileTree* root() const override { return tree.get(); }
  GivenInput input(uint32_t lane) const override {
    GivenInput given;
    given.number = lane;
    given.standard_input = given.file = std::span(reinterpret_cast<const u8*>(text.data()), text.size());
    given.has_file = true;
    given.output_limit = 3000;
    return given;
  }
  PutOut put_out(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes) override {
    std::string& kept = output[lane * 2 + stream - 1];
    EXPECT_LE(position, kept.size());
    kept.resize(position);
    const size_t size = std::min<size_t>(bytes.size(), most_put);
    kept.append(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    return {size == bytes.size() ? PutOut::Kind::taken : PutOut::Kind::refused, size};
  }
  void unimplemented(HostedCall& call) override { log += " missing " + std::to_string(call.number); }
  void before(HostedCall& call) override { log += " before " + std::to_string(call.number); }
  void after(HostedCall&, const int64_t* result) override {
    log += result == nullptr ? " ended" : " after " + std::to_string(*result);
  }
  void saved(uint64_t, std::span<const uint32_t>) override {}
  void restored(uint64_t, std::span<const uint32_t>, std::span<const uint32_t>) override {}
  void dropped(uint64_t) override {}

  std::string text = "some input that is read a little at a time, and mapped";
  std::shared_ptr<const FileTree> tree;
  std::string output[kLanes * 2], log;
  size_t most_put = 1500;
};

/// Lanes that run `svc #0; b .-4` on the CPU backend.
struct Lanes {
  explicit Lanes(u64 pool = 0, std::shared_ptr<const FileTree> root = nullptr) {
    host->tree = std::move(root);
    Program program;
    program.entry = kCode;
    program.stack_pointer = kData + kDataPages * kPageSize;
    std::vector<u8> code(8), data(2 * kPageSize);
    std::memcpy(code.data(), &kSvc, 4);
    std::memcpy(code.data() + 4, &kBranchBack, 4);
    for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<u8>(i * 7 % 251);
    program.segments = {{kCode, kPageSize, kRead | kExecute, code},
                        {kData, kDataPages * kPageSize, kRead | kWrite, data}};
    program.process = ProcessStart{kHeap, kEnd, kPageSize, "/bin/test"};
    if (host->tree) program.process->file_bytes = 64 * kPageSize;
    FleetOptions options;
    options.lanes = kLanes;
    options.memory = kEnd - kCode;
    options.threads = 1;
    options.pool = pool;
    options.processes.host = host;
    options.processes.keep_memory = true;
    const PlacedProgram placed{program, kLanes};
    image = make_image(std::span(&placed, 1), options.memory, false, options.processes);
    backend = make_cpu_backend(image, options);
  }
  u64 get(Field field) {
    u64 value;
    backend->gather(field, std::span(&kLane, 1), std::span(&value, 1));
    return value;
  }
  void set(Field field, u64 value) { backend->scatter(field, std::span(&kLane, 1), std::span(&value, 1)); }
  /// Runs lane kLane up to its next SVC, or through its call.
  StopRecord run(bool stops_at_calls, u64 budget) {
    RunOrder order;
    order.lanes = std::span(&kLane, 1);
    order.stops_at_calls = stops_at_calls;
    order.serves_stopped = false;
    order.budget = budget;
    backend->run(order);
    return backend->stops()[kLane];
  }
  std::string memory() {
    const u64 pages = image.window_pages + image.kernel_pages;
    std::vector<u8> values(pages), bytes(pages * kPageSize);
    backend->permissions(std::span(&kLane, 1), 0, pages, values);
    std::string all(values.begin(), values.end());
    for (u64 page = 0; page < pages; page++) {
      if (values[page] == 0) continue;
      const Transfer transfer{kLane, kPageSize, kCode + page * kPageSize, page * kPageSize};
      backend->read(std::span(&transfer, 1), bytes, {});
    }
    return all + std::string(bytes.begin(), bytes.end());
  }

  std::shared_ptr<Host> host = std::make_shared<Host>();
  Image image;
  std::unique_ptr<Backend> backend;
};

Field x(u32 n) { return static_cast<Field>(static_cast<u32>(Field::x0) + n); }

/// Serves the call at which the lane stands on the host, as a backend with a device does.
kernel::Result serve(Lanes& lanes, bool traced) {
  HostedRegisters registers{{}, static_cast<u32>(lanes.get(x(8))), lanes.get(Field::instructions)};
  for (u32 n = 0; n < 6; n++) registers.x[n] = lanes.get(x(n));
  const GivenInput given = lanes.host->input(kLane);
  HostedMachine machine(*lanes.backend, {lanes.image.window_begin, lanes.image.window_pages, lanes.image.kernel_pages},
                        *lanes.image.programs[0].process, *lanes.host, given, kLane, registers);
  const kernel::Result result = serve_hosted(machine, *lanes.host, traced);
  EXPECT_EQ(machine.out_of_memory(), result.served == kernel::Served::again);
  return result;
}

/// A call of a kind that changes much, with arguments that are often good.
struct RandomCall {
  explicit RandomCall(std::mt19937_64& random) {
    constexpr u32 numbers[] = {17,  23,  24,  25,  48,  56,  57,  62,  63,  64,  65,  66,  67,  73,  78,  79,
                               80,  98,  101, 102, 103, 113, 129, 132, 134, 134, 135, 135, 136, 137, 138, 160,
                               163, 169, 179, 214, 215, 216, 222, 222, 226, 226, 233, 261, 278, 291, 999};
    number = numbers[random() % std::size(numbers)];
    const u64 addresses[] = {kData,
                             kData + 0xFFB,
                             kData + kDataPages * kPageSize - 20,
                             kHeap,
                             kHeap + kPageSize,
                             kEnd - kPageSize,
                             kEnd,
                             kCode,
                             0};
    const u64 sizes[] = {0, 1, 7, 16, 100, 2000, kPageSize, 3 * kPageSize};
    for (u64& argument : arguments) {
      switch (random() % 4) {
        case 0: argument = addresses[random() % std::size(addresses)]; break;
        case 1: argument = sizes[random() % std::size(sizes)]; break;
        case 2: argument = random() % 5; break;
        default: argument = (1 + random() % 63) * kPageSize + kCode;
      }
    }
    if (number == 222) {
      arguments[0] = random() % 2 ? 0 : arguments[0];
      arguments[2] = random() % 8;
      arguments[3] = random() % 4 ? 0x22 : 0x32;
    }
    if (number == 226) arguments[2] = random() % 8;
    if (number == 64 || number == 63) arguments[0] = random() % 4;
  }
  u32 number;
  u64 arguments[6];
};

TEST(HostedMachine, ServesAsTheLaneDoes) {
  for (u64 seed = 1; seed <= 30; seed++) {
    std::mt19937_64 random(seed);
    Lanes own, hosted;
    for (int i = 0; i < 60; i++) {
      const RandomCall call(random);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i) + ": " + std::to_string(call.number));
      for (Lanes* lanes : {&own, &hosted}) {
        lanes->set(x(8), call.number);
        for (u32 n = 0; n < 6; n++) lanes->set(x(n), call.arguments[n]);
      }
      const StopCode stop = own.run(false, 1).code;
      if (hosted.run(true, 1).code != StopCode::syscall) {
        // An earlier call has changed the page of the code.
        ASSERT_EQ(stop, StopCode::fault);
        break;
      }
      const bool traced = random() % 2;
      const std::string before = hosted.host->log;
      const kernel::Result result = serve(hosted, traced);
      ASSERT_TRUE(result.served == kernel::Served::answered || result.served == kernel::Served::missing);
      EXPECT_EQ(hosted.host->log.find(" before", before.size()) != std::string::npos, traced);
      ASSERT_EQ(static_cast<u64>(result.value), own.get(x(0)));
      ASSERT_EQ(hosted.get(Field::pc), own.get(Field::pc));
      ASSERT_EQ(hosted.get(Field::instructions), own.get(Field::instructions));
      const StopRecord none = {};
      hosted.backend->scatter_stops(std::span(&kLane, 1), std::span(&none, 1));
      for (Lanes* lanes : {&own, &hosted}) lanes->set(Field::pc, kCode);
    }
    ASSERT_TRUE(own.memory() == hosted.memory()) << "seed " << seed;
    for (u32 i = 0; i < kLanes * 2; i++) EXPECT_EQ(own.host->output[i], hosted.host->output[i]) << "seed " << seed;
  }
}

void put(Lanes& lanes, u64 address, const std::string& text) {
  const Transfer transfer{kLane, static_cast<u32>(text.size()), address, 0};
  lanes.backend->write(std::span(&transfer, 1), std::span(reinterpret_cast<const u8*>(text.data()), text.size()), {});
}

TEST(HostedMachine, ServesCallsOnARoot) {
  test::RootFolder folder;
  folder.folder("a/b");
  folder.file("a/f", "0123456789");
  folder.file("large", std::string(3 * kPageSize, 'x') + "end");
  folder.link("l", "a/f");
  const auto tree = read_root(folder.path());
  Lanes own(0, tree), hosted(0, tree);
  constexpr u64 kHere = static_cast<u64>(-100), kPath = kData, kOther = kData + 0x100, kOut = kData + 0xE00;
  struct Call {
    const char *path, *other;
    u32 number;
    std::vector<u64> arguments;
    i64 result;
  };
  const Call calls[] = {
      {"/l", "", 56, {kHere, kPath, 0, 0}, 3},                             // openat
      {"", "", 63, {3, kOut, 4}, 4},                                       // read
      {"/large", "", 56, {kHere, kPath, 0, 0}, 4},                         //
      {"", "", 222, {kHeap, 4 * kPageSize, 3, 2, 4, 0}, i64{kHeap}},       // mmap
      {"", "", 64, {1, kHeap + 3 * kPageSize - 2, 9}, 9},                  // write
      {"", "", 222, {0, kPageSize, 5, 2, 4, 2 * kPageSize}, -1},           //
      {"/a", "", 56, {kHere, kPath, 0200000, 0}, 5},                       //
      {"", "", 61, {5, kOut, 300}, -1},                                    // getdents64
      {"/tmp/new", "", 56, {kHere, kPath, 0102, 0644}, 6},                 //
      {"", "", 64, {6, kData + kPageSize, 2 * kPageSize}, 2 * kPageSize},  //
      {"", "", 285, {4, 0, 6, 0, 2 * kPageSize, 0}, 2 * kPageSize},        // copy_file_range
      {"/tmp/new", "/tmp/other", 38, {kHere, kPath, kHere, kOther}, 0},    // renameat
      {"/tmp/other", "", 79, {kHere, kPath, kOut, 0}, 0},                  // newfstatat
      {"/tmp/sub", "", 34, {kHere, kPath, 0755}, 0},                       // mkdirat
      {"/tmp/sub", "", 49, {kPath}, 0},                                    // chdir
      {"", "", 17, {kOut, 100}, 9},                                        // getcwd
      {"/proc/self/exe", "", 78, {kHere, kPath, kOut + 0x80, 40}, 9},      // readlinkat
      {"/a/f", "", 35, {kHere, kPath, 0}, -EACCES},                        // unlinkat
      {"/nothing", "", 56, {kHere, kPath, 0, 0}, -ENOENT},                 //
      {"/tmp/other", "", 35, {kHere, kPath, 0}, 0},                        //
      {"", "", 57, {6}, 0},                                                // close
  };
  for (const Call& call : calls) {
    SCOPED_TRACE(std::to_string(call.number) + " " + call.path);
    for (Lanes* lanes : {&own, &hosted}) {
      put(*lanes, kPath, std::string(call.path) + '\0');
      put(*lanes, kOther, std::string(call.other) + '\0');
      lanes->set(x(8), call.number);
      for (u32 n = 0; n < 6; n++) lanes->set(x(n), n < call.arguments.size() ? call.arguments[n] : 0);
    }
    own.run(false, 1);
    ASSERT_EQ(hosted.run(true, 1).code, StopCode::syscall);
    const kernel::Result result = serve(hosted, false);
    ASSERT_EQ(result.served, kernel::Served::answered);
    if (call.result != -1) {
      EXPECT_EQ(result.value, call.result);
    }
    ASSERT_EQ(static_cast<u64>(result.value), own.get(x(0)));
    const StopRecord none = {};
    hosted.backend->scatter_stops(std::span(&kLane, 1), std::span(&none, 1));
    for (Lanes* lanes : {&own, &hosted}) lanes->set(Field::pc, kCode);
  }
  EXPECT_TRUE(own.memory() == hosted.memory());
  EXPECT_EQ(hosted.host->output[kLane * 2], "xxend" + std::string(4, '\0'));
}

TEST(HostedMachine, ReturnsFromAHandler) {
  // The lane takes the signal that it has sent itself; the host serves its return.
  Lanes lanes;
  constexpr u64 kAction = kData + 0x100;
  const u64 action[] = {kCode, 4, 0, 0};
  const Transfer transfer{kLane, sizeof action, kAction, 0};
  lanes.backend->write(std::span(&transfer, 1), std::span(reinterpret_cast<const u8*>(action), sizeof action), {});
  const u64 top = kData + kDataPages * kPageSize;
  lanes.set(Field::sp, top);
  lanes.set(x(8), 134);
  lanes.set(x(0), 10);
  lanes.set(x(1), kAction);
  lanes.set(x(2), 0);
  lanes.set(x(3), 8);
  lanes.run(false, 1);
  lanes.set(x(8), 130);
  lanes.set(x(0), 1000);
  lanes.set(x(1), 10);
  lanes.set(x(21), 77);
  lanes.set(v_high(9), 99);
  lanes.set(Field::nzcv, 6);
  lanes.set(Field::pc, kCode);
  lanes.run(false, 2);  // the call, and the delivery
  EXPECT_EQ(lanes.get(Field::pc), kCode);
  EXPECT_EQ(lanes.get(x(0)), 10u);
  EXPECT_EQ(lanes.get(Field::sp), top - 16 - 4688);
  lanes.set(x(8), 139);
  lanes.set(x(21), 0);
  lanes.set(v_high(9), 0);
  lanes.set(Field::nzcv, 0);
  ASSERT_EQ(lanes.run(true, 1).code, StopCode::syscall);
  EXPECT_EQ(serve(lanes, false).served, kernel::Served::replaced);
  EXPECT_EQ(lanes.get(Field::pc), kCode + 4);
  EXPECT_EQ(lanes.get(Field::sp), top);
  EXPECT_EQ(lanes.get(x(8)), 130u);
  EXPECT_EQ(lanes.get(x(0)), 0u);
  EXPECT_EQ(lanes.get(x(21)), 77u);
  EXPECT_EQ(lanes.get(v_high(9)), 99u);
  EXPECT_EQ(lanes.get(Field::nzcv), 6u);
}

TEST(HostedMachine, AnEndedProcessHasNoResult) {
  Lanes lanes;
  lanes.set(x(8), 94);
  lanes.set(x(0), 42);
  ASSERT_EQ(lanes.run(true, 1).code, StopCode::syscall);
  const kernel::Result result = serve(lanes, true);
  EXPECT_EQ(result.served, kernel::Served::ended);
  EXPECT_EQ(result.value, 42);
  EXPECT_EQ(lanes.host->log, " before 94 ended");
}

}  // namespace
}  // namespace myriarm
