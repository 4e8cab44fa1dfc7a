// SPDX-License-Identifier: Apache-2.0
// Serves the system call that a lane makes, where the lane runs.
#pragma once

#include "kernel/change_calls.h"
#include "kernel/copy_calls.h"
#include "kernel/descriptor_calls.h"
#include "kernel/epoll_calls.h"
#include "kernel/exec.h"
#include "kernel/file_mappings.h"
#include "kernel/futex_calls.h"
#include "kernel/identity_calls.h"
#include "kernel/interval_timers.h"
#include "kernel/io_calls.h"
#include "kernel/lock_calls.h"
#include "kernel/memory_calls.h"
#include "kernel/message_calls.h"
#include "kernel/path_calls.h"
#include "kernel/poll_calls.h"
#include "kernel/scheduling_calls.h"
#include "kernel/signal_calls.h"
#include "kernel/splice_calls.h"
#include "kernel/system_calls.h"
#include "kernel/thread_calls.h"
#include "kernel/time_calls.h"
#include "kernel/timer_calls.h"
#include "kernel/tree_io.h"
#include "kernel/tree_paths.h"
#include "kernel/wait_calls.h"

namespace myriarm::kernel {

namespace detail_of_serving {

template <Machine M>
MYR_OUTLINE Result answer_call(M& m) {
// The table's words.
// NOLINTBEGIN(readability-identifier-naming)
#define MYR_SERVED_lane(handler) return kernel::handler(m)
#define MYR_SERVED_tree(handler)                 \
  if constexpr (HasTree<M>) {                    \
    if (m.has_tree()) return kernel::handler(m); \
  }                                              \
  return missing()
#define MYR_SERVED_host(handler) return missing()
// NOLINTEND(readability-identifier-naming)
#define SYSCALL(number, name, place, handler, signature) \
  case number: MYR_SERVED_##place(handler);
  switch (m.number()) {
#include "kernel/syscalls.inc"
    default: return missing();
  }
#undef SYSCALL
#undef MYR_SERVED_host
#undef MYR_SERVED_tree
#undef MYR_SERVED_lane
}

}  // namespace detail_of_serving

/// Whether a lane goes back to its SVC when an attempt of its call is abandoned. Not if the end of its process has begun: deliver() ends
/// it then, without the SVC, which therefore counts as retired from the first attempt on.
template <Machine M>
MYR_FN bool goes_back_to_svc(const M& m) {
  return word(m, kEnding) == 0;
}

template <Machine M>
MYR_OUTLINE Result serve(M& m) {
  const bool has_waited = wait_state(m) != WaitState::none, made_again = is_made_again(m);
  if ((has_waited || made_again) && !own_word(m, kWaitState)) return again();
  if (files_have_grown(m) && !follow_files(m)) return again();
  Result result = detail_of_serving::answer_call(m);
  if (awaits_content(m)) result = again();
  result = finish(m, result);
  if (has_waited && result.served != Served::again && result.served != Served::waits) {
    set_word(m, kWaitState, (u64)WaitState::none);
  }
  if (made_again && result.served == Served::answered) forget_wait(m);
  return result;
}

}  // namespace myriarm::kernel
