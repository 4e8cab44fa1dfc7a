// SPDX-License-Identifier: Apache-2.0
// mmap, munmap, mprotect, mremap and madvise: where mappings go; a lane must not see the mappings of another; hostile
// arguments must have no effect. brk is in linux_test.cpp, the list of mappings in address_space_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <random>

#include "linux/process_layout.h"
#include "linux_caller.h"

namespace myriarm {
namespace {

using namespace linux_process;
using namespace test;

// clang-format off
enum : uint64_t { kNone = 0, kProtRead = 1, kReadWrite = 3, kReadExecute = 5,
                  kPrivate = 0x22, kShared = 0x21, kFixed = 0x10, kNoReplace = 0x100000,
                  kMayMove = 1, kMoveTo = 2, kDontNeed = 4, kFile = ~uint64_t{0} };
// clang-format on
constexpr uint64_t kPage = kPageBytes;
constexpr uint64_t kStoreX0AtX9 = 0xf9000120;  // str x0, [x9]
constexpr uint64_t kLoadX0AtX9 = 0xf9400120;   // ldr x0, [x9]

Caller::Request mmap_request(uint64_t size, uint64_t protection = kReadWrite, uint64_t address = 0,
                             uint64_t flags = 0) {
  return {kMmap, address, size, protection, flags | kPrivate, kFile, 0};
}
uint64_t heap_limit() { return lay_out_process(image_of({kSvc, kBrk}), 1 << 20, {}).heap_limit; }

struct Memory : Caller {
  using Caller::Caller;
  int64_t map(uint64_t size, uint64_t protection = kReadWrite, uint64_t address = 0, uint64_t flags = 0) {
    return call({mmap_request(size, protection, address, flags)})[0];
  }
  uint64_t mapped(uint64_t size, uint64_t protection = kReadWrite, uint64_t address = 0, uint64_t flags = 0) {
    const int64_t result = map(size, protection, address, flags);
    EXPECT_GE(result, 0);
    return static_cast<uint64_t>(result);
  }
};

TEST(LinuxMmap, GoesToTheHighestFreePlaceAndFreedPlacesAreUsedAgain) {
  Memory memory(1);
  const uint64_t top = heap_limit();
  EXPECT_EQ(memory.mapped(1), top - kPage);
  EXPECT_EQ(memory.mapped(3 * kPage), top - 4 * kPage);
  EXPECT_EQ(memory.mapped(kPage), top - 5 * kPage);
  memory.put(top - 8, {42});
  memory.put(top - 4 * kPage, {43});
  EXPECT_EQ(memory.call(kMunmap, top - 4 * kPage, 2 * kPage), 0);
  EXPECT_THROW(memory.word(top - 4 * kPage), ArgumentError);
  EXPECT_EQ(memory.word(top - 8), 42u);
  EXPECT_EQ(memory.mapped(3 * kPage), top - 8 * kPage) << "too large for the gap";
  EXPECT_EQ(memory.mapped(2 * kPage), top - 4 * kPage) << "the gap";
  EXPECT_EQ(memory.word(top - 4 * kPage), 0u) << "of zeros again";
  EXPECT_EQ(memory.call(kMunmap, top - 8 * kPage, 8 * kPage), 0);
  EXPECT_EQ(memory.call(kMunmap, top - 8 * kPage, 8 * kPage), 0) << "there is nothing, which is no error";
}

TEST(LinuxMmap, HintsAndFixedAddresses) {
  Memory memory(1);
  const uint64_t top = heap_limit(), there = kDataEnd + 0x20000;
  EXPECT_EQ(memory.mapped(kPage, kReadWrite, there), there);
  EXPECT_EQ(memory.mapped(kPage, kReadWrite, there), top - kPage) << "taken: anywhere";
  EXPECT_EQ(memory.mapped(kPage, kReadWrite, 0x1000), top - 2 * kPage) << "outside of the window: anywhere";
  memory.put(there, {42});
  EXPECT_EQ(memory.map(kPage, kReadWrite, there, kNoReplace), -EEXIST);
  EXPECT_EQ(memory.word(there), 42u);
  EXPECT_EQ(memory.mapped(2 * kPage, kReadWrite, there - kPage, kFixed), there - kPage);
  EXPECT_EQ(memory.word(there), 0u) << "what was there is gone";
  EXPECT_EQ(memory.mapped(kPage, kReadWrite, there + kPage, kNoReplace), there + kPage);
  EXPECT_EQ(memory.map(kPage, kReadWrite, there + 1, kFixed), -EINVAL);
  EXPECT_EQ(memory.map(kPage, kReadWrite, 0, kFixed), -ENOMEM);
  EXPECT_EQ(memory.map(kPage, kReadWrite, memory.machine.fleet().memory_end(), kFixed), -ENOMEM);
  EXPECT_EQ(memory.map(2 * kPage, kReadWrite, ~(kPage - 1), kFixed), -ENOMEM);
}

TEST(LinuxMmap, TheGuestMayDoWithAMappingWhatItAskedFor) {
  const std::pair<uint64_t, FaultKind> accesses[] = {{kLoadX0AtX9, FaultKind::read}, {kStoreX0AtX9, FaultKind::write}};
  for (const auto& [access, kind] : accesses) {
    Caller caller(fleet_of(3), {kSvc, static_cast<uint32_t>(access), kBrk});
    Fleet& fleet = caller.machine.fleet();
    const uint64_t place = heap_limit() - kPage;
    for (auto [field, value] : {std::pair{x(8), uint64_t{kMmap}}, {x(1), kPage}, {x(3), kPrivate}, {x(9), place}}) {
      fleet.fill(field, value);
    }
    fleet.set_all(x(2), std::vector<uint64_t>{kNone, kProtRead, kReadWrite});
    fleet.fill(x(4), kFile);
    caller.machine.run();
    for (uint32_t lane : {0u, 1u, 2u}) {
      const Stop stop = fleet.stops()[lane];
      if (lane == 2 || (lane == 1 && kind == FaultKind::read)) {
        EXPECT_EQ(stop.reason, StopReason::breakpoint) << lane;
      } else {
        EXPECT_EQ(stop.reason, StopReason::fault) << lane;
        EXPECT_EQ(stop.fault, kind) << lane;
        EXPECT_EQ(stop.address, place);
        EXPECT_EQ(caller.machine.outcome(lane).signal, SIGSEGV);
      }
    }
  }
}

TEST(LinuxMmap, BadArguments) {
  Memory memory(1);
  EXPECT_EQ(memory.map(0), -EINVAL);
  EXPECT_EQ(memory.map(~uint64_t{0}), -ENOMEM) << "rounds up to nothing";
  EXPECT_EQ(memory.map(~uint64_t{0} - kPage), -ENOMEM);
  EXPECT_EQ(memory.map(uint64_t{1} << 40), -ENOMEM);
  EXPECT_EQ(memory.map(1 << 20), -ENOMEM) << "the whole window";
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadWrite, 0x20, kFile, 0), -EINVAL) << "neither private nor shared";
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadWrite, 0x23, kFile, 0), -EINVAL);
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadWrite, 0x40022, kFile, 0), -EINVAL) << "huge pages";
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadWrite, kPrivate, kFile, 1), -EINVAL);
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadWrite, 2, 3, 0), -EBADF);
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadWrite, 2, 0, 0), -ENODEV) << "a pipe cannot be mapped";
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadExecute, 2, 0, 0), -EPERM) << "and holds no program";
  EXPECT_EQ(memory.call(kMmap, 0, kPage, kReadWrite, 2, 1, 0), -EACCES) << "it can only be written to";
  EXPECT_GT(memory.call(kMmap, 0, kPage, kReadWrite, kShared, kFile, 0), 0);
}

TEST(LinuxMmap, TheBreakAndMappingsKeepOutOfEachOther) {
  Memory memory(1);
  const uint64_t top = heap_limit();
  const uint64_t place = memory.mapped(kPage, kReadWrite, kDataEnd + 2 * kPage, kFixed);
  EXPECT_EQ(memory.call(kBrkCall, kDataEnd + 2 * kPage), static_cast<int64_t>(kDataEnd + 2 * kPage));
  EXPECT_EQ(memory.call(kBrkCall, kDataEnd + 2 * kPage + 1), static_cast<int64_t>(kDataEnd + 2 * kPage));
  EXPECT_EQ(memory.call(kMunmap, place, kPage), 0);
  EXPECT_EQ(memory.call(kBrkCall, kDataEnd + 3 * kPage), static_cast<int64_t>(kDataEnd + 3 * kPage));
  const uint64_t room = top - kDataEnd - 3 * kPage;
  EXPECT_EQ(memory.map(room + kPage), -ENOMEM);
  EXPECT_EQ(memory.mapped(room), kDataEnd + 3 * kPage);
  uint64_t below = 0;  // the bytes that are free between the program's segments
  while (memory.map(kPage) >= 0) below++;
  EXPECT_EQ(below, (kData - kCode) / kPage - 1);
  EXPECT_EQ(memory.map(kPage), -ENOMEM) << "there is no place left";
  EXPECT_EQ(memory.call(kBrkCall, kDataEnd + 4 * kPage), static_cast<int64_t>(kDataEnd + 3 * kPage));
}

TEST(LinuxMunmap, BadArguments) {
  Memory memory(1);
  EXPECT_EQ(memory.call(kMunmap, kData + 1, kPage), -EINVAL);
  EXPECT_EQ(memory.call(kMunmap, kData, 0), -EINVAL);
  EXPECT_EQ(memory.call(kMunmap, kData, ~uint64_t{0}), -EINVAL);
  EXPECT_EQ(memory.call(kMunmap, ~(kPage - 1), kPage), -EINVAL);
  EXPECT_EQ(memory.call(kMunmap, 0, kPage), 0) << "outside of the window there is nothing to unmap";
  EXPECT_NO_THROW(memory.word(kData));
  EXPECT_EQ(memory.call(kMunmap, kData, 1), 0);
  EXPECT_THROW(memory.word(kData), ArgumentError);
  EXPECT_EQ(memory.word(kData + kPage), 0u);
}

TEST(LinuxMprotect, RulesOfItsManualPage) {
  Memory memory(1);
  const uint64_t place = memory.mapped(4 * kPage);
  EXPECT_EQ(memory.call(kMprotect, place + 1, kPage, kProtRead), -EINVAL);
  EXPECT_EQ(memory.call(kMprotect, place, 0, kProtRead), 0);
  EXPECT_EQ(memory.call(kMprotect, place, kPage, 64), -EINVAL);
  EXPECT_EQ(memory.call(kMprotect, place, kPage, 0x01000001), -EINVAL) << "it does not grow";
  EXPECT_EQ(memory.call(kMprotect, place, ~uint64_t{0}, kProtRead), -ENOMEM) << "rounds up to nothing";
  EXPECT_EQ(memory.call(kMprotect, place, ~(kPage - 1), kProtRead), -ENOMEM) << "ends before it begins";
  EXPECT_EQ(memory.call(kMprotect, 0, kPage, kProtRead), -ENOMEM);
  EXPECT_EQ(memory.call(kMprotect, ~(kPage - 1), kPage, kProtRead), -ENOMEM);
  EXPECT_EQ(memory.call(kRead63, 0, place, 0), 0);
  EXPECT_EQ(memory.call(kUname, place), 0) << "nothing of that has changed anything";
  // The pages before a gap are changed although the call fails.
  EXPECT_EQ(memory.call(kMunmap, place + 2 * kPage, kPage), 0);
  EXPECT_EQ(memory.call(kMprotect, place, 4 * kPage, kProtRead), -ENOMEM);
  EXPECT_EQ(memory.call(kUname, place + kPage), -EFAULT);
  EXPECT_EQ(memory.call(kUname, place + 3 * kPage), 0);
}

TEST(LinuxMprotect, SystemCallsObeyIt) {
  Memory memory(1);
  const uint64_t place = memory.mapped(2 * kPage);
  memory.put(place, {42});
  EXPECT_EQ(memory.call(kMprotect, place, kPage, kNone), 0);
  EXPECT_EQ(memory.call(kWrite64, 1, place, 8), -EFAULT);
  EXPECT_EQ(memory.call(kUname, place), -EFAULT);
  EXPECT_EQ(memory.call(kMprotect, place, kPage, kProtRead), 0);
  EXPECT_EQ(memory.call(kWrite64, 1, place, 8), 8);
  EXPECT_EQ(memory.call(kUname, place), -EFAULT);
  EXPECT_EQ(memory.call(kMprotect, place, kPage, 2), 0) << "what can be written can be read";
  EXPECT_EQ(memory.call(kWrite64, 1, place, 8), 8);
  EXPECT_EQ(memory.word(place), 42u);
  EXPECT_EQ(memory.call(kMprotect, kData, kPage, kProtRead), 0) << "the program's own pages";
  EXPECT_EQ(memory.call(kUname, kData), -EFAULT);
}

TEST(LinuxMprotect, ReservedPagesAreTakenAndBecomeUsable) {
  Memory memory(1);
  const uint64_t place = memory.mapped(4 * kPage, kNone);
  EXPECT_EQ(memory.call(kWrite64, 1, place, 1), -EFAULT);
  EXPECT_EQ(memory.mapped(kPage), place - kPage);
  EXPECT_EQ(memory.call(kMprotect, place + kPage, kPage, kReadWrite), 0);
  EXPECT_EQ(memory.call(kUname, place + kPage), 0);
  EXPECT_EQ(memory.call(kUname, place + 2 * kPage), -EFAULT);
}

/// A third of the lanes remove the write permission of their page, a third unmap it. Then all lanes store there.
TEST(LinuxMprotect, LanesDoNotNoticeEachOther) {
  constexpr uint32_t kLanes = 70;
  Caller caller(fleet_of(kLanes),
                {kSvc, static_cast<uint32_t>(kStoreX0AtX9), static_cast<uint32_t>(kLoadX0AtX9), kBrk});
  Fleet& fleet = caller.machine.fleet();
  for (uint32_t lane = 0; lane < kLanes; lane++) caller.put(kData, {1000 + lane}, lane);
  fleet.fill(x(9), kData + 8);
  std::vector<uint64_t> numbers(kLanes), size(kLanes, kPage), protection(kLanes);
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    numbers[lane] = lane % 3 == 2 ? kMunmap : kMprotect;
    protection[lane] = lane % 3 == 0 ? kReadWrite : kProtRead;
  }
  fleet.set_all(x(8), numbers);
  fleet.fill(x(0), kData);
  fleet.set_all(x(1), size);
  fleet.set_all(x(2), protection);
  caller.machine.run();
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const Stop stop = fleet.stops()[lane];
    if (lane % 3 == 0) {
      EXPECT_EQ(stop.reason, StopReason::breakpoint) << lane;
      EXPECT_EQ(caller.word(kData, lane), 1000 + lane);
    } else {
      EXPECT_EQ(stop.reason, StopReason::fault) << lane;
      EXPECT_EQ(stop.fault, lane % 3 == 1 ? FaultKind::write : FaultKind::unmapped) << lane;
      EXPECT_EQ(stop.address, kData + 8);
      EXPECT_EQ(caller.machine.outcome(lane).signal, SIGSEGV);
    }
    EXPECT_EQ(caller.word(kData + kPage, lane), 0u);
  }
}

/// Each lane chooses the permissions of its pages at random, and accesses them at random.
TEST(LinuxMprotect, LanesWorkInPagesThatOthersLack) {
  struct Instruction {
    uint32_t word;
    uint32_t bytes;
    bool stores;
  };
  const std::vector<Instruction> instructions = {
      {kStoreX0AtX9, 8, true}, {kLoadX0AtX9, 8, false},
      {0x39000120, 1, true},   {0x39400120, 1, false},   // strb w0, [x9]; ldrb w0, [x9]
      {0xb9000120, 4, true},   {0xb9400120, 4, false},   // str w0, [x9]; ldr w0, [x9]
      {0xa9000520, 16, true},  {0xa9400520, 16, false},  // stp x0, x1, [x9]; ldp x0, x1, [x9]
  };
  constexpr uint32_t kLanes = 70, kPages = 3, kRounds = 60;
  constexpr uint32_t kUnmapped = 8;
  std::vector<uint32_t> words = {kSvc, kBrk};
  for (const Instruction& instruction : instructions) words.insert(words.end(), {instruction.word, kBrk});
  Caller caller(fleet_of(kLanes), words);
  Fleet& fleet = caller.machine.fleet();
  std::mt19937_64 random(11);

  std::vector<std::array<uint32_t, kPages>> permissions(kLanes);
  std::vector<std::vector<uint8_t>> memory(kLanes, std::vector<uint8_t>(kPages * kPage));
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    for (uint8_t& byte : memory[lane]) byte = static_cast<uint8_t>(random());
    fleet.write(lane, kData, memory[lane]);
  }
  for (uint32_t page = 0; page < kPages; page++) {
    std::vector<Caller::Request> requests;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      constexpr uint32_t kChoices[] = {kNone, kProtRead, kReadWrite, kReadWrite, kUnmapped};
      const uint32_t chosen = permissions[lane][page] = kChoices[random() % std::size(kChoices)];
      const uint64_t address = kData + page * kPage;
      requests.push_back(chosen == kUnmapped ? Caller::Request{kMunmap, address, kPage}
                                             : Caller::Request{kMprotect, address, kPage, chosen});
    }
    EXPECT_EQ(caller.call(requests), Results(kLanes));
  }

  struct Wanted {
    FaultKind fault;
    uint64_t address, x0, x1;
  };
  for (uint32_t round = 0; round < kRounds; round++) {
    std::vector<uint64_t> pcs(kLanes), at(kLanes), x0(kLanes), x1(kLanes);
    std::vector<Wanted> wanted(kLanes);
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      const size_t number = random() % instructions.size();
      const Instruction& instruction = instructions[number];
      uint64_t offset = random() % (kPages * kPage - 16);
      if (random() % 2 == 0) offset &= ~uint64_t{15};
      if (random() % 8 == 0) offset = (1 + random() % 2) * kPage - 1 - random() % 15;
      pcs[lane] = kCode + 8 + number * 8;
      at[lane] = kData + offset;
      x0[lane] = random();
      x1[lane] = random();
      Wanted& want = wanted[lane] = {FaultKind::none, 0, x0[lane], x1[lane]};
      for (uint64_t i = offset; want.fault == FaultKind::none && i < offset + instruction.bytes; i++) {
        const uint32_t own = permissions[lane][i / kPage];
        if (own == kUnmapped) want.fault = FaultKind::unmapped;
        else if (instruction.stores && own != kReadWrite) want.fault = FaultKind::write;
        else if (own == kNone) want.fault = FaultKind::read;
        if (want.fault != FaultKind::none) want.address = kData + i;
      }
      if (want.fault != FaultKind::none) continue;
      uint64_t values[2] = {x0[lane], x1[lane]};
      if (instruction.stores) {
        std::memcpy(&memory[lane][offset], values, instruction.bytes);
      } else {
        if (instruction.bytes < 8) values[0] = 0;
        std::memcpy(values, &memory[lane][offset], instruction.bytes);
        want.x0 = values[0];
        want.x1 = values[1];
      }
    }
    fleet.set_all(Field::pc, pcs);
    fleet.set_all(x(9), at);
    fleet.set_all(x(0), x0);
    fleet.set_all(x(1), x1);
    fleet.resume_all();
    caller.machine.run();
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      const Stop stop = fleet.stops()[lane];
      const Wanted& want = wanted[lane];
      SCOPED_TRACE("round " + std::to_string(round) + ", lane " + std::to_string(lane));
      ASSERT_EQ(stop.reason, want.fault == FaultKind::none ? StopReason::breakpoint : StopReason::fault);
      ASSERT_EQ(stop.fault, want.fault);
      ASSERT_EQ(stop.address, want.address);
      ASSERT_EQ(fleet.get(x(0), lane), want.x0);
      ASSERT_EQ(fleet.get(x(1), lane), want.x1);
    }
  }
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    for (uint32_t page = 0; page < kPages; page++) {
      if (permissions[lane][page] == kUnmapped) continue;
      const std::span<const uint8_t> now(memory[lane].data() + page * kPage, kPage);
      EXPECT_TRUE(std::ranges::equal(fleet.read(lane, kData + page * kPage, kPage), now)) << lane << ", " << page;
    }
  }
}

TEST(LinuxMprotect, CodeThatAGuestWroteCanBeMadeToRun) {
  constexpr uint32_t kBranchX9 = 0xd61f0120;  // br x9
  Caller caller(fleet_of(2), {kSvc, kBranchX9});
  Fleet& fleet = caller.machine.fleet();
  for (uint32_t lane : {0u, 1u})
    caller.machine.fleet().write(lane, kData, bytes_of(std::string("\x40\x05\x80\x52\0\0\x20\xd4", 8)));
  fleet.fill(x(8), kMprotect);
  fleet.fill(x(0), kData);
  fleet.fill(x(1), kPage);
  fleet.fill(x(9), kData);
  fleet.set_all(x(2), std::vector<uint64_t>{kReadExecute, kProtRead});
  caller.machine.run();
  EXPECT_EQ(fleet.stops()[0].reason, StopReason::breakpoint);
  EXPECT_EQ(fleet.get(x(0), 0), 42u);
  EXPECT_EQ(fleet.stops()[1].fault, FaultKind::execute);
}

TEST(LinuxMremap, GrowsShrinksAndMovesWithWhatIsThere) {
  constexpr uint32_t kLanes = 40;
  Memory memory(kLanes);
  const uint64_t top = heap_limit(), place = top - 2 * kPage;
  auto all = [&](auto request) {
    std::vector<Caller::Request> requests;
    for (uint32_t lane = 0; lane < kLanes; lane++) requests.push_back(request(lane));
    return memory.call(requests);
  };
  all([&](uint32_t) { return mmap_request(2 * kPage); });
  for (uint32_t lane = 0; lane < kLanes; lane++) memory.put(place + kPage, {7000 + lane}, lane);
  // Odd lanes ask for more memory and get another address; even lanes ask for less.
  auto results = all([&](uint32_t lane) {
    return Caller::Request{kMremap, place, 2 * kPage, (lane % 2 ? 5 : 1) * kPage, kMayMove};
  });
  const uint64_t moved = top - 7 * kPage;
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(results[lane], static_cast<int64_t>(lane % 2 ? moved : place));
    if (lane % 2) {
      EXPECT_EQ(memory.word(moved + kPage, lane), 7000 + lane);
      EXPECT_EQ(memory.word(moved + 4 * kPage, lane), 0u);
      EXPECT_THROW(memory.word(place, lane), ArgumentError);
    } else {
      EXPECT_EQ(memory.word(place, lane), 0u);
      EXPECT_THROW(memory.word(place + kPage, lane), ArgumentError);
    }
  }
}

TEST(LinuxMremap, InPlaceToAnAddressAndRefused) {
  Memory memory(1);
  const uint64_t low = memory.mapped(kPage, kReadWrite, kDataEnd + 0x10000, kFixed);
  memory.put(low, {42});
  EXPECT_EQ(memory.call(kMremap, low, kPage, 3 * kPage, 0), static_cast<int64_t>(low));
  EXPECT_EQ(memory.word(low), 42u);
  EXPECT_EQ(memory.word(low + 2 * kPage), 0u);
  memory.mapped(kPage, kReadWrite, low + 3 * kPage, kFixed);
  memory.call(kMprotect, low + 3 * kPage, kPage, kProtRead);
  EXPECT_EQ(memory.call(kMremap, low, 3 * kPage, 4 * kPage, 0), -ENOMEM) << "the next page is taken";
  const uint64_t target = low + 0x20000;
  EXPECT_EQ(memory.call(kMremap, low, kPage, 2 * kPage, kMayMove | kMoveTo, target), static_cast<int64_t>(target));
  EXPECT_EQ(memory.word(target), 42u);
  EXPECT_THROW(memory.word(low), ArgumentError);
  EXPECT_EQ(memory.word(low + kPage), 0u) << "only one page was moved";

  EXPECT_EQ(memory.call(kMremap, target + 1, kPage, kPage, 0), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, kPage, 0, 0), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, 0, kPage, kMayMove), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, kPage, kPage, 8), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, kPage, kPage, kMoveTo, low), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, 2 * kPage, kPage, kMayMove | kMoveTo, target + kPage), -EINVAL) << "overlap";
  EXPECT_EQ(memory.call(kMremap, target, 2 * kPage, kPage, kMayMove | kMoveTo, 0), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, 2 * kPage, kPage, kMayMove | kMoveTo, ~(kPage - 1)), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, 2 * kPage, ~uint64_t{0}, kMayMove), -ENOMEM);
  EXPECT_EQ(memory.call(kMremap, target, ~uint64_t{0}, kPage, kMayMove), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, ~(kPage - 1), kPage, kMayMove), -EINVAL);
  EXPECT_EQ(memory.call(kMremap, target, 5 * kPage, 6 * kPage, kMayMove), -EFAULT) << "not all of it is there";
  EXPECT_EQ(memory.call(kMremap, 0, kPage, 2 * kPage, kMayMove), -EFAULT);
  EXPECT_EQ(memory.call(kMremap, ~(kPage - 1), kPage, 2 * kPage, kMayMove), -EFAULT);
  EXPECT_EQ(memory.call(kMremap, target, 2 * kPage, 1 << 20, kMayMove), -ENOMEM);
  EXPECT_EQ(memory.word(target), 42u);
}

TEST(LinuxMremap, AMoveThatShrinksLeavesNothingBehind) {
  Memory memory(1);
  const uint64_t place = memory.mapped(3 * kPage, kReadWrite, kDataEnd + 0x10000, kFixed), target = place + 0x20000;
  for (uint64_t page = 0; page < 3; page++) memory.put(place + page * kPage, {41 + page});
  EXPECT_EQ(memory.call(kMremap, place, 3 * kPage, kPage, kMayMove | kMoveTo, target), static_cast<int64_t>(target));
  EXPECT_EQ(memory.word(target), 41u);
  EXPECT_THROW(memory.word(target + kPage), ArgumentError);
  for (uint64_t page = 0; page < 3; page++) EXPECT_THROW(memory.word(place + page * kPage), ArgumentError) << page;
  EXPECT_EQ(memory.mapped(3 * kPage, kReadWrite, place, kNoReplace), place) << "nothing is there";
}

TEST(LinuxMadvise, DontNeedGivesZerosAndTheRestIsAdvice) {
  Memory memory(2);
  const auto places = memory.call({mmap_request(2 * kPage), mmap_request(2 * kPage)});
  const auto place = static_cast<uint64_t>(places[0]);
  for (uint32_t lane : {0u, 1u}) memory.put(place, {42}, lane);
  EXPECT_EQ(memory.call({{kMadvise, place, kPage, kDontNeed}, {kMadvise, place, kPage, 3}}), (Results{0, 0}));
  EXPECT_EQ(memory.word(place, 0), 0u);
  EXPECT_EQ(memory.word(place, 1), 42u);
  EXPECT_EQ(memory.call({{kMadvise, place + 1, kPage, 0}, {kMadvise, place, kPage, 999}}), (Results{-EINVAL, -EINVAL}));
  EXPECT_EQ(memory.call({{kMadvise, place, 4 * kPage, 0}, {kMadvise, place, ~uint64_t{0}, 0}}),
            (Results{-ENOMEM, -EINVAL}));
  EXPECT_EQ(memory.call({{kMadvise, kData, kPage, kDontNeed}, {kMadvise, ~(kPage - 1), 2 * kPage, 0}}),
            (Results{-EINVAL, -EINVAL}));
}

TEST(LinuxMemory, ACallThatFindsThePoolSpentIsMadeAgain) {
  if (test_device() != "cpu") GTEST_SKIP() << "the pool is counted here in pages of one lane";
  FleetOptions options = fleet_of(1);
  options.pool = 6 * kPage;  // one of them is the stack's, one the kernel's
  Memory memory(options, std::vector<uint32_t>{kSvc, kBrk});
  const uint64_t place = memory.mapped(3 * kPage);
  for (uint64_t page = 0; page < 3; page++) memory.put(place + page * kPage, {page + 1});
  Fleet& fleet = memory.machine.fleet();
  const uint64_t values[] = {place, 3 * kPage, 4 * kPage, kMayMove};
  for (unsigned i = 0; i < 4; i++) fleet.set(x(i), 0, values[i]);
  fleet.set(x(8), 0, kMremap);
  fleet.set(Field::pc, 0, kCode);
  const uint64_t before = fleet.get(Field::instructions, 0);
  fleet.resume_all();
  for (int attempt = 0; attempt < 2; attempt++) {
    memory.machine.run();
    EXPECT_EQ(memory.machine.outcome(0).stop.reason, StopReason::out_of_memory);
    EXPECT_EQ(fleet.get(Field::pc, 0), kCode) << "before the SVC";
    EXPECT_EQ(fleet.get(Field::instructions, 0), before);
    for (uint64_t page = 0; page < 3; page++) EXPECT_EQ(memory.word(place + page * kPage), page + 1);
  }
  fleet.grow_pool(12 * kPage);
  memory.machine.run();
  EXPECT_EQ(memory.machine.outcome(0).stop.reason, StopReason::breakpoint);
  const uint64_t moved = fleet.get(x(0), 0);
  EXPECT_EQ(moved, place - 4 * kPage);
  for (uint64_t page = 0; page < 3; page++) EXPECT_EQ(memory.word(moved + page * kPage), page + 1);
  EXPECT_THROW(memory.word(place), ArgumentError);
}

TEST(LinuxMemory, RangesAreBounded) {
  Memory memory(fleet_of(1, uint64_t{64} << 20), {kSvc, kBrk});
  const uint64_t area = memory.mapped(10'000 * kPage);
  int64_t result = 0;
  uint64_t cuts = 0;
  while (result == 0 && cuts < 5000) result = memory.call(kMprotect, area + 2 * cuts++ * kPage, kPage, kProtRead);
  EXPECT_EQ(result, -ENOMEM);
  EXPECT_NEAR(static_cast<double>(cuts), 2048, 10) << "each change makes two ranges of one";
  EXPECT_EQ(memory.map(kPage), -ENOMEM);
  EXPECT_EQ(memory.call(kMunmap, area + 9000 * kPage, kPage), -ENOMEM) << "it would split the rest";
  EXPECT_EQ(memory.call(kMunmap, area, 10'000 * kPage), 0);
  EXPECT_GT(memory.map(kPage), 0);
}

TEST(LinuxMemory, FlatWindowsAreRefused) {
  FleetOptions options = fleet_of(2);
  options.memory_policy = MemoryPolicy::shared;
  try {
    Memory memory(options, std::vector<uint32_t>{kSvc, kBrk});
    FAIL() << "a process needs pages that are copied";
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("use private_copy or transactional"), std::string::npos) << error.what();
  }
}

/// Calls with arguments at every edge, which give the lanes different mappings: none may harm the host, and memory that
/// a system call treats as accessible must exist.
TEST(LinuxMemory, HostileArguments) {
  constexpr uint32_t kLanes = 3;
  Memory memory(kLanes);
  Fleet& fleet = memory.machine.fleet();
  std::mt19937_64 random(7);
  const uint64_t edges[] = {0,
                            kPage,
                            kCode,
                            kData,
                            kDataEnd,
                            heap_limit(),
                            fleet.memory_end(),
                            uint64_t{1} << 48,
                            uint64_t{1} << 63,
                            ~uint64_t{0},
                            ~(kPage - 1)};
  auto number = [&]() -> uint64_t {
    switch (random() % 6) {
      case 0: return edges[random() % std::size(edges)];
      case 1: return edges[random() % std::size(edges)] + random() % 5 - 2;
      case 2: return fleet.memory_begin() + random() % 256 * kPage;
      case 3: return random() % 64 * kPage;
      case 4: return random() % 64;
      default: return random() >> random() % 64;
    }
  };
  const uint64_t calls[] = {kBrkCall, kMunmap, kMremap, kMmap, kMmap, kMprotect, kMadvise};
  for (int step = 0; step < 3000; step++) {
    std::vector<Caller::Request> requests;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      Caller::Request r = {
          calls[random() % std::size(calls)], number(), number(), number(), number(), number(), number()};
      if (random() % 2) r.x3 = kPrivate + (random() % 4 ? kNone : kFixed);
      if (random() % 2) r.x5 = 0;
      // Code and stack must stay mapped, because the next call needs them.
      const bool takes = r.number == kMunmap || r.number == kMprotect || r.number == kMremap || r.number == kMmap;
      if (takes && r.x0 < kData) r.x0 += kDataEnd;
      if (r.number == kMremap && r.x4 < kData) r.x4 += kDataEnd;
      requests.push_back(r);
    }
    memory.call(requests);
    if (testing::Test::HasFailure()) FAIL() << "step " << step;
    if (step % 10 != 0) continue;
    const uint64_t page = fleet.memory_begin() + random() % 256 * kPage;
    const auto readable = memory.call(std::vector<Caller::Request>(kLanes, {kWrite64, 1, page, 1}));
    const auto writable = memory.call(std::vector<Caller::Request>(kLanes, {kRtSigpending, page, 8}));
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      ASSERT_TRUE(readable[lane] == 1 || readable[lane] == -EFAULT);
      ASSERT_TRUE(writable[lane] == 0 || writable[lane] == -EFAULT);
      if (readable[lane] == 1 || writable[lane] == 0) {
        ASSERT_NO_THROW(memory.word(page, lane)) << step;
      }
    }
  }
}

}  // namespace
}  // namespace myriarm
