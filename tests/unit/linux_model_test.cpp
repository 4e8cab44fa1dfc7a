// SPDX-License-Identifier: Apache-2.0
// Random sequences of system calls on memory and descriptors, with snapshots, restores and forks of lanes between them. What
// each lane has gone through is then done by a process of the host's Linux: results, errors, mappings, permissions, memory
// and output must be the same. Where they are to differ is listed below, and an entry that is not needed fails.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <random>

#include "host_process.h"
#include "linux_caller.h"

namespace myriarm::test {
namespace {

constexpr uint64_t kPage = kPageBytes, kArena = 0x440000, kRecords = kData, kStatus = kData + 0x1000;
constexpr uint32_t kLanes = 5;

/// A call of a lane's life, and what it gave.
struct Event {
  ModelStep step;
  ModelOutcome outcome;
};
using Life = std::vector<Event>;

/// Where a lane is to differ from Linux.
struct Difference {
  const char* name;
  const char* reason;
  std::function<bool(const ModelStep& step, const ModelOutcome& ours, const ModelOutcome& theirs)> explains;
  bool ends;  ///< the two processes differ from then on, so that nothing behind it is compared
  uint64_t used = 0;
};

bool is_command(const ModelStep& step, uint64_t command) {
  return step.call == ModelCall::fcntl && step.arguments[1].value == command;
}

constexpr char kBehindEnd[] = "pages behind the end of a mapped file";

std::vector<Difference>& differences() {
  static std::vector<Difference> list = {
      {"O_NONBLOCK and O_APPEND", "no call blocks, and no file can be written to",
       [](const ModelStep& step, const ModelOutcome& ours, const ModelOutcome& theirs) {
         return is_command(step, F_GETFL) && ours.result == (theirs.result & ~int64_t{O_NONBLOCK | O_APPEND});
       },
       false},
      {"a part of a transfer", "a pipe of Linux moves a piece of a page whole or not at all",
       [](const ModelStep& step, const ModelOutcome& ours, const ModelOutcome& theirs) {
         const bool moves = step.call == ModelCall::read || step.call == ModelCall::readv ||
                            step.call == ModelCall::write || step.call == ModelCall::writev;
         return moves && ours.result > 0 &&
                (theirs.result == -EFAULT || (theirs.result > 0 && theirs.result < ours.result));
       },
       true},
      {"MADV_DONTNEED of a file", "the contents of a copy cannot be read again",
       [](const ModelStep& step, const ModelOutcome& ours, const ModelOutcome& theirs) {
         return step.call == ModelCall::madvise && ours.result == -EINVAL &&
                (theirs.result == 0 || theirs.result == -ENOMEM);
       },
       true},
      // The pages themselves are compared in compare_pages().
      {kBehindEnd, "mprotect makes pages of zeros of them, which on Linux can never be accessed",
       [](const ModelStep& step, const ModelOutcome& ours, const ModelOutcome& theirs) {
         return step.call == ModelCall::pread64 && ours.result > 0 && theirs.result == -EFAULT;
       },
       true},
  };
  return list;
}

class Lives {
 public:
  explicit Lives(uint64_t seed, const std::string& input, const std::string& file)
      : random_(seed), guest_(fleet_options(), options(input, file)), lives_(kLanes) {
    heap_ = static_cast<uint64_t>(guest_.call(std::vector<Caller::Request>(kLanes, {kBrkCall}))[0]);
    for (uint32_t lane = 0; lane < kLanes; lane++) guest_.put_text(kRecords, std::string(kInputFile) + '\0', lane);
    const ModelStep first = {ModelCall::mmap,
                             {{ModelValue::arena, 0},
                              {ModelValue::number, (kArenaPages - 4) * kPage},
                              {ModelValue::number, PROT_READ | PROT_WRITE},
                              {ModelValue::number, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS},
                              {ModelValue::number, ~uint64_t{0}},
                              {ModelValue::number, 0}}};
    make(std::vector<ModelStep>(kLanes, first));
  }

  void round() {
    Fleet& fleet = guest_.machine.fleet();
    switch (below(12)) {
      case 0:
        if (kept_.size() == 4) kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(below(4)));
        kept_.push_back({fleet.snapshot(), lives_});
        break;
      case 1: {
        if (kept_.empty()) break;
        const Kept& kept = kept_[below(kept_.size())];
        std::vector<uint32_t> lanes;
        for (uint32_t lane = 0; lane < kLanes; lane++) {
          if (below(2) == 0) lanes.push_back(lane);
        }
        if (lanes.empty()) break;
        fleet.restore(kept.snapshot, lanes);
        for (uint32_t lane : lanes) lives_[lane] = kept.lives[lane];
        break;
      }
      case 2: {
        const auto from = static_cast<uint32_t>(below(kLanes)), to = static_cast<uint32_t>(below(kLanes));
        if (from == to) break;
        fleet.fork(from, std::span(&to, 1));
        lives_[to] = lives_[from];
        break;
      }
      default: {
        std::vector<ModelStep> steps;
        for (uint32_t lane = 0; lane < kLanes; lane++) steps.push_back(random_step(lane));
        make(steps);
      }
    }
  }

  /// Compares every lane with a process that has had the same life.
  void compare(const std::string& input, const std::string& path) {
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      std::vector<ModelStep> steps;
      for (const Event& event : lives_[lane]) steps.push_back(event.step);
      const ModelState theirs = run_on_host(steps, input, path);
      if (!compare_outcomes(lane, theirs)) continue;
      EXPECT_EQ(text(guest_.machine.standard_output(lane)), theirs.output) << "lane " << lane;
      EXPECT_EQ(text(guest_.machine.standard_error(lane)), theirs.errors) << "lane " << lane;
      compare_pages(lane, theirs);
      whole_++;
      if (testing::Test::HasFailure()) {
        for (const Event& event : lives_[lane]) ADD_FAILURE() << text_of(event.step) << " = " << event.outcome.result;
        return;
      }
    }
  }
  /// How many lives were compared to their end.
  uint64_t whole() const { return whole_; }

 private:
  struct Kept {
    Snapshot snapshot;
    std::vector<Life> lives;
  };

  static FleetOptions fleet_options() {
    FleetOptions options = fleet_of(kLanes);
    options.threads = 1;  // the runs are short
    return options;
  }
  static LinuxOptions options(const std::string& input, const std::string& file) {
    LinuxOptions options;
    options.standard_input = bytes_of(input);
    for (uint32_t lane = 0; lane < kLanes; lane++) options.files.add(bytes_of(file));
    options.output_limit = uint64_t{kLanes} << 24;
    options.keep_memory = true;
    return options;
  }
  uint64_t below(uint64_t end) { return random_() % end; }
  static ModelValue number(uint64_t value) { return {ModelValue::number, value}; }
  template <size_t kCount>
  ModelValue one_of(const uint64_t (&values)[kCount]) {
    return number(values[below(kCount)]);
  }
  ModelValue descriptor() {
    constexpr uint64_t kEdges[] = {1022, 1023, 1024, ~uint64_t{0}};
    return below(16) == 0 ? one_of(kEdges) : number(below(7));
  }
  /// Of pages, and sometimes of bytes within them.
  ModelValue address() {
    const bool in_heap = below(6) == 0;
    const uint64_t pages = in_heap ? kHeapPages : kArenaPages;
    return {in_heap ? ModelValue::heap : ModelValue::arena, below(pages) * kPage + (below(20) == 0 ? below(kPage) : 0)};
  }
  /// Of 1 to `most` pages that lie in one region; `begin` is aligned.
  std::array<ModelValue, 2> range(uint64_t most) {
    const bool in_heap = below(8) == 0;
    const uint64_t pages = in_heap ? kHeapPages : kArenaPages, first = below(pages);
    const uint64_t count = 1 + below(std::min(most, pages - first));
    const uint64_t off = below(30) == 0 ? 1 + below(kPage - 1) : 0;
    const uint64_t size = below(30) == 0 ? 0 : count * kPage - below(2) * below(kPage - 1) - off;
    return {ModelValue{in_heap ? ModelValue::heap : ModelValue::arena, first * kPage + off}, number(size)};
  }
  std::array<ModelValue, 2> buffer() {
    const bool in_heap = below(6) == 0;
    const uint64_t region = (in_heap ? kHeapPages : kArenaPages) * kPage;
    const uint64_t size = below(4) == 0 ? below(2 * kPage) : below(100);
    const uint64_t at =
        below(3) == 0 ? below(region / kPage) * kPage + kPage - std::min(kPage, size) / 2 : below(region);
    return {ModelValue{in_heap ? ModelValue::heap : ModelValue::arena, std::min(at, region - size)}, number(size)};
  }
  ModelValue protection() {
    // Execute permission alone is left out: whether it lets a system call read depends on the host's processor.
    constexpr uint64_t kProtections[] = {0, 1, 2, 3, 3, 3, 5, 7, 16};
    return one_of(kProtections);
  }
  ModelStep random_step(uint32_t lane) {
    // Changes often go to where the lane has mapped the file.
    const auto [begin, size] = below(3) == 0 ? file_ranges_[lane] : range(5);
    const auto [place, bytes] = buffer();
    switch (below(34)) {
      case 0:
      case 1:
      case 2: {
        // Not MAP_SHARED: a lane treats such a mapping as a private one, which MADV_DONTNEED empties.
        constexpr uint64_t kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
        constexpr uint64_t kFlags[] = {kPrivate | MAP_FIXED, kPrivate | MAP_FIXED, kPrivate,
                                       kPrivate | MAP_FIXED_NOREPLACE, MAP_ANONYMOUS | MAP_FIXED};
        const auto [at, length] = arena_range();
        return {ModelCall::mmap, {at, length, protection(), one_of(kFlags), number(~uint64_t{0}), number(0)}};
      }
      case 3:
      case 4:
      case 32:
      case 33: {
        constexpr uint64_t kFlags[] = {MAP_PRIVATE | MAP_FIXED, MAP_PRIVATE | MAP_FIXED, MAP_PRIVATE,
                                       MAP_SHARED | MAP_FIXED, MAP_SHARED | MAP_FIXED};
        constexpr uint64_t kOffsets[] = {0, 0, kPage, 2 * kPage, 7};
        const auto [at, length] = file_ranges_[lane] = arena_range();
        return {ModelCall::mmap, {at, length, protection(), one_of(kFlags), number(below(7)), one_of(kOffsets)}};
      }
      case 5: {
        const auto [at, length] = arena_range();
        return {ModelCall::munmap, {at, length}};
      }
      case 6:
      case 7:
      case 8: return {ModelCall::mprotect, {begin, size, protection()}};
      case 9: {
        // Not MADV_WILLNEED and MADV_FREE, which depend on how the host's kernel was built and on when it runs short.
        constexpr uint64_t kAdvice[] = {MADV_NORMAL, MADV_DONTNEED, MADV_DONTNEED, MADV_RANDOM, 100};
        return {ModelCall::madvise, {begin, size, one_of(kAdvice)}};
      }
      case 10:
      case 11:
        return {ModelCall::brk,
                {below(5) == 0 ? number(below(2)) : ModelValue{ModelValue::heap, below(kHeapPages * kPage)}}};
      case 12:
      case 13: {
        constexpr uint64_t kFlags[] = {O_RDONLY, O_RDONLY, O_RDONLY | O_NONBLOCK, O_RDONLY | O_CLOEXEC};
        return {ModelCall::open, {one_of(kFlags)}};
      }
      case 14: return {ModelCall::close, {below(3) == 0 ? descriptor() : number(3 + below(4))}};
      case 15: return {ModelCall::dup, {descriptor()}};
      case 16: {
        constexpr uint64_t kFlags[] = {0, 0, O_CLOEXEC, 1};
        return {ModelCall::dup3, {descriptor(), descriptor(), one_of(kFlags)}};
      }
      case 17:
      case 30:
      case 31: {
        constexpr uint64_t kCommands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL};
        const ModelValue command = one_of(kCommands);
        constexpr uint64_t kLowest[] = {0, 5, 1023, 1024}, kStatusFlags[] = {0, O_NONBLOCK, O_APPEND};
        const bool duplicates = command.value == F_DUPFD || command.value == F_DUPFD_CLOEXEC;
        return {ModelCall::fcntl,
                {descriptor(), command,
                 duplicates                 ? one_of(kLowest)
                 : command.value == F_SETFL ? one_of(kStatusFlags)
                                            : number(below(2))}};
      }
      case 18: return {ModelCall::ioctl, {descriptor(), number(0x5401 /* TCGETS */), place}};
      case 19: return {ModelCall::fstat, {descriptor()}};
      case 20:
      case 21: {
        constexpr uint64_t kOffsets[] = {0, 1, 5000, 4095, ~uint64_t{0}, ~uint64_t{99}, 1000000};
        return {ModelCall::lseek, {descriptor(), one_of(kOffsets), number(below(6))}};
      }
      case 22: {
        constexpr uint64_t kOffsets[] = {0, 1, 5000, 4095, ~uint64_t{0}, 1000000};
        return {ModelCall::pread64, {descriptor(), place, bytes, one_of(kOffsets)}};
      }
      case 23: {
        const auto [second, second_bytes] = buffer();
        return {ModelCall::readv, {descriptor(), place, bytes, second, second_bytes}};
      }
      case 24: {
        const auto [second, second_bytes] = buffer();
        return {ModelCall::writev, {descriptor(), place, bytes, second, second_bytes}};
      }
      case 25:
      case 26: return {ModelCall::write, {descriptor(), place, bytes}};
      default: return {ModelCall::read, {descriptor(), place, bytes}};
    }
  }
  std::array<ModelValue, 2> arena_range() {
    for (;;) {
      const std::array<ModelValue, 2> made = range(5);
      if (made[0].base == ModelValue::arena) return made;
    }
  }

  uint64_t value(const ModelValue& value) const {
    return value.value + (value.base == ModelValue::arena ? kArena : value.base == ModelValue::heap ? heap_ : 0);
  }
  /// The call as the guest makes it.
  Caller::Request request(const ModelStep& step, uint32_t lane) {
    uint64_t a[8] = {};
    for (size_t i = 0; i < step.arguments.size(); i++) a[i] = value(step.arguments[i]);
    const auto vector = [&](uint64_t call) -> Caller::Request {
      guest_.put(kRecords + 0x100, {a[1], a[2], a[3], a[4]}, lane);
      return {call, a[0], kRecords + 0x100, 2};
    };
    switch (step.call) {
      case ModelCall::mmap: return {kMmap, a[0], a[1], a[2], a[3], a[4], a[5]};
      case ModelCall::munmap: return {kMunmap, a[0], a[1]};
      case ModelCall::mprotect: return {kMprotect, a[0], a[1], a[2]};
      case ModelCall::madvise: return {kMadvise, a[0], a[1], a[2]};
      case ModelCall::brk: return {kBrkCall, a[0]};
      case ModelCall::open: return {kOpenat, static_cast<uint64_t>(AT_FDCWD), kRecords, a[0]};
      case ModelCall::close: return {kClose, a[0]};
      case ModelCall::dup: return {kDup, a[0]};
      case ModelCall::dup3: return {kDup3, a[0], a[1], a[2]};
      case ModelCall::fcntl: return {kFcntl, a[0], a[1], a[2]};
      case ModelCall::ioctl: return {kIoctl, a[0], a[1], a[2]};
      case ModelCall::fstat: return {kFstat, a[0], kStatus};
      case ModelCall::lseek: return {kLseek, a[0], a[1], a[2]};
      case ModelCall::read: return {kRead63, a[0], a[1], a[2]};
      case ModelCall::pread64: return {kPread64, a[0], a[1], a[2], a[3]};
      case ModelCall::write: return {kWrite64, a[0], a[1], a[2]};
      case ModelCall::readv: return vector(kReadv);
      case ModelCall::writev: return vector(kWritev);
    }
    return {};
  }
  /// One call of each lane.
  void make(const std::vector<ModelStep>& steps) {
    std::vector<Caller::Request> requests;
    for (uint32_t lane = 0; lane < kLanes; lane++) requests.push_back(request(steps[lane], lane));
    const std::vector<int64_t> results = guest_.call(requests);
    std::vector<Caller::Request> unmaps(kLanes, {kGetpid});
    bool elsewhere = false;
    for (uint32_t lane = 0; lane < kLanes; lane++) {
      const ModelStep& step = steps[lane];
      ModelOutcome outcome = {results[lane], 0, 0};
      if (step.call == ModelCall::fstat && outcome.result == 0) {
        outcome.mode = guest_.word(kStatus + 16, lane) & 0xFFFFFFFF;
        outcome.size = guest_.word(kStatus + 48, lane);
      }
      if (step.call == ModelCall::brk) outcome.result -= static_cast<int64_t>(heap_);
      if (step.call == ModelCall::mmap && outcome.result >= 0) {
        const uint64_t offset = static_cast<uint64_t>(outcome.result) - kArena;
        if (offset >= kArenaPages * kPage)
          unmaps[lane] = {kMunmap, static_cast<uint64_t>(outcome.result), requests[lane].x1};
        elsewhere |= offset >= kArenaPages * kPage;
        outcome.result = offset < kArenaPages * kPage ? static_cast<int64_t>(offset) : kElsewhere;
      }
      lives_[lane].push_back({step, outcome});
    }
    if (elsewhere) guest_.call(unmaps);
  }

  /// False if nothing behind the outcomes is to be compared.
  bool compare_outcomes(uint32_t lane, const ModelState& theirs) {
    const Life& life = lives_[lane];
    for (size_t i = 0; i < life.size(); i++) {
      const ModelOutcome &ours = life[i].outcome, &other = theirs.outcomes[i];
      if (ours == other) continue;
      Difference* found = nullptr;
      for (Difference& entry : differences()) {
        if (entry.explains(life[i].step, ours, other)) found = &entry;
      }
      if (found == nullptr) {
        ADD_FAILURE() << "lane " << lane << ", call " << i << ", " << text_of(life[i].step) << " gave " << ours.result
                      << " (mode " << ours.mode << ", size " << ours.size << "), and on the host " << other.result
                      << " (mode " << other.mode << ", size " << other.size << ")";
        for (size_t before = 0; before < i; before++) {
          ADD_FAILURE() << "  after " << text_of(life[before].step) << " = " << life[before].outcome.result;
        }
        return false;
      }
      found->used++;
      if (found->ends) return false;
    }
    return true;
  }
  void compare_pages(uint32_t lane, const ModelState& theirs) {
    Fleet& fleet = guest_.machine.fleet();
    for (uint64_t i = 0; i < kModelPages; i++) {
      const ModelPage& page = theirs.pages[i];
      const uint64_t at = i < kArenaPages ? kArena + i * kPage : heap_ + (i - kArenaPages) * kPage;
      uint8_t ours = 0;
      fleet.permissions({&lane, 1}, at, kPage, {&ours, 1});
      const uint32_t permissions = ours & (kRead | kWrite | kExecute);
      ASSERT_EQ((ours & kMapped) != 0, page.mapped) << "lane " << lane << ", page " << i;
      if (page.mapped && !page.has_bytes && permissions != 0) {
        for (Difference& entry : differences()) entry.used += entry.name == kBehindEnd;
        continue;
      }
      ASSERT_EQ(permissions, page.permissions) << "lane " << lane << ", page " << i;
      ASSERT_TRUE(!page.has_bytes || fleet.read(lane, at, kPage) == page.bytes) << "lane " << lane << ", page " << i;
    }
  }

  std::mt19937_64 random_;
  Caller guest_;
  uint64_t heap_ = 0, whole_ = 0;
  std::vector<Life> lives_;
  std::vector<Kept> kept_;
  std::array<std::array<ModelValue, 2>, kLanes> file_ranges_ = {};
};

/// The input file of the host's processes.
struct HostFile {
  explicit HostFile(const std::string& contents)
      : path(testing::TempDir() + "/myriarm_model_" + std::to_string(getpid())) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    EXPECT_EQ(std::fwrite(contents.data(), 1, contents.size(), file), contents.size());
    std::fclose(file);
    chmod(path.c_str(), 0444);
  }
  ~HostFile() { unlink(path.c_str()); }
  std::string path;
};

std::string random_text(std::mt19937_64& random, size_t size) {
  std::string text(size, 0);
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

TEST(LinuxModel, RandomSequencesOfCallsAgreeWithTheHost) {
  constexpr uint64_t kSequences = 200;
  uint64_t whole = 0;
  std::mt19937_64 random(1);
  for (uint64_t seed = 1; seed <= kSequences; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string input = random_text(random, random() % 20000), contents = random_text(random, random() % 10000);
    const HostFile file(contents);
    Lives lives(seed, input, contents);
    const uint64_t rounds = 10 + random() % 70;
    for (uint64_t i = 0; i < rounds; i++) lives.round();
    lives.compare(input, file.path);
    whole += lives.whole();
    if (HasFailure()) return;
  }
  EXPECT_GT(whole, kSequences * kLanes / 2) << "lives that were compared to their end";
  for (const Difference& entry : differences()) {
    EXPECT_GT(entry.used, 0u) << entry.name << " is listed and does not happen";
  }
}

}  // namespace
}  // namespace myriarm::test
