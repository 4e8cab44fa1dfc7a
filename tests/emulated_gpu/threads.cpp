// SPDX-License-Identifier: Apache-2.0
#include <emulated_gpu/threads.h>

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "mistake.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulated_gpu {

constinit thread_local const ThreadPlace* current_place = nullptr;
constinit thread_local uint8_t* block_memory = nullptr;

namespace {

constexpr uint32_t kWarp = 32;
constexpr size_t kStackBytes = size_t{1} << 20, kGuardBytes = 4096;
constexpr uint8_t kUnwritten = 0xA5;  // what shared memory holds before a block writes to it
constexpr size_t kMostSharedBytes = 228 * 1024;

class Stack {
 public:
  Stack() {
    void* const memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) mistake("no memory for the stack of a thread");
    memory_ = static_cast<uint8_t*>(memory);
    mprotect(memory_, kGuardBytes, PROT_NONE);
  }
  ~Stack() { munmap(memory_, kStackBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  uint8_t* begin() const { return memory_ + kGuardBytes; }
  static constexpr size_t bytes() { return kStackBytes - kGuardBytes; }

 private:
  uint8_t* memory_;
};

enum class State : uint8_t { ready, in_warp_function, in_barrier, ended };

/// A flow of control that can be left and entered again.
struct Flow {
  ucontext_t context;
#if !defined(__SANITIZE_ADDRESS__)
  jmp_buf place;
  bool has_begun = false;
#endif
};

/// Leaves one flow and enters another. swapcontext() asks the host's kernel for the mask of signals each time; _setjmp() does not, but
/// the address sanitizer takes _longjmp() for the end of all frames in between.
void switch_flow(Flow& from, Flow& to) {
#if defined(__SANITIZE_ADDRESS__)
  swapcontext(&from.context, &to.context);
#else
  if (_setjmp(from.place) != 0) return;
  if (to.has_begun) _longjmp(to.place, 1);
  to.has_begun = true;
  setcontext(&to.context);
#endif
}

struct Thread {
  Flow flow;
  Stack stack;
  ThreadPlace place;
  State state = State::ended;
  WarpFunction function = WarpFunction::sync;
  uint32_t mask = 0, argument = 0;
  uint64_t value = 0, result = 0;
};

/// What the thread of a stream needs to run blocks, one after the other.
class Block {
 public:
  void run(const ThreadPlace& first, uint32_t threads, size_t shared_bytes, const Work& work);
  uint64_t meet_warp(WarpFunction function, uint32_t mask, uint64_t value, uint32_t argument);
  bool meet_block(bool value);

 private:
  static void begin_thread();
  /// Goes on with another thread, until this one is chosen.
  void leave();
  /// From one flow of control to that of a thread, or to run() for null.
  void switch_to(Flow& from, Thread* to, bool from_has_ended);
  uint32_t next_ready();
  /// If all that a warp function waits for have come, they go on.
  void complete_warp(uint32_t warp, uint32_t mask);
  void complete_barrier();
  /// Does not return.
  void thread_has_ended();
  uint32_t lanes_of(uint32_t warp) const { return std::min(kWarp, count_ - warp * kWarp); }

  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<uint8_t> shared_ = std::vector<uint8_t>(kMostSharedBytes);
  Flow beginning_;  // of run()
  const Work* work_ = nullptr;
  uint32_t count_ = 0, running_ = 0, current_ = 0;
  std::mt19937_64 random_;
  bool is_random_ = false, has_seed_ = false;
#if defined(__SANITIZE_ADDRESS__)
  const void* beginning_stack_ = nullptr;
  size_t beginning_stack_bytes_ = 0;
#endif
};

thread_local Block* running_block = nullptr;

void Block::begin_thread() {
  Block& block = *running_block;
#if defined(__SANITIZE_ADDRESS__)
  const void* left_stack = nullptr;
  size_t left_bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &left_stack, &left_bytes);
  if (block.beginning_stack_ == nullptr) {  // only run() enters the first thread
    block.beginning_stack_ = left_stack;
    block.beginning_stack_bytes_ = left_bytes;
  }
#endif
  (*block.work_)();
  block.thread_has_ended();
  mistake("a thread that has ended goes on");
}

void Block::switch_to(Flow& from, Thread* to, bool from_has_ended) {
  if (to != nullptr) {
    current_ = to->place.thread.x;
    current_place = &to->place;
  }
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(from_has_ended ? nullptr : &fake_stack,
                                 to != nullptr ? to->stack.begin() : beginning_stack_,
                                 to != nullptr ? Stack::bytes() : beginning_stack_bytes_);
#endif
  switch_flow(from, to != nullptr ? to->flow : beginning_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#else
  (void)from_has_ended;
#endif
}

void Block::leave() {
  const uint32_t self = current_, next = next_ready();
  if (next != self) switch_to(threads_[self]->flow, threads_[next].get(), false);
}

uint32_t Block::next_ready() {
  const uint32_t first = is_random_ ? static_cast<uint32_t>(random_() % count_) : (current_ + 1) % count_;
  for (uint32_t i = 0; i < count_; i++) {
    const uint32_t number = (first + i) % count_;
    if (threads_[number]->state == State::ready) return number;
  }
  for (const auto& thread : threads_) {
    if (thread->state == State::ended) continue;
    std::fprintf(stderr, "thread %u of block %u waits in function %d with mask %08x\n", thread->place.thread.x,
                 thread->place.block.x, thread->state == State::in_barrier ? -1 : static_cast<int>(thread->function),
                 thread->mask);
  }
  mistake("all threads of a block wait for others");
}

void Block::run(const ThreadPlace& first, uint32_t threads, size_t shared_bytes, const Work& work) {
  if (shared_bytes > kMostSharedBytes) mistake("a block asks for more shared memory than there is");
  if (!has_seed_) {
    const char* const seed = std::getenv("MYRIARM_EMULATED_GPU_SEED");
    is_random_ = seed != nullptr;
    if (is_random_) random_.seed(std::strtoull(seed, nullptr, 10));
    has_seed_ = true;
  }
  while (threads_.size() < threads) threads_.push_back(std::make_unique<Thread>());
  std::fill_n(shared_.begin(), shared_bytes, kUnwritten);
  work_ = &work;
  count_ = running_ = threads;
  current_ = threads - 1;
  running_block = this;
  block_memory = shared_.data();
  for (uint32_t i = 0; i < threads; i++) {
    Thread& thread = *threads_[i];
    thread.place = first;
    thread.place.thread.x = i;
    thread.state = State::ready;
    getcontext(&thread.flow.context);
    thread.flow.context.uc_stack.ss_sp = thread.stack.begin();
    thread.flow.context.uc_stack.ss_size = Stack::bytes();
    thread.flow.context.uc_link = nullptr;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(thread.stack.begin(), Stack::bytes());
#endif
    makecontext(&thread.flow.context, &Block::begin_thread, 0);
#if !defined(__SANITIZE_ADDRESS__)
    thread.flow.has_begun = false;
#endif
  }
#if !defined(__SANITIZE_ADDRESS__)
  beginning_.has_begun = true;
#endif
  switch_to(beginning_, threads_[next_ready()].get(), false);
  current_place = nullptr;
  running_block = nullptr;
}

void Block::thread_has_ended() {
  Thread& thread = *threads_[current_];
  thread.state = State::ended;
  running_--;
  // Others may have waited for it alone.
  const uint32_t warp = current_ / kWarp;
  for (uint32_t i = 0; i < lanes_of(warp); i++) {
    const Thread& other = *threads_[warp * kWarp + i];
    if (other.state == State::in_warp_function) complete_warp(warp, other.mask);
  }
  complete_barrier();
  switch_to(thread.flow, running_ != 0 ? threads_[next_ready()].get() : nullptr, true);
}

uint64_t Block::meet_warp(WarpFunction function, uint32_t mask, uint64_t value, uint32_t argument) {
  Thread& thread = *threads_[current_];
  if (!(mask >> (current_ % kWarp) & 1))
    mistake("a thread calls a function of its warp with a mask that is without it");
  thread.function = function;
  thread.mask = mask;
  thread.value = value;
  thread.argument = argument;
  thread.state = State::in_warp_function;
  complete_warp(current_ / kWarp, mask);
  if (thread.state != State::ready || is_random_) leave();
  return thread.result;
}

void Block::complete_warp(uint32_t warp, uint32_t mask) {
  uint32_t members = 0, votes = 0;
  const Thread* one = nullptr;
  for (uint32_t i = 0; i < lanes_of(warp); i++) {
    const Thread& thread = *threads_[warp * kWarp + i];
    if (!(mask >> i & 1) || thread.state == State::ended) continue;
    if (thread.state != State::in_warp_function || thread.mask != mask) return;
    if (one == nullptr) one = &thread;
    if (thread.function != one->function) mistake("threads of a warp meet in different functions");
    members |= 1u << i;
    if (thread.value != 0) votes |= 1u << i;
  }
  if (members == 0) return;
  const auto value_of = [&](uint32_t lane, const Thread& own) {
    // A lane that does not take part gives no defined value; a lane beyond the warp gives the thread's own.
    if (lane >= kWarp) return own.value;
    return members >> lane & 1 ? threads_[warp * kWarp + lane]->value : ~uint64_t{0};
  };
  for (uint32_t i = 0; i < lanes_of(warp); i++) {
    if (!(members >> i & 1)) continue;
    Thread& thread = *threads_[warp * kWarp + i];
    switch (thread.function) {
      case WarpFunction::sync: thread.result = 0; break;
      case WarpFunction::ballot: thread.result = votes; break;
      case WarpFunction::any: thread.result = votes != 0; break;
      case WarpFunction::all: thread.result = votes == members; break;
      case WarpFunction::shuffle: thread.result = value_of(thread.argument % kWarp, thread); break;
      case WarpFunction::shuffle_down: thread.result = value_of(i + thread.argument, thread); break;
      case WarpFunction::shuffle_xor: thread.result = value_of(i ^ thread.argument, thread); break;
    }
  }
  // Once all have their results: a thread that goes on may have another value.
  for (uint32_t i = 0; i < lanes_of(warp); i++) {
    if (members >> i & 1) threads_[warp * kWarp + i]->state = State::ready;
  }
}

bool Block::meet_block(bool value) {
  Thread& thread = *threads_[current_];
  thread.value = value;
  thread.state = State::in_barrier;
  complete_barrier();
  if (thread.state != State::ready) leave();
  return thread.result != 0;
}

void Block::complete_barrier() {
  bool all = true, any = false;
  for (uint32_t i = 0; i < count_; i++) {
    const Thread& thread = *threads_[i];
    if (thread.state == State::ended) continue;
    if (thread.state != State::in_barrier) return;
    any = true;
    all = all && thread.value != 0;
  }
  if (!any) return;
  for (uint32_t i = 0; i < count_; i++) {
    Thread& thread = *threads_[i];
    if (thread.state != State::in_barrier) continue;
    thread.result = all;
    thread.state = State::ready;
  }
}

}  // namespace

uint64_t meet_warp(WarpFunction function, uint32_t mask, uint64_t value, uint32_t argument) {
  return running_block->meet_warp(function, mask, value, argument);
}
bool meet_block(bool value) { return running_block->meet_block(value); }

uint64_t nanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

void run_blocks(dim3 blocks, dim3 threads, size_t shared_bytes, const Work& work) {
  thread_local Block block;
  if (threads.y != 1 || threads.z != 1 || threads.x == 0 || threads.x > 1024)
    mistake("a block has an unexpected shape");
  ThreadPlace place{{0, 0, 0}, {0, 0, 0}, threads, blocks};
  for (place.block.z = 0; place.block.z < blocks.z; place.block.z++) {
    for (place.block.y = 0; place.block.y < blocks.y; place.block.y++) {
      for (place.block.x = 0; place.block.x < blocks.x; place.block.x++)
        block.run(place, threads.x, shared_bytes, work);
    }
  }
}

}  // namespace emulated_gpu
