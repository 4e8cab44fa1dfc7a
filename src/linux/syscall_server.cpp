// SPDX-License-Identifier: Apache-2.0
// Turns stopped lanes into calls, passes these to their handlers, and resumes the lanes; and gives handlers access to
// guest memory.
#include "linux/syscall_server.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace myriarm::linux_process {
namespace {

// A transfer buffer on the host is at most about this large.
constexpr uint64_t kBatchBytes = uint64_t{16} << 20;
constexpr uint64_t kSmallestShare = 65536;

/// What the link /proc/self/exe shows: the program's file in the root of a file system that has nothing else. The guest
/// is not told where on the host the file is.
std::string path_in_guest(const std::string& name) { return "/" + name.substr(name.rfind('/') + 1); }

std::vector<uint32_t> sorted(std::vector<uint32_t> lanes) {
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

}  // namespace

SyscallServer::SyscallServer(Fleet& fleet, const ProcessLayout& layout, LinuxOptions& options,
                             const std::atomic<bool>& cancelled)
    : fleet_(fleet),
      window_begin_(fleet.memory_begin()),
      window_end_(fleet.memory_end()),
      break_start_(layout.break_start),
      heap_limit_(layout.heap_limit),
      stack_bytes_(layout.window_end - layout.heap_limit - kPageBytes),
      program_file_(path_in_guest(layout.program.name)),
      input_(std::move(options.standard_input)),
      inputs_(std::move(options.standard_inputs)),
      files_(std::move(options.files)),
      seed_(options.seed),
      pass_output_(options.pass_output),
      cancelled_(cancelled),
      output_share_(std::max(options.output_limit / fleet.lanes(), kSmallestShare)),
      on_call_(std::move(options.on_call)),
      traced_lanes_(sorted(std::move(options.traced_lanes))),
      lanes_(fleet.lanes()) {
  first_space_ = spaces_.insert(std::make_shared<AddressSpace>(layout.program, break_start_));
  // Linux names a thread as the file that it runs.
  std::copy_n(program_file_.begin() + 1, std::min(program_file_.size(), kNameBytes) - 1, first_name_.begin());
  for (uint32_t lane = 0; lane < lanes_.size(); lane++) begin(lane, lane);
}

void SyscallServer::begin(uint32_t lane, uint64_t number) {
  lanes_[lane].space = first_space_;
  lanes_[lane].name = first_name_;
  lanes_[lane].number = number;
}

void SyscallServer::restart(uint32_t lane, uint64_t number, ProcessInput& input) {
  lanes_[lane] = {};
  pending_.erase(lane);
  begin(lane, number);
  if (!input.standard_input && !input.file) return;
  lanes_[lane].input = std::make_unique<OwnInput>(OwnInput{std::move(input.standard_input), std::move(input.file)});
}

const std::map<uint32_t, SyscallServer::Row>& SyscallServer::rows() {
  static const std::map<uint32_t, Row> rows = {
#define SYSCALL(number, name, handler, signature) {number, {#name, &SyscallServer::handler, signature}},
#include "linux/syscalls.inc"
#undef SYSCALL
  };
  return rows;
}

SyscallServer::Served SyscallServer::serve(std::span<const uint32_t> lanes) {
  Served served;
  if (lanes.empty()) return served;
  std::vector<Call> calls(lanes.size());
  std::vector<uint64_t> values(lanes.size());
  auto gather = [&](Field field, auto&& keep) {
    fleet_.get(field, lanes, values);
    for (size_t i = 0; i < calls.size(); i++) keep(calls[i], values[i]);
  };
  for (size_t i = 0; i < calls.size(); i++) calls[i].lane = lanes[i];
  gather(x(8), [](Call& c, uint64_t v) { c.number = static_cast<uint32_t>(v); });  // Linux reads only w8
  for (unsigned a = 0; a < kFirstArguments; a++) {
    gather(x(a), [a](Call& c, uint64_t v) { c.arguments[a] = v; });
  }
  gather(Field::instructions, [](Call& c, uint64_t v) { c.instructions = v; });

  std::vector<Call*> traced = traced_calls(calls);
  const std::vector<CallText> texts = begin_traces(traced);
  std::map<uint32_t, std::vector<Call*>> by_number;
  for (Call& call : calls) by_number[call.number].push_back(&call);
  for (const auto& [number, group] : by_number) {
    auto row = rows().find(number);
    (this->*(row == rows().end() ? &SyscallServer::unimplemented : row->second.handler))(group);
  }
  flush_stores();
  end_traces(traced, texts);

  std::vector<uint32_t> answered;
  std::vector<uint64_t> results;
  std::vector<Stop> exits;
  for (const Call& call : calls) {
    if (call.taken_back) {
      take_back(call);
      served.taken_back++;
      continue;
    }
    if (call.ended) {
      served.exited.push_back(call.lane);
      exits.push_back({StopReason::exited, FaultKind::none, call.status, 0});
      continue;
    }
    answered.push_back(call.lane);
    results.push_back(static_cast<uint64_t>(call.result));
    (has_pending_store(call.lane) ? served.starved : served.resumed).push_back(call.lane);
  }
  if (!answered.empty()) fleet_.set(x(0), answered, results);
  if (!served.exited.empty()) fleet_.set_stops(served.exited, exits);
  if (!served.starved.empty()) {
    std::vector<Stop> stops(served.starved.size(), {StopReason::out_of_memory, FaultKind::none, 0, 0});
    fleet_.set_stops(served.starved, stops);
  }
  if (!served.resumed.empty()) fleet_.resume(served.resumed);
  return served;
}

std::vector<SyscallServer::Call*> SyscallServer::traced_calls(std::vector<Call>& calls) const {
  std::vector<Call*> traced;
  if (!on_call_) return traced;
  for (Call& call : calls) {
    const bool wanted =
        traced_lanes_.empty() || std::binary_search(traced_lanes_.begin(), traced_lanes_.end(), call.lane);
    if (wanted) traced.push_back(&call);
  }
  return traced;
}

CallText SyscallServer::text_of(const Call& call) const {
  const auto row = rows().find(call.number);
  const bool known = row != rows().end();
  return {known ? row->second.name : "syscall_" + std::to_string(call.number), known ? row->second.signature : nullptr,
          call.arguments, [this, lane = call.lane](uint64_t address, uint64_t size) {
            return fleet_.read(lane, address, accessible(lane, address, size, kRead));
          }};
}

std::vector<CallText> SyscallServer::begin_traces(Calls calls) const {
  std::vector<CallText> texts;
  if (!calls.empty()) gather_more_arguments(calls);
  for (const Call* call : calls) texts.push_back(text_of(*call));
  return texts;
}

void SyscallServer::end_traces(Calls calls, std::span<const CallText> texts) const {
  for (size_t i = 0; i < calls.size(); i++) {
    const Call& call = *calls[i];
    if (!call.taken_back) on_call_(call.lane, call.ended ? texts[i].ended() : texts[i].returned(call.result));
  }
}

void SyscallServer::take_back(const Call& call) {
  constexpr uint64_t kInstructionBytes = 4;
  fleet_.set(Field::pc, call.lane, fleet_.get(Field::pc, call.lane) - kInstructionBytes);
  fleet_.set(Field::instructions, call.lane, call.instructions - 1);
  const Stop cancelled = {StopReason::cancelled, FaultKind::none, 0, 0};
  fleet_.set_stops({&call.lane, 1}, {&cancelled, 1});
}

void SyscallServer::gather_more_arguments(Calls calls) const {
  std::vector<uint32_t> lanes;
  for (const Call* call : calls) lanes.push_back(call->lane);
  std::vector<uint64_t> values(lanes.size());
  for (unsigned a = kFirstArguments; a < kArguments; a++) {
    fleet_.get(x(a), lanes, values);
    for (size_t i = 0; i < calls.size(); i++) calls[i]->arguments[a] = values[i];
  }
}

uint64_t SyscallServer::accessible(uint32_t lane, uint64_t address, uint64_t size, uint32_t permission) const {
  return lanes_[lane].space->accessible(address, size, permission);
}

void SyscallServer::fetch(std::vector<Transfer>& transfers,
                          const std::function<void(size_t, std::span<const uint8_t>)>& use) const {
  std::vector<uint8_t> buffer;
  for (size_t first = 0; first < transfers.size();) {
    size_t last = first;
    uint64_t size = 0;
    do {
      transfers[last].offset = size;
      size += transfers[last].size;
      last++;
    } while (last < transfers.size() && size + transfers[last].size <= kBatchBytes);
    buffer.resize(size);
    fleet_.read(std::span(transfers).subspan(first, last - first), buffer);
    for (; first < last; first++) {
      use(first, std::span(buffer).subspan(transfers[first].offset, transfers[first].size));
    }
  }
}

std::vector<SyscallServer::Call*> SyscallServer::fetch_structures(
    Calls calls, unsigned argument, uint32_t size, const std::function<void(Call&, std::span<const uint8_t>)>& use) {
  std::vector<Call*> readable;
  std::vector<Transfer> transfers;
  for (Call* call : calls) {
    const uint64_t address = call->arguments[argument];
    if (accessible(call->lane, address, size, kRead) == size) {
      transfers.push_back({call->lane, size, address, 0});
      readable.push_back(call);
    } else {
      call->result = -EFAULT;
    }
  }
  fetch(transfers, [&](size_t index, std::span<const uint8_t> bytes) { use(*readable[index], bytes); });
  return readable;
}

bool SyscallServer::store_all(Call& call, uint64_t address, std::span<const uint8_t> bytes) {
  if (accessible(call.lane, address, bytes.size(), kWrite) != bytes.size()) return false;
  queue_store(call.lane, address, bytes);
  return true;
}

void SyscallServer::queue_store(uint32_t lane, uint64_t address, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  // The fleet makes the transfers of one write() in any order, so stores of one lane that may overlap need two writes.
  const uint64_t end = address + bytes.size();
  const bool same_lane = !store_transfers_.empty() && store_transfers_.back().lane == lane;
  const bool overlaps = same_lane && address < stored_end_ && end > stored_begin_;
  if (overlaps || (!store_bytes_.empty() && store_bytes_.size() + bytes.size() > kBatchBytes)) flush_stores();
  const bool first = !same_lane || store_transfers_.empty();
  stored_begin_ = first ? address : std::min(stored_begin_, address);
  stored_end_ = first ? end : std::max(stored_end_, end);
  store_transfers_.push_back({lane, static_cast<uint32_t>(bytes.size()), address, store_bytes_.size()});
  store_bytes_.insert(store_bytes_.end(), bytes.begin(), bytes.end());
}

void SyscallServer::flush_stores() {
  if (store_transfers_.empty()) return;
  try {
    fleet_.write(store_transfers_, store_bytes_);
  } catch (const DeviceError&) {
    // The pool is spent, and the error does not say for which lanes. Repeat each store alone to find them; a store may
    // be made twice.
    for (Transfer t : store_transfers_) {
      std::span<const uint8_t> bytes(store_bytes_.data() + t.offset, t.size);
      try {
        t.offset = 0;
        if (!has_pending_store(t.lane)) fleet_.write(std::span(&t, 1), bytes);
        else pending_[t.lane].push_back({t.address, {bytes.begin(), bytes.end()}});
      } catch (const DeviceError&) {
        pending_[t.lane].push_back({t.address, {bytes.begin(), bytes.end()}});
      }
    }
  }
  store_transfers_.clear();
  store_bytes_.clear();
}

void SyscallServer::retry_stores() {
  for (const auto& [lane, stores] : std::exchange(pending_, {})) {
    for (const Store& store : stores) queue_store(lane, store.address, store.bytes);
  }
  flush_stores();
  std::vector<uint32_t> waiting;
  for (const auto& [lane, stores] : pending_) waiting.push_back(lane);
  if (waiting.empty()) return;
  fleet_.set_stops(waiting, std::vector<Stop>(waiting.size(), {StopReason::out_of_memory, FaultKind::none, 0, 0}));
}

}  // namespace myriarm::linux_process
