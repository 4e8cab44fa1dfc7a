// SPDX-License-Identifier: Apache-2.0
// The C API: registers, stops and memory of lanes, in batches, and the threads of a lane.
#include "c_api/convert.h"

using namespace myriarm;
using namespace myriarm::c_api;

namespace {

static_assert(sizeof(myriarm_transfer) == sizeof(Transfer));

std::vector<Transfer> transfers_of(const myriarm_transfer* transfers, uint64_t count) {
  std::vector<Transfer> made;
  made.reserve(count);
  for (const myriarm_transfer& t : span_of(transfers, count, "transfers")) {
    made.push_back({t.lane, t.size, t.address, t.offset});
  }
  return made;
}

/// Throws ArgumentError for the first transfer that is not complete.
void require_complete(const std::vector<Transfer>& transfers, const std::vector<uint32_t>& done) {
  for (size_t i = 0; i < transfers.size(); i++) {
    const Transfer& t = transfers[i];
    if (done[i] == t.size) continue;
    throw ArgumentError("transfer " + std::to_string(i) + ": lane " + std::to_string(t.lane) + " has only " +
                        std::to_string(done[i]) + " of " + std::to_string(t.size) +
                        " bytes mapped there; map the rest, or pass `done`");
  }
}

}  // namespace

myriarm_status myriarm_fleet_get(myriarm_fleet* fleet, uint32_t field, const uint32_t* lanes, uint64_t count,
                                 uint64_t* values) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    const std::span<uint64_t> to = span_of(values, count, "values");
    if (lanes == nullptr && count == object->fleet().lanes()) return object->fleet().get_all(field_of(field), to);
    object->fleet().get(field_of(field), Lanes(object->fleet(), lanes, count), to);
  });
}

myriarm_status myriarm_fleet_set(myriarm_fleet* fleet, uint32_t field, const uint32_t* lanes, uint64_t count,
                                 const uint64_t* values) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    const std::span<const uint64_t> from = span_of(values, count, "values");
    if (lanes == nullptr && count == object->fleet().lanes()) return object->fleet().set_all(field_of(field), from);
    object->fleet().set(field_of(field), Lanes(object->fleet(), lanes, count), from);
  });
}

myriarm_status myriarm_fleet_fill(myriarm_fleet* fleet, uint32_t field, uint64_t value) {
  return guarded([&] { fleets().find(fleet)->fleet().fill(field_of(field), value); });
}

myriarm_status myriarm_fleet_get_stops(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                       myriarm_stop* stops) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    const std::span<myriarm_stop> to = span_of(stops, count, "stops");
    const Lanes wanted(object->fleet(), lanes, count);
    const std::span<const Stop> all = object->fleet().stops();
    for (uint32_t lane : wanted.span()) {
      if (lane < all.size()) continue;
      throw ArgumentError("there is no lane " + std::to_string(lane) + "; the fleet has lanes 0 to " +
                          std::to_string(all.size() - 1));
    }
    for (size_t i = 0; i < to.size(); i++) to[i] = stop_of(all[wanted.span()[i]]);
  });
}

myriarm_status myriarm_fleet_set_stops(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                       const myriarm_stop* stops) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    std::vector<Stop> given;
    for (const myriarm_stop& stop : span_of(stops, count, "stops")) given.push_back(stop_of(stop));
    object->fleet().set_stops(Lanes(object->fleet(), lanes, count), given);
  });
}

myriarm_status myriarm_fleet_resume(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    object->fleet().resume(Lanes(object->fleet(), lanes, count));
  });
}

myriarm_status myriarm_fleet_count_threads(myriarm_fleet* fleet, uint32_t lane, uint64_t* count) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    uint64_t& to = required(count, "count");
    to = object->fleet().threads(lane).size();
  });
}

myriarm_status myriarm_fleet_get_thread(myriarm_fleet* fleet, uint32_t lane, uint64_t index, myriarm_thread* thread) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    check_output(thread, "thread");
    const std::vector<GuestThread> all = object->fleet().threads(lane);
    if (index >= all.size()) {
      throw ArgumentError("there is no thread " + std::to_string(index) + " in lane " + std::to_string(lane) +
                          "; it has " + std::to_string(all.size()) + " of them, numbered from 0");
    }
    write_struct(thread, thread_of(all[index]));
  });
}

myriarm_status myriarm_fleet_read(myriarm_fleet* fleet, const myriarm_transfer* transfers, uint64_t count, void* buffer,
                                  uint64_t buffer_size, uint32_t* done) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    const std::vector<Transfer> all = transfers_of(transfers, count);
    const std::span<uint8_t> to = span_of(static_cast<uint8_t*>(buffer), buffer_size, "buffer");
    if (done != nullptr) return object->fleet().read(all, to, {done, count});
    std::vector<uint32_t> reached(count);
    object->fleet().read(all, to, reached);
    require_complete(all, reached);
  });
}

myriarm_status myriarm_fleet_write(myriarm_fleet* fleet, const myriarm_transfer* transfers, uint64_t count,
                                   const void* buffer, uint64_t buffer_size, uint32_t* done) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    const std::vector<Transfer> all = transfers_of(transfers, count);
    const std::span<const uint8_t> from = span_of(static_cast<const uint8_t*>(buffer), buffer_size, "buffer");
    if (done != nullptr) return object->fleet().write(all, from, {done, count});
    std::vector<uint32_t> reached(count);
    object->fleet().write(all, from, reached);
    require_complete(all, reached);
  });
}

myriarm_status myriarm_fleet_map(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count, uint64_t address,
                                 uint64_t size, uint32_t permissions) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    object->fleet().map(Lanes(object->fleet(), lanes, count), address, size, permissions);
  });
}

myriarm_status myriarm_fleet_unmap(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count, uint64_t address,
                                   uint64_t size) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    object->fleet().unmap(Lanes(object->fleet(), lanes, count), address, size);
  });
}

myriarm_status myriarm_fleet_protect(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count, uint64_t address,
                                     uint64_t size, uint32_t permissions) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    object->fleet().protect(Lanes(object->fleet(), lanes, count), address, size, permissions);
  });
}

myriarm_status myriarm_fleet_permissions(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count, uint64_t address,
                                         uint64_t size, uint8_t* pages, uint64_t pages_size) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    object->fleet().permissions(Lanes(object->fleet(), lanes, count), address, size,
                                span_of(pages, pages_size, "pages"));
  });
}

myriarm_status myriarm_fleet_get_pool(myriarm_fleet* fleet, uint64_t* used, uint64_t* size) {
  return guarded([&] {
    const auto object = fleets().find(fleet);
    const uint64_t now = object->fleet().pool_used(), most = object->fleet().pool_size();
    if (used != nullptr) *used = now;
    if (size != nullptr) *size = most;
  });
}

myriarm_status myriarm_fleet_grow_pool(myriarm_fleet* fleet, uint64_t bytes) {
  return guarded([&] { fleets().find(fleet)->fleet().grow_pool(bytes); });
}
