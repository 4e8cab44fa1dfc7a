// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/interpreter/lane_code.h"

namespace myriarm::cpu {
namespace {

/// The region that contains pc, and who owns it.
struct Found {
  const CodeRegion* region;
  CodeOwner owner;
};
Found find_region(const Lane& lane, u64 pc) {
  const LaneCode* own = lane.own_code->get();
  if (own == nullptr || own->use_shared) {
    if (const CodeRegion* region = lane.shared_code->find(pc)) return {region, CodeOwner::program};
  }
  const CodeRegion* region = own == nullptr ? nullptr : own->find(pc);
  return {region, region == nullptr ? CodeOwner::none : CodeOwner::lane};
}

}  // namespace

CodeOwner code_owner(const Lane& lane, u64 address) {
  return find_region(lane, untagged(address) & ~u64{kPageSize - 1}).owner;
}

void code_written(Lane& lane, u64 address, u64 size) {
  if (LaneCode* own = lane.own_code->get()) own->invalidate(untagged(address), size);
}

void privatise_code(Lane& lane) {
  std::unique_ptr<LaneCode>& own = *lane.own_code;
  if (own == nullptr) own = std::make_unique<LaneCode>();
  own->use_shared = false;
  for (const auto& region : lane.shared_code->regions) own->copies.push_back(std::make_unique<CodeRegion>(*region));
}

bool enter_region(Lane& lane, u64 pc, u64 retired) {
  InterpreterPlace& place = lane.place;
  const FaultCode fault = fetch_fault(lane, pc);
  if (fault == FaultCode::none) {
    const CodeRegion* region = find_region(lane, pc).region;
    if (region == nullptr) {
      std::unique_ptr<LaneCode>& own = *lane.own_code;
      if (own == nullptr) own = std::make_unique<LaneCode>();
      const u64 start = pc & ~u64{kPageSize - 1}, page = lane.memory().page_of(pc);
      auto& slot = own->pages[start];
      slot = lazy_region(start, kPageSize / 4);
      region = slot.get();
      lane.table[page] |= kPageCode;
      lane.touch(page);
    }
    place.code = region->begin();
    place.code_address = region->address;
    place.code_bytes = region->count * 4;
    place.op = region->begin() + (pc - region->address) / 4;
  } else {
    lane.stop = fetch_fault_record(fault, pc);
    place.far_pc = pc;
    place.op = &place.far;
  }
  place.bias = retired * sizeof(Operands) - reinterpret_cast<u64>(place.op);
  return fault == FaultCode::none;
}

}  // namespace myriarm::cpu
