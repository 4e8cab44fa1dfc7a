// SPDX-License-Identifier: Apache-2.0
// Exports lane state and shared memory as arrays with strides, without a copy, for DLPack and the buffer protocol.
#include <string>

#include "handle.h"

namespace myriarm::python {
namespace {

/// DLPack's number for a kind of device. Throws StateError if it has none.
int dlpack_kind(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu: return nb::device::cpu::value;
    case DeviceKind::cuda: return nb::device::cuda::value;
  }
  throw StateError("DLPack has no number for this kind of device; copy the array instead, with [...]");
}

template <class T>
nb::object array_of(const ArrayView& view, const std::vector<size_t>& shape, const std::vector<int64_t>& bytes,
                    const nb::capsule& owner) {
  std::vector<int64_t> strides(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] % static_cast<int64_t>(sizeof(T)) != 0) {
      throw StateError("the elements of this fleet's lane state have no common stride; copy it instead, with [...]");
    }
    strides[i] = bytes[i] / static_cast<int64_t>(sizeof(T));
  }
  nb::ndarray<T, nb::array_api> array(view.data, shape.size(), shape.data(), owner, strides.data(), nb::dtype<T>(),
                                      dlpack_kind(view.device), static_cast<int>(view.ordinal));
  return nb::cast(array);
}

/// Bytes from `first` to `second`, in lane 0; the fields of every other lane are as far apart.
int64_t distance(const ArrayView& first, const ArrayView& second) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(second.data) - reinterpret_cast<intptr_t>(first.data));
}

void require_equal_steps(bool equal, const char* name) {
  if (!equal) {
    throw StateError("the registers of " + std::string(name) +
                     " have no common stride on this device; copy them instead, with " + name + "[...]");
  }
}

}  // namespace

/// The owner of an exported array: it keeps the fleet's memory alive as long as the array exists.
nb::capsule FleetHandle::share() {
  auto* share = new std::shared_ptr<FleetOwner>(owner_);
  owner_->exports++;
  return nb::capsule(share, [](void* p) noexcept {
    auto* held = static_cast<std::shared_ptr<FleetOwner>*>(p);
    (*held)->drop_export();
    delete held;
  });
}

nb::object FleetHandle::export_state(const std::string& name) {
  Fleet& fleet = this->fleet();
  size_t lanes = fleet.lanes();
  nb::capsule owner = share();
  if (name == "x") {
    ArrayView first = fleet.view(x(0));
    int64_t step = distance(first, fleet.view(x(1)));
    for (unsigned n = 2; n < 31; ++n) require_equal_steps(distance(first, fleet.view(x(n))) == step * n, "x");
    return array_of<uint64_t>(first, {lanes, 31}, {first.lane_stride, step}, owner);
  }
  if (name == "v") {
    ArrayView first = fleet.view(v_low(0));
    int64_t half = distance(first, fleet.view(v_high(0)));
    int64_t step = distance(first, fleet.view(v_low(1)));
    for (unsigned n = 1; n < 32; ++n) {
      require_equal_steps(distance(first, fleet.view(v_low(n))) == step * n, "v");
      require_equal_steps(distance(first, fleet.view(v_high(n))) == step * n + half, "v");
    }
    return array_of<uint64_t>(first, {lanes, 32, 2}, {first.lane_stride, step, half}, owner);
  }
  constexpr std::pair<const char*, Field> kFields[] = {{"sp", Field::sp},
                                                       {"pc", Field::pc},
                                                       {"nzcv", Field::nzcv},
                                                       {"tpidr", Field::tpidr},
                                                       {"fpcr", Field::fpcr},
                                                       {"fpsr", Field::fpsr},
                                                       {"instructions", Field::instructions},
                                                       {"limit", Field::limit}};
  for (auto [known, field] : kFields) {
    if (name != known) continue;
    ArrayView view = fleet.view(field);
    return array_of<uint64_t>(view, {lanes}, {view.lane_stride}, owner);
  }
  throw ArgumentError("there is no lane state \"" + name + "\"; use x, v or the name of a field");
}

nb::object FleetHandle::export_memory() {
  Fleet& fleet = this->fleet();
  ArrayView view = fleet.memory_view();
  return array_of<uint8_t>(view, {fleet.lanes(), fleet.memory_end() - fleet.memory_begin()}, {view.lane_stride, 1},
                           share());
}

}  // namespace myriarm::python
