// SPDX-License-Identifier: Apache-2.0
// `myriarm info`: lists the devices of this machine, and which architecture features are implemented.
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "myriarm/myriarm.h"
#include "output.h"
#include "text.h"

namespace myriarm::cli {
namespace {

/// By feature: whether all of its instructions are implemented.
std::map<std::string, bool> features() {
  std::map<std::string, bool> complete;
  for (const IsaRow& row : isa_rows()) {
    bool& all = complete.try_emplace(row.feature, true).first->second;
    all = all && row.status != "todo";
  }
  return complete;
}

/// The kinds of devices of which this machine has none that can be used, and why.
std::vector<std::pair<std::string, std::string>> unusable_kinds() {
  std::vector<std::pair<std::string, std::string>> kinds;
  for (DeviceKind kind : kDeviceKinds) {
    if (std::string reason = why_unusable(name(kind)); !reason.empty()) kinds.emplace_back(name(kind), reason);
  }
  return kinds;
}

void print_text(Output& out) {
  out.print("myriarm {}\n\n", MYRIARM_VERSION);
  for (const Device& device : devices()) {
    out.print("{:<10}{}, {} units, {}\n", device.id, device.name, device.units, bytes_text(device.memory_bytes));
  }
  for (const auto& kind : unusable_kinds()) out.print("{}\n", kind.second);
  std::string there, missing;
  for (const auto& [feature, complete] : features()) (complete ? there : missing) += " " + feature;
  out.print("\nfeatures complete:{}\nfeatures not complete:{}\n", there, missing);
}

void print_json(Output& out) {
  nlohmann::ordered_json info = {{"version", MYRIARM_VERSION},
                                 {"devices", nlohmann::ordered_json::array()},
                                 {"unusable_devices", nlohmann::ordered_json::array()},
                                 {"features", nlohmann::ordered_json::array()}};
  for (const Device& device : devices()) {
    info["devices"].push_back(
        {{"id", device.id}, {"name", device.name}, {"memory_bytes", device.memory_bytes}, {"units", device.units}});
  }
  for (const auto& [kind, reason] : unusable_kinds()) {
    info["unusable_devices"].push_back({{"kind", kind}, {"reason", reason}});
  }
  for (const auto& [feature, complete] : features()) {
    info["features"].push_back({{"name", feature}, {"complete", complete}});
  }
  out.print("{}\n", info.dump(2));
}

}  // namespace

void add_info(CLI::App& app, int& status) {
  CLI::App* info = app.add_subcommand("info", "Shows the devices of this machine and the implemented features");
  auto json = std::make_shared<bool>(false);
  info->add_flag("--json", *json, "Prints JSON");
  info->callback([json, &status] {
    Output out(STDOUT_FILENO, "standard output");
    *json ? print_json(out) : print_text(out);
    out.flush();
    status = 0;
  });
}

}  // namespace myriarm::cli
