// SPDX-License-Identifier: Apache-2.0
// myriarm._core.Fleet and Snapshot: the calls of the C++ fleet, with arrays as arguments; they release the GIL.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "handle.h"
#include "process.h"

namespace myriarm::python {
namespace {

using MaybeLanes = std::optional<LaneNumbers>;
using Lanes = std::span<const uint32_t>;

static_assert(sizeof(Stop) == 16 && offsetof(Stop, fault) == 1 && offsetof(Stop, detail) == 4 &&
                  offsetof(Stop, address) == 8,
              "STOP_DTYPE of python/myriarm/results.py has this layout");

constexpr uint64_t kMaxTransferBytes = uint64_t{1} << 30;

/// The given lanes, or all of them; then `every` holds their numbers.
Lanes lanes_or_all(const MaybeLanes& given, Fleet& fleet, std::vector<uint32_t>& every) {
  if (given) return {given->data(), given->size()};
  every.resize(fleet.lanes());
  std::iota(every.begin(), every.end(), 0);
  return every;
}

Field field_of(uint8_t number) {
  if (number >= static_cast<uint8_t>(Field::count)) {
    throw ArgumentError("there is no field " + std::to_string(number) + "; use a number of _core.FIELDS");
  }
  return static_cast<Field>(number);
}

void require_size(size_t given, size_t wanted, const char* what) {
  if (given != wanted) {
    throw ArgumentError(std::string(what) + " has " + std::to_string(given) + " elements; give " +
                        std::to_string(wanted));
  }
}

/// Row f of `values` is field fields[f] of the lanes.
void get_fields(FleetHandle& handle, Bytes fields, MaybeLanes lanes, Table<uint64_t> values) {
  require_size(values.shape(0), fields.size(), "values");
  require_size(values.shape(1), lanes ? lanes->size() : handle->lanes(), "a row of values");
  nb::gil_scoped_release free;
  for (size_t f = 0; f < fields.size(); ++f) {
    std::span<uint64_t> row(values.data() + f * values.shape(1), values.shape(1));
    Field field = field_of(fields.data()[f]);
    if (lanes) handle->get(field, {lanes->data(), lanes->size()}, row);
    else handle->get_all(field, row);
  }
}

void set_fields(FleetHandle& handle, Bytes fields, MaybeLanes lanes, Table<const uint64_t> values) {
  require_size(values.shape(0), fields.size(), "values");
  require_size(values.shape(1), lanes ? lanes->size() : handle->lanes(), "a row of values");
  nb::gil_scoped_release free;
  for (size_t f = 0; f < fields.size(); ++f) {
    std::span<const uint64_t> row(values.data() + f * values.shape(1), values.shape(1));
    Field field = field_of(fields.data()[f]);
    if (lanes) handle->set(field, {lanes->data(), lanes->size()}, row);
    else handle->set_all(field, row);
  }
}

void fill_fields(FleetHandle& handle, Bytes fields, uint64_t value) {
  nb::gil_scoped_release free;
  for (size_t f = 0; f < fields.size(); ++f) handle->fill(field_of(fields.data()[f]), value);
}

/// The transfers of `size` bytes of each lane, split because a Transfer holds less than 4 GiB. Those of lanes[i] begin
/// at offset i * row of the buffer.
std::vector<Transfer> transfers_of(Lanes lanes, const Column<const uint64_t>& addresses, uint64_t size, uint64_t row) {
  if (addresses.size() != 1) require_size(addresses.size(), lanes.size(), "addresses");
  std::vector<Transfer> transfers;
  transfers.reserve(lanes.size() * (size / kMaxTransferBytes + 1));
  for (size_t i = 0; i < lanes.size(); ++i) {
    uint64_t address = addresses.data()[addresses.size() == 1 ? 0 : i];
    for (uint64_t at = 0; at < size; at += kMaxTransferBytes) {
      auto piece = static_cast<uint32_t>(std::min(kMaxTransferBytes, size - at));
      transfers.push_back({lanes[i], piece, address + at, i * row + at});
    }
  }
  return transfers;
}

/// (index, bytes done) of the first lane whose transfers are not complete, or None.
nb::object first_incomplete(Lanes lanes, const std::vector<Transfer>& transfers, const std::vector<uint32_t>& done) {
  size_t pieces = lanes.empty() ? 0 : transfers.size() / lanes.size();
  for (size_t t = 0; t < transfers.size(); ++t) {
    if (done[t] == transfers[t].size) continue;
    return nb::make_tuple(t / pieces, (t % pieces) * kMaxTransferBytes + done[t]);
  }
  return nb::none();
}

nb::object read(FleetHandle& handle, Column<const uint64_t> addresses, MaybeLanes given, Table<uint8_t> buffer) {
  std::vector<uint32_t> every, done;
  std::vector<Transfer> transfers;
  Lanes lanes;
  {
    nb::gil_scoped_release free;
    lanes = lanes_or_all(given, handle.fleet(), every);
    require_size(buffer.shape(0), lanes.size(), "the buffer");
    transfers = transfers_of(lanes, addresses, buffer.shape(1), buffer.shape(1));
    done.resize(transfers.size());
    handle->read(transfers, {buffer.data(), buffer.size()}, done);
  }
  return first_incomplete(lanes, transfers, done);
}

/// `data` has a row for each lane, or one row that every lane gets.
nb::object write(FleetHandle& handle, Column<const uint64_t> addresses, MaybeLanes given, Table<const uint8_t> data) {
  std::vector<uint32_t> every, done;
  std::vector<Transfer> transfers;
  Lanes lanes;
  {
    nb::gil_scoped_release free;
    lanes = lanes_or_all(given, handle.fleet(), every);
    if (data.shape(0) != 1) require_size(data.shape(0), lanes.size(), "the data");
    transfers = transfers_of(lanes, addresses, data.shape(1), data.shape(0) == 1 ? 0 : data.shape(1));
    done.resize(transfers.size());
    handle->write(transfers, {data.data(), data.size()}, done);
  }
  return first_incomplete(lanes, transfers, done);
}

void copy_stops(FleetHandle& handle, Bytes target) {
  nb::gil_scoped_release free;
  std::span<const Stop> stops = handle->stops();
  require_size(target.size(), stops.size_bytes(), "the array of stops");
  std::copy_n(reinterpret_cast<const uint8_t*>(stops.data()), stops.size_bytes(), const_cast<uint8_t*>(target.data()));
}

void set_stops(FleetHandle& handle, LaneNumbers lanes, Column<const uint8_t> reasons, Column<const uint32_t> details) {
  require_size(reasons.size(), lanes.size(), "reasons");
  require_size(details.size(), lanes.size(), "details");
  nb::gil_scoped_release free;
  std::vector<Stop> stops(lanes.size());
  for (size_t i = 0; i < stops.size(); ++i) {
    if (reasons.data()[i] >= kStopReasons) {
      throw ArgumentError("there is no stop reason " + std::to_string(reasons.data()[i]) + "; use a StopReason");
    }
    stops[i].reason = static_cast<StopReason>(reasons.data()[i]);
    stops[i].detail = details.data()[i];
  }
  handle->set_stops({lanes.data(), lanes.size()}, stops);
}

void resume(FleetHandle& handle, MaybeLanes lanes) {
  nb::gil_scoped_release free;
  if (lanes) handle->resume({lanes->data(), lanes->size()});
  else handle->resume_all();
}

void poll_lanes(FleetHandle& handle, Column<uint64_t> instructions, Column<uint8_t> signals) {
  static_assert(sizeof(Signal) == 1);
  nb::gil_scoped_release free;
  handle->poll_lanes(span_of(instructions), {reinterpret_cast<Signal*>(signals.data()), signals.size()});
}

void map(FleetHandle& handle, MaybeLanes given, uint64_t address, uint64_t size, uint32_t permissions) {
  nb::gil_scoped_release free;
  std::vector<uint32_t> every;
  handle->map(lanes_or_all(given, handle.fleet(), every), address, size, permissions);
}

void unmap(FleetHandle& handle, MaybeLanes given, uint64_t address, uint64_t size) {
  nb::gil_scoped_release free;
  std::vector<uint32_t> every;
  handle->unmap(lanes_or_all(given, handle.fleet(), every), address, size);
}

void protect(FleetHandle& handle, MaybeLanes given, uint64_t address, uint64_t size, uint32_t permissions) {
  nb::gil_scoped_release free;
  std::vector<uint32_t> every;
  handle->protect(lanes_or_all(given, handle.fleet(), every), address, size, permissions);
}

/// Row i of `pages` gets the permissions of lane i of the given lanes.
void permissions(FleetHandle& handle, MaybeLanes given, uint64_t address, uint64_t size, Table<uint8_t> pages) {
  nb::gil_scoped_release free;
  std::vector<uint32_t> every;
  handle->permissions(lanes_or_all(given, handle.fleet(), every), address, size, {pages.data(), pages.size()});
}

Snapshot snapshot(FleetHandle& handle, MaybeLanes lanes) {
  nb::gil_scoped_release free;
  return lanes ? handle->snapshot({lanes->data(), lanes->size()}) : handle->snapshot();
}

void restore(FleetHandle& handle, const Snapshot& from, MaybeLanes lanes) {
  nb::gil_scoped_release free;
  if (lanes) handle->restore(from, {lanes->data(), lanes->size()});
  else handle->restore(from);
}

void fork(FleetHandle& handle, uint32_t lane, LaneNumbers targets) {
  nb::gil_scoped_release free;
  handle->fork(lane, {targets.data(), targets.size()});
}

/// A call without arguments.
template <auto kMethod>
auto plain(FleetHandle& handle) {
  nb::gil_scoped_release free;
  return (handle.fleet().*kMethod)();
}
/// A getter of a value that never changes; it may be called while the fleet runs.
template <auto kMethod>
auto constant(FleetHandle& handle) {
  return (handle.fleet().*kMethod)();
}

nb::object device_of(FleetHandle& handle) { return tuple_of(handle->device()); }

nb::object threads(FleetHandle& handle, uint32_t lane) {
  std::vector<GuestThread> found;
  {
    nb::gil_scoped_release free;
    found = handle->threads(lane);
  }
  nb::list list;
  for (const GuestThread& t : found) {
    nb::list x, v;
    for (uint64_t value : t.x) x.append(value);
    for (const auto& [low, high] : t.v) v.append(nb::make_tuple(low, high));
    list.append(
        nb::make_tuple(t.id, t.process, t.is_running, t.is_waiting, x, t.sp, t.pc, t.nzcv, t.tpidr, t.fpcr, t.fpsr, v));
  }
  return list;
}

nb::object outcomes(FleetHandle& handle) {
  LinuxFleet& process = handle.process();
  nb::list list;
  for (uint32_t lane = 0; lane < handle->lanes(); ++lane) {
    LaneOutcome o = process.outcome(lane);
    list.append(nb::make_tuple(
        nb::make_tuple(static_cast<int>(o.stop.reason), static_cast<int>(o.stop.fault), o.stop.detail, o.stop.address),
        o.exit_status, o.signal));
  }
  return list;
}

nb::object output(FleetHandle& handle, uint32_t lane, bool error) {
  LinuxFleet& process = handle.process();
  const std::span<const uint8_t> bytes = error ? process.standard_error(lane) : process.standard_output(lane);
  return nb::bytes(bytes.data(), bytes.size());
}

nb::object collect(FleetHandle& handle, uint32_t lane, const nb::bytes& path, uint64_t most_bytes) {
  return list_of(handle.process().collect(lane, text_in(path), most_bytes));
}

nb::object translation(FleetHandle& handle) {
  const TranslationReport report = handle->translation();
  nb::list refusals;
  for (const auto& [pc, why] : report.refusals) refusals.append(nb::make_tuple(pc, why));
  return nb::make_tuple(report.copied, report.copied_instructions, report.regions, report.cached, report.instructions,
                        report.seconds, report.interpreted, report.translated, report.translated_by_copying,
                        report.visits, report.lanes_in_visits, report.refused, refusals, report.unavailable,
                        report.cache_warning);
}

nb::object unimplemented(FleetHandle& handle) { return dict_of(handle.process().unimplemented()); }

}  // namespace

nb::object tuple_of(const Device& device) {
  return nb::make_tuple(device.id, device.name, device.memory_bytes, device.units, name(device.kind), device.ordinal,
                        device.team_lanes);
}

void bind_fleet(nb::module_& module) {
  nb::class_<Snapshot>(module, "Snapshot").def_prop_ro("lanes", [](const Snapshot& s) {
    nb::list list;
    for (uint32_t lane : s.lanes()) list.append(lane);
    return list;
  });

  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&FleetHandle::visit)},
                                {Py_tp_clear, reinterpret_cast<void*>(&FleetHandle::clear)},
                                {0, nullptr}};
  nb::class_<FleetHandle>(module, "Fleet", nb::is_weak_referenceable(), nb::type_slots(slots))
      .def_prop_ro("lanes", constant<&Fleet::lanes>)
      .def_prop_ro("device", device_of)
      .def_prop_ro("team_lanes", constant<&Fleet::team_lanes>)
      .def_prop_ro("engine", [](FleetHandle& h) { return static_cast<int>(constant<&Fleet::engine>(h)); })
      .def("translation", translation)
      .def_prop_ro("memory_begin", constant<&Fleet::memory_begin>)
      .def_prop_ro("memory_end", constant<&Fleet::memory_end>)
      .def_prop_ro("memory_policy", [](FleetHandle& h) { return static_cast<int>(constant<&Fleet::memory_policy>(h)); })
      .def_prop_ro("closed", &FleetHandle::closed)
      .def_prop_ro("inherited", &FleetHandle::inherited)
      .def("run", &FleetHandle::run, nb::arg("options"), nb::arg("tick").none())
      .def("run_process", &FleetHandle::run_process, nb::arg("engine"), nb::arg("tick").none())
      .def("run_to", &FleetHandle::run_to, nb::arg("options"), nb::arg("addresses"))
      .def("start", &FleetHandle::start, nb::arg("options"))
      .def("wait", &FleetHandle::wait, nb::arg("seconds"))
      .def("poll", &FleetHandle::poll)
      .def("poll_lanes", poll_lanes, nb::arg("instructions").noconvert(), nb::arg("signals").noconvert())
      .def("is_running", &FleetHandle::is_running)
      .def("cancel", &FleetHandle::cancel)
      .def("close", &FleetHandle::close)
      .def("copy_stops", copy_stops, nb::arg("target").noconvert())
      .def("set_stops", set_stops, nb::arg("lanes").noconvert(), nb::arg("reasons").noconvert(),
           nb::arg("details").noconvert())
      .def("resume", resume, nb::arg("lanes").noconvert().none())
      .def("get_fields", get_fields, nb::arg("fields").noconvert(), nb::arg("lanes").noconvert().none(),
           nb::arg("values").noconvert())
      .def("set_fields", set_fields, nb::arg("fields").noconvert(), nb::arg("lanes").noconvert().none(),
           nb::arg("values").noconvert())
      .def("fill_fields", fill_fields, nb::arg("fields").noconvert(), nb::arg("value"))
      .def("threads", threads, nb::arg("lane"))
      .def("read", read, nb::arg("addresses").noconvert(), nb::arg("lanes").noconvert().none(),
           nb::arg("buffer").noconvert())
      .def("write", write, nb::arg("addresses").noconvert(), nb::arg("lanes").noconvert().none(),
           nb::arg("data").noconvert())
      .def("map", map, nb::arg("lanes").noconvert().none(), nb::arg("address"), nb::arg("size"), nb::arg("permissions"))
      .def("unmap", unmap, nb::arg("lanes").noconvert().none(), nb::arg("address"), nb::arg("size"))
      .def("permissions", permissions, nb::arg("lanes").noconvert().none(), nb::arg("address"), nb::arg("size"),
           nb::arg("pages").noconvert())
      .def("protect", protect, nb::arg("lanes").noconvert().none(), nb::arg("address"), nb::arg("size"),
           nb::arg("permissions"))
      .def("pool_used", plain<&Fleet::pool_used>)
      .def("pool_size", plain<&Fleet::pool_size>)
      .def("grow_pool",
           [](FleetHandle& h, uint64_t bytes) {
             nb::gil_scoped_release free;
             h->grow_pool(bytes);
           })
      .def("snapshot", snapshot, nb::arg("lanes").noconvert().none())
      .def("restore", restore, nb::arg("snapshot"), nb::arg("lanes").noconvert().none())
      .def("fork", fork, nb::arg("lane"), nb::arg("targets").noconvert())
      .def("commit", plain<&Fleet::commit>)
      .def("rollback", plain<&Fleet::rollback>)
      .def("export_state", &FleetHandle::export_state, nb::arg("name"))
      .def("export_memory", &FleetHandle::export_memory)
      .def("outcomes", outcomes)
      .def("output", output, nb::arg("lane"), nb::arg("error"))
      .def("unimplemented", unimplemented)
      .def("collect", collect, nb::arg("lane"), nb::arg("path"), nb::arg("most_bytes"));
}

}  // namespace myriarm::python
