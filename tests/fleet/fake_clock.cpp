// SPDX-License-Identifier: Apache-2.0
#include "fake_clock.h"

#include <algorithm>
#include <list>

#include "../until.h"
#include "fleet/clock.h"

namespace {

using myriarm::RunClock;

struct Wait {
  std::condition_variable* changed;
  RunClock::time_point deadline;
};

std::mutex mutex;
std::list<Wait> waits;
RunClock::time_point time_now;

/// Notifies the waits whose deadline has come. Returns whether there are any. A wait stays in the list until it has
/// ended, so that a thread which had not yet blocked when it was notified is notified again.
bool wake_those_that_are_over() {
  std::lock_guard lock(mutex);
  bool any = false;
  for (const Wait& wait : waits) {
    if (wait.deadline > time_now) continue;
    any = true;
    wait.changed->notify_all();
  }
  return any;
}

}  // namespace

RunClock::time_point RunClock::now() {
  std::lock_guard lock(mutex);
  return time_now;
}

bool RunClock::wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, time_point deadline,
                          const std::function<bool()>& condition) {
  std::list<Wait> one = {{&changed, deadline}};
  const auto place = one.begin();
  {
    std::lock_guard guard(mutex);
    waits.splice(waits.end(), one);
  }
  bool holds;
  while (!(holds = condition()) && now() < deadline) changed.wait(lock);
  std::lock_guard guard(mutex);
  waits.erase(place);
  return holds;
}

void fleet_test::FakeClock::advance(double seconds) {
  {
    std::lock_guard lock(mutex);
    time_now += std::chrono::duration_cast<RunClock::duration>(std::chrono::duration<double>(seconds));
  }
  myriarm::test::until([] { return !wake_those_that_are_over(); });
}

size_t fleet_test::FakeClock::waiting() {
  std::lock_guard lock(mutex);
  return waits.size();
}

void fleet_test::FakeClock::await_waiting(size_t threads) {
  myriarm::test::until([&] { return waiting() >= threads; });
}
