// SPDX-License-Identifier: Apache-2.0
#include "translation_text.h"

#include <nlohmann/json.hpp>

#include "text.h"

namespace myriarm::cli {

nlohmann::ordered_json translation_json(const TranslationReport& report) {
  nlohmann::ordered_json refusals = nlohmann::ordered_json::array();
  for (const auto& [pc, why] : report.refusals) refusals.push_back({{"pc", hex(pc)}, {"why", why}});
  return {{"copied_regions", report.copied},
          {"copied_instructions", report.copied_instructions},
          {"regions", report.regions},
          {"cached_regions", report.cached},
          {"region_instructions", report.instructions},
          {"compile_seconds", report.seconds},
          {"interpreted", report.interpreted},
          {"translated", report.translated},
          {"translated_by_copying", report.translated_by_copying},
          {"visits", report.visits},
          {"lanes_in_visits", report.lanes_in_visits},
          {"refused", report.refused},
          {"refusals", std::move(refusals)},
          {"unavailable", report.unavailable},
          {"cache_warning", report.cache_warning}};
}

void print_translation(const TranslationReport& report, Engine engine, uint64_t team_lanes, Output& to) {
  auto line = [&](const std::string& label, const std::string& value) { to.print("{:<18}{}\n", label, value); };
  if (engine != Engine::translate) {
    return line("translation", fmt::format("none: the engine is {}; use --engine translate", name(engine)));
  }
  if (!report.unavailable.empty()) line("compiler", "none: " + report.unavailable);
  const uint64_t retired = report.interpreted + report.translated;
  auto share = [&](uint64_t count) {
    const double percent = retired != 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(retired) : 0;
    return fmt::format("{} instructions ({:.1f} %)", grouped(count), percent);
  };
  line("interpreted", share(report.interpreted));
  line("in copied code", share(report.translated_by_copying));
  line("in compiled code", share(report.translated - report.translated_by_copying));
  if (report.visits != 0) {
    line("lanes together", fmt::format("{:.1f} of {} on average, when {} visits of compiled code began",
                                       static_cast<double>(report.lanes_in_visits) / static_cast<double>(report.visits),
                                       team_lanes, grouped(report.visits)));
  }
  line("copied",
       fmt::format("{} regions of {} instructions", grouped(report.copied), grouped(report.copied_instructions)));
  line("compiled", fmt::format("{} regions of {} instructions", grouped(report.regions), grouped(report.instructions)));
  line("from the cache", fmt::format("{} of the compiled regions", grouped(report.cached)));
  line("seconds for both", fmt::format("{:.6f}", report.seconds));
  line("refused regions", grouped(report.refused));
  for (const auto& [pc, why] : report.refusals) line("  " + hex(pc), why);
  if (report.refused > report.refusals.size()) line("  others", grouped(report.refused - report.refusals.size()));
}

void warn_of_no_translation(const TranslationReport& report, Output& to) {
  if (report.unavailable.empty() || report.copied != 0) return;
  to.print("myriarm: nothing was translated, since {}; the interpreter ran everything\n", report.unavailable);
}

void warn_of_cache(const TranslationReport& report, Output& to) {
  if (!report.cache_warning.empty()) to.print("myriarm: {}\n", report.cache_warning);
}

}  // namespace myriarm::cli
