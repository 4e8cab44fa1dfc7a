// SPDX-License-Identifier: Apache-2.0
// myriarm._core: devices, programs, the constructors of fleets, and the exceptions. Users see only the Python code in
// python/myriarm, which calls this module.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <map>

#include "digests.h"
#include "process.h"

namespace myriarm::python {
namespace {

/// A program as an immutable Python object.
struct ProgramHandle {
  Program program;
  std::map<std::string, uint64_t> symbols = {};
};

std::shared_ptr<FleetHandle> make_fleet(nb::list programs, nb::dict given) {
  FleetOptions options = fleet_options_of(given);
  std::vector<Placement> placements;
  for (nb::handle item : programs) {
    auto pair = nb::cast<nb::tuple>(item);
    placements.push_back({nb::cast<const ProgramHandle&>(pair[0]).program, nb::cast<uint64_t>(pair[1])});
  }
  auto owner = make_owner();
  {
    nb::gil_scoped_release free;
    owner->own.emplace(placements, options);
  }
  return std::make_shared<FleetHandle>(std::move(owner));
}

/// `programs`: (bytes of the file, name, lanes, argv) each; argv is empty if `process` has the arguments.
std::shared_ptr<FleetHandle> make_process(nb::list programs, nb::dict given, nb::dict process) {
  FleetOptions options = fleet_options_of(given);
  LinuxOptions process_options = process_options_of(process);
  const std::string fork_after = nb::cast<std::string>(process["fork_after"]);
  struct Given {
    std::vector<uint8_t> file;
    std::string name;
    uint64_t lanes;
    std::vector<std::string> arguments;
  };
  std::vector<Given> files;
  for (nb::handle item : programs) {
    auto parts = nb::cast<nb::tuple>(item);
    files.push_back({bytes_of(nb::cast<nb::bytes>(parts[0])), nb::cast<std::string>(parts[1]),
                     nb::cast<uint64_t>(parts[2]), strings_of(nb::cast<nb::list>(parts[3]))});
  }
  auto owner = make_owner();
  if (nb::object function = process["on_call"]; !function.is_none()) {
    owner->handlers->on_call = function;
    // A run calls it, and the owner waits for the end of the run before it goes away.
    process_options.on_call = tracer(owner->handlers, [owner = owner.get()] {
      if (owner->process) owner->process->cancel();  // it traces the common part of all lanes while it is made
    });
  }
  {
    nb::gil_scoped_release free;
    std::vector<LinuxPlacement> placements;
    for (Given& file : files) {
      placements.push_back(
          {image_of(file.file, file.name, fork_after, process_options), file.lanes, std::move(file.arguments)});
    }
    owner->process = std::make_unique<LinuxFleet>(placements, options, std::move(process_options));
  }
  if (owner->handlers->raised.is_valid()) owner->handlers->raise();
  return std::make_shared<FleetHandle>(std::move(owner));
}

using Octets = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Adds bytes[offsets[i], offsets[i + 1]) for each i. The caller has checked the offsets.
void add_slices(ByteStrings& strings, const Octets& bytes, const Offsets& offsets) {
  strings.reserve(strings.size() + offsets.shape(0));
  for (size_t i = 1; i < offsets.shape(0); i++) {
    strings.add({bytes.data() + offsets.data()[i - 1], offsets.data()[i] - offsets.data()[i - 1]});
  }
}

/// The first address of each name.
std::map<std::string, uint64_t> symbols_of(std::span<const uint8_t> file, uint64_t bias) {
  std::map<std::string, uint64_t> symbols;
  for (const ElfSymbol& symbol : elf_names(file, bias).symbols) {
    symbols.try_emplace(std::string(symbol.name), symbol.address);
  }
  return symbols;
}

nb::object symbols_of_program(const ProgramHandle& handle) {
  nb::dict symbols;
  for (const auto& [name, address] : handle.symbols) {
    PyObject* text = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "backslashreplace");
    symbols[nb::steal(text)] = address;
  }
  return symbols;
}

ProgramHandle program_of_segments(std::string name, nb::list segments, uint64_t entry, uint64_t stack_pointer) {
  Program program{std::move(name), {}, entry, stack_pointer, {}};
  for (nb::handle item : segments) {
    auto parts = nb::cast<nb::tuple>(item);
    program.segments.push_back({nb::cast<uint64_t>(parts[0]), nb::cast<uint64_t>(parts[2]),
                                nb::cast<uint32_t>(parts[3]), bytes_of(nb::cast<nb::bytes>(parts[1]))});
  }
  return {std::move(program), {}};
}

nb::object segments_of(const ProgramHandle& handle) {
  nb::list list;
  for (const Segment& s : handle.program.segments) {
    list.append(nb::make_tuple(s.address, nb::bytes(s.bytes.data(), s.bytes.size()), s.size, s.permissions));
  }
  return list;
}

template <class Enum>
nb::object names_of(unsigned count) {
  nb::list list;
  for (unsigned i = 0; i < count; ++i) list.append(name(static_cast<Enum>(i)));
  return nb::tuple(list);
}

/// The number of each Field by its name.
nb::object field_numbers() {
  nb::dict fields;
  auto add = [&](const std::string& name, Field field) { fields[name.c_str()] = static_cast<unsigned>(field); };
  for (unsigned n = 0; n < 31; ++n) add("x" + std::to_string(n), x(n));
  for (unsigned n = 0; n < 32; ++n) add("v" + std::to_string(n) + "_low", v_low(n));
  for (unsigned n = 0; n < 32; ++n) add("v" + std::to_string(n) + "_high", v_high(n));
  add("sp", Field::sp);
  add("pc", Field::pc);
  add("nzcv", Field::nzcv);
  add("tpidr", Field::tpidr);
  add("fpcr", Field::fpcr);
  add("fpsr", Field::fpsr);
  add("instructions", Field::instructions);
  add("limit", Field::limit);
  return fields;
}

/// The classes of myriarm/errors.py. The references are never dropped.
struct Errors {
  PyObject *error, *argument, *device, *state;
};

/// A sentence may quote a path, which need not be UTF-8.
void raise(PyObject* type, const std::exception& error) {
  const char* what = error.what();
  PyObject* text = PyUnicode_DecodeUTF8(what, static_cast<Py_ssize_t>(std::strlen(what)), "backslashreplace");
  if (text == nullptr) return;
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

void register_errors() {
  nb::module_ module = nb::module_::import_("myriarm.errors");
  auto take = [&](const char* name) { return nb::object(module.attr(name)).release().ptr(); };
  static Errors errors;
  errors = {take("Error"), take("ArgumentError"), take("DeviceError"), take("StateError")};
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const ArgumentError& e) {
          raise(errors.argument, e);
        } catch (const DeviceError& e) {
          raise(errors.device, e);
        } catch (const StateError& e) {
          raise(errors.state, e);
        } catch (const Error& e) {
          raise(errors.error, e);
        }
      },
      nullptr);
}

}  // namespace

NB_MODULE(_core, module) {
  register_errors();
  module.attr("__version__") = MYRIARM_VERSION;
  module.attr("ENDLESS") = kEndless;
  module.attr("PAGE_BYTES") = kPageBytes;
  module.attr("FIELDS") = field_numbers();
  module.attr("STOP_REASONS") = names_of<StopReason>(kStopReasons);
  module.attr("FAULT_KINDS") = names_of<FaultKind>(6);
  module.attr("SIGNALS") = names_of<Signal>(7);
  module.attr("DEVICE_KINDS") = names_of<DeviceKind>(std::size(kDeviceKinds));
  nb::list signals;
  for (unsigned r = 0; r < kStopReasons; ++r) signals.append(static_cast<int>(signal_of(static_cast<StopReason>(r))));
  module.attr("SIGNAL_OF_REASON") = nb::tuple(signals);

  module.def("devices", [] {
    std::vector<Device> found;
    {
      nb::gil_scoped_release free;
      found = devices();
    }
    nb::list list;
    for (const Device& device : found) list.append(tuple_of(device));
    return list;
  });
  module.def("find_device", [](const std::string& device) {
    Device found;
    {
      nb::gil_scoped_release free;
      found = find_device(device);
    }
    return tuple_of(found);
  });
  module.def("why_unusable", &why_unusable, nb::arg("device"), nb::call_guard<nb::gil_scoped_release>());
  module.def("disassemble", &disassemble, nb::arg("word"), nb::arg("pc"));
  module.def("read_file", [](const nb::bytes& path) {
    const std::string name(path.c_str(), path.size());
    std::vector<uint8_t> bytes;
    {
      nb::gil_scoped_release free;
      bytes = read_file(name);
    }
    return nb::bytes(bytes.data(), bytes.size());
  });

  nb::class_<ProgramHandle>(module, "Program")
      .def_prop_ro("name", [](const ProgramHandle& p) { return p.program.name; })
      .def_prop_ro("entry", [](const ProgramHandle& p) { return p.program.entry; })
      .def_prop_ro("stack_pointer", [](const ProgramHandle& p) { return p.program.stack_pointer; })
      .def_prop_ro("segments", segments_of)
      .def_prop_ro("symbols", symbols_of_program);
  module.def("program", program_of_segments, nb::arg("name"), nb::arg("segments"), nb::arg("entry"),
             nb::arg("stack_pointer"));
  module.def(
      "raw_program",
      [](std::string name, nb::bytes bytes, uint64_t address, uint64_t memory, std::optional<uint64_t> entry) {
        Program program = raw_program(std::move(name), bytes_of(bytes), address, memory);
        if (entry) program.entry = *entry;
        return ProgramHandle{std::move(program), {}};
      },
      nb::arg("name"), nb::arg("bytes"), nb::arg("address"), nb::arg("memory"), nb::arg("entry").none());
  module.def(
      "elf_program",
      [](const nb::bytes& file, const std::string& name) {
        const std::vector<uint8_t> bytes = bytes_of(file);
        ElfImage image = parse_elf(bytes, name);
        return ProgramHandle{std::move(image.program), symbols_of(bytes, image.bias)};
      },
      nb::arg("file"), nb::arg("name"));

  // In the child of a fork() the threads of the parent, which hold objects, are not there to drop them.
  module.def("ignore_leaks", [] { nb::set_leak_warnings(false); });

  bind_fleet(module);
  bind_queue(module);
  bind_root(module);
  bind_digests(module);
  module.def("fleet", make_fleet, nb::arg("programs"), nb::arg("options"));
  nb::class_<ByteStrings>(module, "ByteStrings")
      .def(nb::init<>())
      .def("__len__", &ByteStrings::size)
      .def(
          "add",
          [](ByteStrings& strings, const nb::bytes& bytes) {
            strings.add({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
          },
          nb::arg("bytes"))
      .def("add_slices", add_slices, nb::arg("bytes"), nb::arg("offsets"));
  module.def("process", make_process, nb::arg("programs"), nb::arg("options"), nb::arg("process"));
}

}  // namespace myriarm::python
