// SPDX-License-Identifier: Apache-2.0
#include "lane_report.h"

#include <csignal>
#include <nlohmann/json.hpp>

#include "json_text.h"
#include "text.h"

namespace myriarm::cli {
namespace {

// The numbers that shells and coreutils' timeout use.
constexpr int kSignalStatus = 128;
constexpr int kBudgetStatus = 124;
constexpr int kOutOfMemoryStatus = kSignalStatus + SIGKILL;
constexpr int kUnservedStatus = 1;

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGABRT: return "SIGABRT";
    case SIGFPE: return "SIGFPE";
    case SIGPIPE: return "SIGPIPE";
    case SIGTERM: return "SIGTERM";
    case SIGKILL: return "SIGKILL";
    default: return fmt::format("signal {}", number);
  }
}

void write_stream(const char* name, std::span<const uint8_t> bytes, Output& to) {
  to.print(",\"{}\":", name);
  if (write_json_string(bytes, to)) return;
  to.print(",\"{}_base64\":", name);
  write_base64(bytes, to);
}

}  // namespace

const int kCancelledStatus = kSignalStatus + SIGINT;

int exit_status(const LaneOutcome& outcome) {
  if (outcome.signal) return kSignalStatus + outcome.signal;
  switch (outcome.stop.reason) {
    case StopReason::exited: return outcome.exit_status;
    case StopReason::halt: return 0;
    case StopReason::budget: return kBudgetStatus;
    case StopReason::out_of_memory: return kOutOfMemoryStatus;
    case StopReason::syscall: return kUnservedStatus;
    default: return kCancelledStatus;
  }
}

int exit_status(const Stop& stop) { return exit_status(lane_outcome(stop)); }

std::string verdict(const LaneOutcome& outcome) {
  std::string text = name(outcome.stop.reason);
  if (outcome.stop.reason == StopReason::exited) {
    return outcome.signal ? fmt::format("killed by {}", signal_name(outcome.signal))
                          : fmt::format("exited with {}", outcome.exit_status);
  }
  if (outcome.stop.reason == StopReason::fault) text += fmt::format(" ({})", name(outcome.stop.fault));
  if (outcome.signal) text += fmt::format(", {}", signal_name(outcome.signal));
  return text;
}

void add_outcome(nlohmann::ordered_json& object, const LaneOutcome& outcome, uint64_t instructions, uint64_t pc) {
  object["stop"] = name(outcome.stop.reason);
  object["exit_status"] = nullptr;
  object["signal"] = nullptr;
  if (outcome.stop.reason == StopReason::exited && !outcome.signal) object["exit_status"] = outcome.exit_status;
  if (outcome.signal) object["signal"] = outcome.signal;
  object["instructions"] = instructions;
  object["pc"] = hex(pc);
}

LaneOutcome outcome_in(const nlohmann::ordered_json& object) {
  LaneOutcome outcome;
  const auto number = [&](const char* key, int absent) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->get<int>() : absent;
  };
  outcome.exit_status = number("exit_status", outcome.exit_status);
  outcome.signal = number("signal", outcome.signal);
  const auto stop = object.find("stop");
  for (unsigned reason = 0; reason < kStopReasons && stop != object.end(); reason++) {
    if (*stop == name(static_cast<StopReason>(reason))) outcome.stop.reason = static_cast<StopReason>(reason);
  }
  return outcome;
}

void add_fault(nlohmann::ordered_json& object, const Stop& stop) {
  object["fault"] = nullptr;
  if (stop.reason == StopReason::fault) object["fault"] = {{"kind", name(stop.fault)}, {"address", hex(stop.address)}};
}

std::string open_object(const nlohmann::ordered_json& object) {
  std::string text = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.pop_back();
  return text;
}

void write_streams(std::span<const uint8_t> standard_output, std::span<const uint8_t> standard_error, Output& to) {
  write_stream("stdout", standard_output, to);
  write_stream("stderr", standard_error, to);
}

}  // namespace myriarm::cli
