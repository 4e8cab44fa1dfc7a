// SPDX-License-Identifier: Apache-2.0
// The slow paths of memory that the bitcode calls: those of core/slow_access.h over one flat memory, in which no page
// is shared and none holds predecoded code.
#include "row_machine.h"

#include "core/slow_access.h"

using myriarm::bitcode::RowMachine;

namespace {

using namespace myriarm;

struct FlatMemory {
  RowMachine& machine;

  u64 page_of(u64 address) const { return machine.memory().page_of(address); }
  u64 page_count() const { return machine.page_count; }
  u32 entry(u64 page) const { return machine.memory().entry(page); }
  u8* locate(u32 entry, u32 offset) const { return machine.memory().locate(entry, offset); }
  bool refuse(FaultCode fault, u64 address) {
    machine.stop = fault_record(fault, address);
    return false;
  }
  bool make_writable(u64, u32&) { return false; }
  void code_written(u64, u32) {}
};

}  // namespace

bool myriarm_load_slow(RowMachine* machine, uint64_t address, uint32_t size, uint64_t* value) {
  FlatMemory memory{*machine};
  const SlowLoad load = load_slowly(memory, address, size);
  *value = load.value;
  return load.done;
}

bool myriarm_store_slow(RowMachine* machine, uint64_t address, uint64_t value, uint32_t size) {
  FlatMemory memory{*machine};
  return store_slowly(memory, address, value, 0, size);
}

bool myriarm_store_pair_slow(RowMachine* machine, uint64_t address, uint64_t first, uint64_t second, uint32_t size) {
  FlatMemory memory{*machine};
  const PairBytes bytes = bytes_of_pair(first, second, size);
  return store_slowly(memory, address, bytes.low, bytes.high, bytes.size);
}
