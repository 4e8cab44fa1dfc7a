// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "myriarm/error.h"

namespace myriarm::python {
namespace {

std::vector<std::vector<std::string>> lists_of(const nb::list& list) {
  std::vector<std::vector<std::string>> lists;
  lists.reserve(list.size());
  for (nb::handle item : list) lists.push_back(strings_of(nb::cast<nb::list>(item)));
  return lists;
}

/// Takes the strings out of the Python object, if it is one.
ByteStrings taken(nb::handle object) {
  return object.is_none() ? ByteStrings() : std::move(nb::cast<ByteStrings&>(object));
}

bool is_in(const FileTree& root, const std::string& path, const std::vector<uint8_t>& file) {
  const int64_t found = path.starts_with('/') ? root.find(0, path, kFollowLast, "") : -1;
  std::span<const uint8_t> bytes;
  return found >= 0 && root.content(static_cast<uint32_t>(found), bytes) && std::ranges::equal(bytes, file);
}

}  // namespace

std::vector<uint8_t> bytes_of(const nb::bytes& bytes) {
  const auto* data = static_cast<const uint8_t*>(bytes.data());
  return {data, data + bytes.size()};
}

std::vector<std::string> strings_of(const nb::list& list) {
  std::vector<std::string> strings;
  for (nb::handle item : list) {
    auto bytes = nb::cast<nb::bytes>(item);
    strings.emplace_back(bytes.c_str(), bytes.size());
  }
  return strings;
}

FleetOptions fleet_options_of(const nb::dict& given) {
  FleetOptions options;
  options.device = nb::cast<std::string>(given["device"]);
  options.lanes = nb::cast<uint64_t>(given["lanes"]);
  options.memory = nb::cast<uint64_t>(given["memory"]);
  if (options.memory == kUsualMemory) throw ArgumentError("memory: there are not so many addresses; give fewer");
  options.pool = nb::cast<uint64_t>(given["pool"]);
  options.threads = nb::cast<unsigned>(given["threads"]);
  options.memory_policy = static_cast<MemoryPolicy>(nb::cast<int>(given["memory_policy"]));
  options.engine = static_cast<Engine>(nb::cast<int>(given["engine"]));
  options.compile_threads = nb::cast<unsigned>(given["compile_threads"]);
  options.translation_cache = nb::cast<bool>(given["translation_cache"]);
  return options;
}

std::string text_in(nb::handle bytes) {
  const auto text = nb::cast<nb::bytes>(bytes);
  return {text.c_str(), text.size()};
}

nb::list list_of(std::span<const CollectedFile> files) {
  nb::list list;
  for (const CollectedFile& file : files) {
    const nb::object bytes =
        file.left_out ? nb::object(nb::none()) : nb::object(nb::bytes(file.bytes.data(), file.bytes.size()));
    const auto time = static_cast<double>(file.seconds) + static_cast<double>(file.nanoseconds) * 1e-9;
    list.append(nb::make_tuple(nb::bytes(file.path.data(), file.path.size()), file.mode, bytes, time));
  }
  return list;
}

LinuxOptions process_options_of(const nb::dict& given) {
  LinuxOptions options;
  options.arguments = strings_of(nb::cast<nb::list>(given["arguments"]));
  options.environment = strings_of(nb::cast<nb::list>(given["environment"]));
  options.lane_arguments = lists_of(nb::cast<nb::list>(given["lane_arguments"]));
  options.lane_environments = lists_of(nb::cast<nb::list>(given["lane_environments"]));
  options.standard_input = bytes_of(nb::cast<nb::bytes>(given["standard_input"]));
  options.standard_inputs = taken(given["standard_inputs"]);
  options.files = taken(given["files"]);
  if (const nb::object root = given["root"]; !root.is_none()) options.root = nb::cast<RootHandle&>(root).tree;
  options.file_bytes = nb::cast<uint64_t>(given["file_bytes"]);
  options.working_folder = text_in(given["cwd"]);
  options.keep_files = nb::cast<bool>(given["keep_files"]);
  options.collect = strings_of(nb::cast<nb::list>(given["collect"]));
  options.seed = nb::cast<uint64_t>(given["seed"]);
  options.keep_memory = nb::cast<bool>(given["keep_memory"]);
  options.traced_lanes = nb::cast<std::vector<uint32_t>>(given["traced_lanes"]);
  return options;
}

ElfImage image_of(const std::vector<uint8_t>& file, const std::string& name, const std::string& fork_after,
                  LinuxOptions& options) {
  ElfImage image = parse_elf(file, name, options.root.get());
  // RootHandle::load() gives a program of the root its path there as its name.
  if (options.root && is_in(*options.root, name, file)) image.path = name;
  options.fork_after = fork_point(fork_after, file, image);
  return image;
}

void bind_root(nb::module_& module) {
  nb::class_<RootHandle>(module, "Root")
      .def(
          "__init__",
          [](RootHandle* root, const nb::bytes& folder, const nb::list& binds) {
            const std::string path = text_in(folder);
            std::vector<BoundFolder> bound;
            for (const nb::handle bind : binds) {
              const auto given = nb::cast<nb::tuple>(bind);
              bound.push_back({text_in(given[0]), text_in(given[1]), nb::cast<bool>(given[2])});
            }
            nb::gil_scoped_release free;
            new (root) RootHandle{read_root(path, bound)};
          },
          nb::arg("folder"), nb::arg("binds"))
      .def(
          "load",
          [](const RootHandle& root, const nb::bytes& name) {
            const RootProgram program = load_program(*root.tree, {name.c_str(), name.size()});
            nb::list script;
            for (const std::string& word : program.script_arguments) script.append(nb::bytes(word.data(), word.size()));
            return nb::make_tuple(nb::bytes(program.file.data(), program.file.size()),
                                  nb::bytes(program.image.path.data(), program.image.path.size()), script);
          },
          nb::arg("name"));
}

nb::object dict_of(const std::map<std::string, UnimplementedCall>& calls) {
  nb::dict dict;
  for (const auto& [name, call] : calls) {
    dict[name.c_str()] = nb::make_tuple(call.count, call.lane, call.pc, text_of(call.text));
  }
  return dict;
}

}  // namespace myriarm::python
