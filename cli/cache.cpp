// SPDX-License-Identifier: Apache-2.0
// `myriarm cache`: shows, checks and clears the translated code that runs keep on disk.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "myriarm/translation_cache.h"
#include "output.h"
#include "text.h"

namespace myriarm::cli {
namespace {

/// Exit status of `verify` if a file is damaged.
constexpr int kDamagedStatus = 1;

std::string time_text(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts = {};
  char text[32] = "";
  if (gmtime_r(&time, &parts) != nullptr) (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

uint64_t bytes_of(const TranslationCache& cache) {
  uint64_t bytes = 0;
  for (const CachedRegion& region : cache.regions) bytes += region.bytes;
  return bytes;
}

std::string totals_text(const TranslationCache& cache) {
  return fmt::format("{} bytes of at most {}, {} {} in {}", grouped(bytes_of(cache)), grouped(cache.limit),
                     grouped(cache.regions.size()), cache.regions.size() == 1 ? "region" : "regions", cache.folder);
}

uint64_t damaged_in(const TranslationCache& cache) {
  return static_cast<uint64_t>(std::count_if(cache.regions.begin(), cache.regions.end(),
                                             [](const CachedRegion& region) { return !region.problem.empty(); }));
}

void print_list(const TranslationCache& cache, Output& out) {
  auto line = [&](const std::string& used, const std::string& pc, const std::string& instructions,
                  const std::string& bytes, const std::string& compile, const std::string& made_by,
                  const std::string& file) {
    out.print("{:<19}  {:>18}  {:>12}  {:>9}  {:>12}  {:<9}  {}\n", used, pc, instructions, bytes, compile, made_by,
              file);
  };
  if (!cache.regions.empty()) {
    line("used (UTC)", "guest address", "instructions", "bytes", "compile (ms)", "made by", "file");
  }
  for (const CachedRegion& region : cache.regions) {
    if (!region.problem.empty()) {
      line(time_text(region.used), "", "", grouped(region.bytes), "", "", region.file + ": " + region.problem);
      continue;
    }
    line(time_text(region.used), hex(region.pc), grouped(region.instructions), grouped(region.bytes),
         fmt::format("{:.1f}", region.seconds * 1e3), region.version, region.file);
  }
  out.print("{}\n", totals_text(cache));
}

void print_check(const TranslationCache& cache, Output& out) {
  for (const CachedRegion& region : cache.regions) {
    if (!region.problem.empty()) out.print("{}: {}\n", region.file, region.problem);
  }
  const uint64_t damaged = damaged_in(cache);
  out.print("{}\n", totals_text(cache));
  if (damaged == 0) out.print("all whole\n");
  else out.print("{} not usable; runs make them again, and myriarm cache clear removes them\n", grouped(damaged));
}

nlohmann::ordered_json json_of(const TranslationCache& cache) {
  nlohmann::ordered_json regions = nlohmann::ordered_json::array();
  for (const CachedRegion& region : cache.regions) {
    nlohmann::ordered_json entry = {{"file", region.file}, {"bytes", region.bytes}, {"used", region.used}};
    if (region.problem.empty()) {
      entry["pc"] = hex(region.pc);
      entry["instructions"] = region.instructions;
      entry["compile_seconds"] = region.seconds;
      entry["version"] = region.version;
    } else {
      entry["problem"] = region.problem;
    }
    regions.push_back(std::move(entry));
  }
  return {{"folder", cache.folder},
          {"bytes", bytes_of(cache)},
          {"limit_bytes", cache.limit},
          {"damaged", damaged_in(cache)},
          {"regions", std::move(regions)}};
}

void clear(bool json, Output& out) {
  const ClearedCache cleared = clear_translation_cache();
  if (json) {
    out.print("{}\n",
              nlohmann::ordered_json{
                  {"folder", cleared.folder}, {"removed_regions", cleared.regions}, {"removed_bytes", cleared.bytes}}
                  .dump(2));
  } else {
    out.print("removed {} bytes, {} {}, from {}\n", grouped(cleared.bytes), grouped(cleared.regions),
              cleared.regions == 1 ? "region" : "regions", cleared.folder);
  }
}

}  // namespace

void add_cache(CLI::App& app, int& status) {
  CLI::App* cache = app.add_subcommand("cache", "Shows, checks or clears the translated code that is kept on disk");
  auto action = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  cache
      ->add_option("ACTION", *action,
                   "list: what is in it; verify: checks every file; clear: removes them. The exit status of verify is\n"
                   "1 if a file is damaged")
      ->required()
      ->check(CLI::IsMember({"list", "verify", "clear"}));
  cache->add_flag("--json", *json, "Prints JSON");
  cache->callback([action, json, &status] {
    Output out(STDOUT_FILENO, "standard output");
    status = 0;
    if (*action == "clear") {
      clear(*json, out);
    } else {
      const TranslationCache content = read_translation_cache();
      if (*json) out.print("{}\n", json_of(content).dump(2));
      else if (*action == "list") print_list(content, out);
      else print_check(content, out);
      if (*action == "verify" && damaged_in(content) != 0) status = kDamagedStatus;
    }
    out.flush();
  });
}

}  // namespace myriarm::cli
