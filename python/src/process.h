// SPDX-License-Identifier: Apache-2.0
// What Python passes for a fleet and for the processes in it, as the options of the C++ API.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "handle.h"
#include "myriarm/myriarm.h"

namespace myriarm::python {

/// The root of processes, as Python holds it.
struct RootHandle {
  std::shared_ptr<const FileTree> tree;
};

std::vector<uint8_t> bytes_of(const nb::bytes& bytes);
std::vector<std::string> strings_of(const nb::list& list);
std::string text_in(nb::handle bytes);
/// (path, mode, bytes or None, time) of each.
nb::list list_of(std::span<const CollectedFile> files);
FleetOptions fleet_options_of(const nb::dict& given);
/// Takes the byte strings out of the ByteStrings in it.
LinuxOptions process_options_of(const nb::dict& given);
/// The program of an ELF file, and in `options` the point that a text names there.
ElfImage image_of(const std::vector<uint8_t>& file, const std::string& name, const std::string& fork_after,
                  LinuxOptions& options);
/// By name (count, lane, pc, text).
nb::object dict_of(const std::map<std::string, UnimplementedCall>& calls);

void bind_queue(nb::module_& module);
void bind_root(nb::module_& module);

}  // namespace myriarm::python
