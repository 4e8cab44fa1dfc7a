// SPDX-License-Identifier: Apache-2.0
// The slow path of memory that the bitcode calls: every access by bytes, each byte's permission asked before any is written.
#include "row_machine.h"

#include <array>

using myriarm::bitcode::RowMachine;

namespace {

using namespace myriarm;

/// Where the bytes of an access lie; false: a fault was recorded.
bool reach(RowMachine& machine, u64 address, u32 size, Access access, std::array<u8*, 16>& bytes) {
  const PagedMemory<1> memory = machine.memory();
  for (u32 i = 0; i < size; i++) {
    const u64 page = memory.page_of(address + i);
    const u32 entry = page < memory.page_count ? memory.table[page] : 0;
    if (FaultCode fault = permission_fault(entry, access); fault != FaultCode::none) {
      machine.stop = {StopCode::fault, fault, 0, 0, (address + i) << 8 >> 8};
      return false;
    }
    bytes[i] = memory.locate(entry, static_cast<u32>(address + i) & (kPageSize - 1));
  }
  return true;
}

}  // namespace

bool myriarm_load_slow(RowMachine* machine, uint64_t address, uint32_t size, uint64_t* value) {
  std::array<u8*, 16> bytes;
  if (!reach(*machine, address, size, Access::read, bytes)) return false;
  *value = 0;
  for (u32 i = 0; i < size; i++) *value |= static_cast<u64>(*bytes[i]) << (8 * i);
  return true;
}

bool myriarm_store_slow(RowMachine* machine, uint64_t address, uint64_t value, uint32_t size) {
  std::array<u8*, 16> bytes;
  if (!reach(*machine, address, size == 0 ? 1 : size, Access::write, bytes)) return false;
  for (u32 i = 0; i < size; i++) *bytes[i] = static_cast<u8>(value >> (8 * i));
  return true;
}

bool myriarm_store_pair_slow(RowMachine* machine, uint64_t address, uint64_t first, uint64_t second, uint32_t size) {
  std::array<u8*, 16> bytes;
  if (!reach(*machine, address, 2 * size, Access::write, bytes)) return false;
  for (u32 i = 0; i < size; i++) *bytes[i] = static_cast<u8>(first >> (8 * i));
  for (u32 i = 0; i < size; i++) *bytes[size + i] = static_cast<u8>(second >> (8 * i));
  return true;
}
