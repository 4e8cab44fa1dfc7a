// SPDX-License-Identifier: Apache-2.0
// `myriarm isa`: shows how much of the instruction set is implemented, by group, counted in the instruction table.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "myriarm/isa.h"
#include "output.h"

namespace myriarm::cli {
namespace {

void print_text(Output& out) {
  std::vector<IsaGroup> groups = isa_groups();
  size_t width = 5, feature_width = 7;
  for (const IsaGroup& g : groups) {
    width = std::max(width, g.name.size());
    feature_width = std::max(feature_width, g.feature.size());
  }
  auto line = [&](const std::string& name, const std::string& feature, auto rows, auto there, auto todo, auto never) {
    out.print("{:<{}}  {:<{}}  {:>6} {:>12} {:>6} {:>10}\n", name, width, feature, feature_width, rows, there, todo,
              never);
  };
  line("group", "feature", "rows", "implemented", "todo", "undefined");
  IsaGroup sum;
  for (const IsaGroup& g : groups) {
    line(g.name, g.feature, g.rows, g.implemented, g.todo, g.undefined);
    sum.rows += g.rows;
    sum.implemented += g.implemented;
    sum.todo += g.todo;
    sum.undefined += g.undefined;
  }
  line("all", "", sum.rows, sum.implemented, sum.todo, sum.undefined);
}

void print_json(Output& out) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const IsaGroup& g : isa_groups()) {
    groups.push_back({{"name", g.name},
                      {"feature", g.feature},
                      {"rows", g.rows},
                      {"implemented", g.implemented},
                      {"todo", g.todo},
                      {"undefined", g.undefined}});
  }
  out.print("{}\n", nlohmann::ordered_json{{"groups", groups}}.dump(2));
}

}  // namespace

void add_isa(CLI::App& app, int& status) {
  CLI::App* isa = app.add_subcommand("isa", "Shows which instructions are implemented");
  auto json = std::make_shared<bool>(false);
  isa->add_flag("--json", *json, "Prints JSON");
  isa->callback([json, &status] {
    Output out(STDOUT_FILENO, "standard output");
    *json ? print_json(out) : print_text(out);
    out.flush();
    status = 0;
  });
}

}  // namespace myriarm::cli
