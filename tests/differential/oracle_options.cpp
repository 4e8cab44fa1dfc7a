// SPDX-License-Identifier: Apache-2.0
#include "oracle_options.h"

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace myriarm::differential {
namespace {

bool parse(int argc, char** argv, OracleOptions& options,
           const std::function<bool(std::string_view, const char*)>& own) {
  for (int i = 1; i < argc; i++) {
    const std::string_view name = argv[i];
    if (name == "--keep-going") {
      options.keep_going = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--seed") options.seed = std::strtoull(value, nullptr, 0);
    else if (name == "--instructions") options.instructions = std::strtoull(value, nullptr, 0);
    else if (name == "--device") options.device = value;
    else if (name == "--row") options.row = value;
    else if (name == "--batch") options.batch = std::strtoull(value, nullptr, 0);
    else if (name == "--case") options.lane = static_cast<uint32_t>(std::strtoul(value, nullptr, 0));
    else if (!own(name, value)) return false;
  }
  return true;
}

}  // namespace

std::string reproduce(const OracleOptions& options, const char* program, const std::string& own, uint64_t batch,
                      uint32_t lane) {
  return program + (" --seed " + std::to_string(options.seed)) + (options.row.empty() ? "" : " --row " + options.row) +
         " --device " + options.device + own + " --batch " + std::to_string(batch) + " --case " + std::to_string(lane);
}

int oracle_main(int argc, char** argv, const char* program, const char* usage, OracleOptions& options,
                const std::function<bool(std::string_view, const char*)>& own, const std::function<int()>& run) {
  // The buffers of a batch are large. This keeps malloc from returning their pages to the kernel after each batch.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  if (const char* device = std::getenv("MYRIARM_TEST_DEVICE")) options.device = device;
  if (!parse(argc, argv, options, own)) {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  }
}

ComparedRows compared_rows(const Exclusions& exclusions, const std::vector<u16>& all, const std::string& row) {
  ComparedRows compared;
  if (row.empty()) compared.fpcr_off = fpcr_exclusions(exclusions, all);
  for (u16 candidate : all) {
    const bool left_out = row.empty() ? is_excluded(exclusions, candidate)
                                      : kRowInfos[candidate].name.find(row) == std::string_view::npos;
    if (left_out) continue;
    compared.rows.push_back(candidate);
    if (!compared.fpcr_off.contains(candidate)) compared.block_rows.push_back(candidate);
  }
  return compared;
}

}  // namespace myriarm::differential
