// SPDX-License-Identifier: Apache-2.0
#include "linux/processes.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "kernel/errno.h"

namespace myriarm::linux_process {
namespace {

constexpr uint64_t kSmallestShare = 65536;

std::vector<uint32_t> sorted(std::vector<uint32_t> lanes) {
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

struct Row {
  std::string name;
  const char* signature;
};

const std::map<uint32_t, Row>& rows() {
  static const std::map<uint32_t, Row> rows = {
#define SYSCALL(number, name, place, handler, signature) {number, {#name, signature}},
#include "kernel/syscalls.inc"
#undef SYSCALL
  };
  return rows;
}

std::string name_of(uint32_t number) {
  const auto row = rows().find(number);
  return row != rows().end() ? row->second.name : "syscall_" + std::to_string(number);
}

ReadMemory memory_of(HostedCall& call) {
  return [&call](uint64_t address, uint64_t size) {
    std::vector<uint8_t> bytes(size);
    bytes.resize(call.read(address, bytes));
    return bytes;
  };
}

/// The text of a call that is about to be served.
CallText text_of(HostedCall& call) {
  const auto row = rows().find(call.number);
  std::array<uint64_t, 6> arguments;
  std::copy_n(call.arguments, arguments.size(), arguments.begin());
  return {name_of(call.number), row == rows().end() ? nullptr : row->second.signature, arguments, memory_of(call)};
}

}  // namespace

Processes::Processes(uint64_t lanes, LinuxOptions& options, const std::atomic<bool>& cancelled)
    : input_(std::move(options.standard_input)),
      inputs_(std::move(options.standard_inputs)),
      files_(std::move(options.files)),
      root_(options.root),
      pass_output_(options.pass_output),
      output_share_(output_share(options.output_limit, lanes)),
      on_call_(std::move(options.on_call)),
      names_inputs_(options.restartable),
      traced_lanes_(sorted(std::move(options.traced_lanes))),
      cancelled_(cancelled),
      lanes_(lanes),
      seen_(options.restartable ? lanes : 0) {
  for (uint32_t lane = 0; lane < lanes; lane++) lanes_[lane].number = lanes_[lane].source = lane;
}

uint64_t Processes::output_share(uint64_t limit, uint64_t lanes) {
  return std::max(limit / std::max<uint64_t>(lanes, 1), kSmallestShare);
}

void Processes::begin_with(Outputs output, std::map<std::string, UnimplementedCall> unimplemented) {
  first_output_ = std::move(output);
  note_first_output(0);
  unimplemented_ = std::move(unimplemented);
}

void Processes::note_first_output(uint32_t lane) {
  for (size_t i = 0; i < first_output_.size(); i++) {
    if (passes_output(lane)) first_output_left_[i] = first_output_[i].size();
  }
}

void Processes::pass_first_output() {
  for (size_t i = 0; i < first_output_.size(); i++) {
    if (first_output_left_[i] == 0) continue;
    const std::span<const uint8_t> left = std::span(first_output_[i]).last(first_output_left_[i]);
    const PutOut put = pass_on(static_cast<int>(i + 1), left);
    first_output_left_[i] = put.kind == PutOut::Kind::interrupted ? left.size() - put.size : 0;
  }
}

void Processes::restart(uint32_t lane, uint64_t number, ProcessInput& input) {
  Lane& process = lanes_[lane];
  process.number = number;
  process.source = lane;
  process.input.reset();
  process.wrote = {};
  note_first_output(lane);
  for (OutputBuffer& output : process.output) output.clear();
  if (!seen_.empty()) seen_[lane] = {};
  if (!input.standard_input && !input.file && !input.arguments && !input.environment) return;
  process.input = std::make_shared<const OwnInput>(OwnInput{std::move(input.standard_input), std::move(input.file),
                                                            std::move(input.arguments), std::move(input.environment)});
}

Processes::Given Processes::given(uint32_t lane) const {
  const Lane& process = lanes_[lane];
  return {process.number, process.source, process.input, seen_[lane]};
}

void Processes::begin_again(uint32_t lane, const Given& given) {
  Lane& process = lanes_[lane];
  process.number = given.number;
  process.source = given.source;
  process.input = given.input;
  process.wrote = {};
  for (OutputBuffer& output : process.output) output.clear();
  Seen& seen = seen_[lane] = given.seen;
  seen.calls.begin_again();
  seen.missing_calls.begin_again();
  seen.signals.begin_again();
  seen.passed_before = seen.passed;
}

void Processes::describe(InputRun& run) const {
  run.output_limit = output_share_;
  for (size_t stream = 0; stream < first_output_.size(); stream++) {
    run.first_bytes[stream] = first_output_[stream].size();
    run.first_hash[stream] = output_hash(first_output_[stream]);
  }
}

GivenInput Processes::input(uint32_t lane) const {
  const Lane& process = lanes_[lane];
  const OwnInput* own = process.input.get();
  GivenInput given;
  given.number = process.number;
  if (own && own->standard_input) given.standard_input = *own->standard_input;
  else given.standard_input = inputs_.empty() ? std::span(input_) : inputs_[process.source];
  given.has_file = (own && own->file) || !files_.empty();
  if (own && own->file) given.file = *own->file;
  else if (given.has_file) given.file = files_[process.source];
  given.traced = is_traced(lane);
  given.host_writes = passes_output(lane);
  given.output_limit = given.host_writes ? kEndless : output_share_;
  return given;
}

bool Processes::is_traced(uint32_t lane) const {
  return on_call_ &&
         (traced_lanes_.empty() || std::binary_search(traced_lanes_.begin(), traced_lanes_.end(), traced_number(lane)));
}

PutOut Processes::put_out(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes) {
  if (passes_output(lane)) return pass_new(lane, stream, position, bytes);
  Lane& process = lanes_[lane];
  OutputBuffer& output = process.output[stream - 1];
  bool& wrote = process.wrote[stream - 1];
  if (!wrote && !output.put(0, first_output_[stream - 1])) return {PutOut::Kind::refused, 0};
  wrote = true;
  if (!output.put(position, bytes)) return {PutOut::Kind::refused, 0};
  return {PutOut::Kind::taken, bytes.size()};
}

PutOut Processes::pass_new(uint32_t lane, unsigned stream, uint64_t position, std::span<const uint8_t> bytes) {
  if (seen_.empty()) return pass_on(static_cast<int>(stream), bytes);
  Seen& seen = seen_[lane];
  const uint64_t before = seen.passed_before[stream - 1];
  const uint64_t known = std::min<uint64_t>(before - std::min(before, position), bytes.size());
  PutOut put = pass_on(static_cast<int>(stream), bytes.subspan(known));
  put.size += known;
  seen.passed[stream - 1] = std::max(seen.passed[stream - 1], position + put.size);
  return put;
}

PutOut Processes::pass_on(int stream, std::span<const uint8_t> bytes) const {
  // If a pipe, a terminal or a socket can take anything, it can take this much without blocking. A write that blocked
  // could not be given up.
  struct stat status = {};
  const bool file = ::fstat(stream, &status) == 0 && S_ISREG(status.st_mode);
  const size_t most = file ? bytes.size() : PIPE_BUF;
  constexpr int kMilliseconds = 50;  // between two looks at cancelled_
  size_t written = 0;
  while (written < bytes.size()) {
    if (cancelled_.load(std::memory_order_relaxed)) return {PutOut::Kind::interrupted, written};
    pollfd ready = {stream, POLLOUT, 0};
    const int count = file ? 1 : ::poll(&ready, 1, kMilliseconds);
    if (count == 0 || (count < 0 && errno == EINTR)) continue;
    const ssize_t n = ::write(stream, bytes.data() + written, std::min(most, bytes.size() - written));
    if (n >= 0) {
      written += static_cast<size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      return {errno == EPIPE ? PutOut::Kind::closed : PutOut::Kind::refused, written};
    }
  }
  return {PutOut::Kind::taken, written};
}

void Processes::unimplemented(HostedCall& call) {
  // A guest may try every number; this bounds the report.
  constexpr size_t kMostNames = 1000;
  if (!seen_.empty() && seen_[call.lane].missing_calls.is_known()) return;
  std::string name = name_of(call.number);
  const uint64_t number = call.input;
  std::lock_guard lock(mutex_);
  if (unimplemented_.size() >= kMostNames && !unimplemented_.count(name)) name = "other";
  UnimplementedCall& known = unimplemented_[name];
  // Of all lanes the first one, whichever thread was faster.
  if (known.count++ != 0 && number >= known.lane) return;
  known.lane = static_cast<uint32_t>(number);
  known.pc = call.pc;
  known.text = text_of(call).returned(-int64_t{kernel::kENOSYS}, memory_of(call));
}

void Processes::unimplemented_again(uint32_t number, uint64_t count) {
  std::lock_guard lock(mutex_);
  const auto known = unimplemented_.find(name_of(number));
  (known != unimplemented_.end() ? known->second : unimplemented_["other"]).count += count;
}

std::map<std::string, UnimplementedCall> Processes::unimplemented_calls() const {
  std::lock_guard lock(mutex_);
  return unimplemented_;
}

void Processes::before(HostedCall& call) {
  CallText text = text_of(call);
  std::lock_guard lock(mutex_);
  under_way_.insert_or_assign(call.lane, std::move(text));
}

void Processes::after(HostedCall& call, const int64_t* result) {
  std::map<uint32_t, CallText>::node_type text;
  {
    std::lock_guard lock(mutex_);
    text = under_way_.extract(call.lane);
  }
  if (text.empty() || (!seen_.empty() && seen_[call.lane].calls.is_known())) return;
  const std::string line = result ? text.mapped().returned(*result, memory_of(call)) : text.mapped().ended();
  std::lock_guard lock(telling_);
  on_call_(traced_number(call.lane), line);
}

void Processes::signalled(const HostedSignal& signal) {
  if (!seen_.empty() && seen_[signal.lane].signals.is_known()) return;
  const std::string line = signal_line(signal.information);
  std::lock_guard lock(telling_);
  on_call_(traced_number(signal.lane), line);
  if (signal.ends) on_call_(traced_number(signal.lane), killed_line(signal.information));
}

void Processes::saved(uint64_t snapshot, std::span<const uint32_t> lanes) {
  SavedLanes& saved = saved_[snapshot];
  saved.lanes.assign(lanes.begin(), lanes.end());
  const auto save = [&](uint32_t lane) {
    const Lane& process = lanes_[lane];
    const bool began = process.number == lane && process.source == lane && !process.input;
    if (began && !process.wrote[0] && !process.wrote[1]) return;
    const auto bytes = [](const OutputBuffer& buffer) {
      return std::vector<uint8_t>(buffer.bytes().begin(), buffer.bytes().end());
    };
    saved.kept.emplace(lane, SavedLane{process.number,
                                       process.source,
                                       process.input,
                                       process.wrote,
                                       {bytes(process.output[0]), bytes(process.output[1])}});
  };
  for (uint32_t lane : lanes) save(lane);
  for (uint32_t lane = 0; lanes.empty() && lane < lanes_.size(); lane++) save(lane);
}

void Processes::restored(uint64_t snapshot, std::span<const uint32_t> from, std::span<const uint32_t> to) {
  const SavedLanes& saved = saved_[snapshot];
  const auto restore = [&](uint32_t source, uint32_t target) {
    Lane& process = lanes_[target];
    const auto found = saved.kept.find(source);
    process.number = found == saved.kept.end() ? source : found->second.number;
    process.source = found == saved.kept.end() ? source : found->second.source;
    process.input = found == saved.kept.end() ? nullptr : found->second.input;
    process.wrote = found == saved.kept.end() ? std::array<bool, 2>{} : found->second.wrote;
    if (!seen_.empty()) seen_[target] = {};
    for (size_t stream = 0; stream < process.output.size(); stream++) {
      process.output[stream].clear();
      if (found != saved.kept.end()) (void)process.output[stream].put(0, found->second.output[stream]);
    }
  };
  if (from.empty()) from = to = saved.lanes;
  for (size_t i = 0; i < to.size(); i++) restore(from[i], to[i]);
  for (uint32_t lane = 0; from.empty() && lane < lanes_.size(); lane++) restore(lane, lane);
}

void Processes::dropped(uint64_t snapshot) { saved_.erase(snapshot); }

}  // namespace myriarm::linux_process
