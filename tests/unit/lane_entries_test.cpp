// SPDX-License-Identifier: Apache-2.0
// What the host sees of the kernel pages of a lane with two processes: those that they have in common, whichever runs.
#include "backends/cpu/process_words.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "engines/silent_host.h"
#include "fleet/image.h"
#include "kernel/process_table.h"

namespace myriarm {
namespace {

constexpr u64 kCode = 0x10000, kData = 0x20000, kHeap = 0x30000, kEnd = 0x50000;
constexpr u32 kLane = 0;

TEST(LaneEntries, PagesThatAreTheLanesAreThoseOfTheFirstSpace) {
  const std::vector<u32> words = {
      0xd2800220,  //       mov  x0, #17
      0xd2801b88,  //       mov  x8, #220       clone
      0xd4000001,  //       svc  #0
      0xb5000040,  //       cbnz x0, spin
      0xd2800073,  //       mov  x19, #3
      0x14000000,  // spin: b    spin
  };
  std::vector<u8> code(words.size() * 4);
  std::memcpy(code.data(), words.data(), code.size());
  Program program;
  program.entry = kCode;
  program.stack_pointer = kData + kPageSize;
  program.segments = {{kCode, kPageSize, kRead | kExecute, code}, {kData, kPageSize, kRead | kWrite, {}}};
  program.process = ProcessStart{kHeap, kEnd, kPageSize, "/bin/test"};
  FleetOptions options;
  options.lanes = 1;
  options.memory = kEnd - kCode;
  options.threads = 1;
  options.processes.host = std::make_shared<test::SilentHost>();
  const PlacedProgram placed{program, 1};
  const Image image = make_image(std::span(&placed, 1), options.memory, false, options.processes);
  const std::unique_ptr<Backend> backend = make_cpu_backend(image, options);

  std::set<u64> seen;  // x19 of what runs
  for (int turn = 0; turn < 6; turn++) {
    RunOrder order;
    order.budget = 30'000;  // a slice has 50'000
    backend->run(order);
    u64 number = 0;
    backend->gather(x(19), std::span(&kLane, 1), std::span(&number, 1));
    seen.insert(number);
    const u64 first = image.window_pages + kernel::kOwnPages, count = image.kernel_pages - kernel::kOwnPages;
    std::vector<u8> values(count);
    backend->permissions(std::span(&kLane, 1), first, count, values);
    for (u64 page = 0; page < count; page++) {
      const bool is_kernel_page = page + kernel::kOwnPages < kernel::kKernelPages;  // behind them there is no layer yet
      ASSERT_EQ(values[page], is_kernel_page ? kMapped : 0) << "page " << page << " while " << number << " runs";
    }
    u64 slots = 0;
    std::vector<u8> bytes(8);
    const Transfer record{kLane, 8, kEnd + kernel::process_record(1), 0};
    backend->read(std::span(&record, 1), bytes, {});
    std::memcpy(&slots, bytes.data(), 8);
    EXPECT_EQ(slots, 1001u) << "the id of the second process";
  }
  EXPECT_EQ(seen, (std::set<u64>{0, 3}));
}

}  // namespace
}  // namespace myriarm
