// SPDX-License-Identifier: Apache-2.0
// How one lane, or the process of one input, ended: as text, as an exit status, as members of a JSON object.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "myriarm/linux.h"
#include "output.h"

namespace myriarm::cli {

/// What the help of `run` says.
int exit_status(const LaneOutcome& outcome);
int exit_status(const Stop& stop);
/// The status after Ctrl-C.
extern const int kCancelledStatus;

/// In words that are the same for lanes that ended alike.
std::string verdict(const LaneOutcome& outcome);

/// `stop` to `pc`: what docs/cli.md says of a lane, without its registers, fault and output.
void add_outcome(nlohmann::ordered_json& object, const LaneOutcome& outcome, uint64_t instructions, uint64_t pc);
/// What add_outcome() has added; a reason of none if it was not add_outcome() that made the object.
LaneOutcome outcome_in(const nlohmann::ordered_json& object);
void add_fault(nlohmann::ordered_json& object, const Stop& stop);
/// The text of an object without its closing brace, for members to follow. Strings in it need not be UTF-8.
std::string open_object(const nlohmann::ordered_json& object);
/// Writes the members that have what a lane wrote: text, and base 64 beside text that would lose bytes.
void write_streams(std::span<const uint8_t> standard_output, std::span<const uint8_t> standard_error, Output& to);

}  // namespace myriarm::cli
