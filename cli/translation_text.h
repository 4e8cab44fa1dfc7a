// SPDX-License-Identifier: Apache-2.0
// What `myriarm run` says about translation: the table of --explain, the same as JSON, and a warning where there is none.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "myriarm/myriarm.h"
#include "output.h"

namespace myriarm::cli {

nlohmann::ordered_json translation_json(const TranslationReport& report);
/// `team_lanes`: of the fleet's device.
void print_translation(const TranslationReport& report, Engine engine, uint64_t team_lanes, Output& to);
/// If nothing could be translated, although the user asked for it.
void warn_of_no_translation(const TranslationReport& report, Output& to);
/// If files of the cache on disk were ignored.
void warn_of_cache(const TranslationReport& report, Output& to);

}  // namespace myriarm::cli
