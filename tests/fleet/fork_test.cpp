// SPDX-License-Identifier: Apache-2.0
// A child of fork() and the fleets that it inherits: it may drop them, and every use is refused. The child ends with
// the number of its mistakes; an alarm ends one that hangs.
#include <sys/wait.h>
#include <unistd.h>

#include "fleet_of_fakes.h"

namespace fleet_test {
namespace {

/// How a child ends that does `work` and returns its mistakes: their number, or -1 if a signal ended it.
template <class Work>
int mistakes_of_child(Work work) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    _exit(work());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// 0 if the call is refused as a fleet that was inherited refuses it.
template <class Call>
int unless_refused(Call call) {
  try {
    call();
  } catch (const StateError& error) {
    return std::string(error.what()).find("before fork()") == std::string::npos;
  } catch (...) {
  }
  return 1;
}

TEST(Fork, TheChildCanOnlyDropWhatItInherits) {
  Fleet fleet = fleet_of(4);
  FakeBackend& backend = FakeBackend::last();
  std::optional<Snapshot> kept = fleet.snapshot();
  EXPECT_FALSE(fleet.inherited());
  const int mistakes = mistakes_of_child([&] {
    int wrong = !fleet.inherited();
    wrong += unless_refused([&] { fleet.run(); });
    wrong += unless_refused([&] { fleet.start(); });
    wrong += unless_refused([&] { fleet.wait(); });
    wrong += unless_refused([&] { fleet.poll(); });
    wrong += unless_refused([&] { fleet.cancel(); });
    wrong += unless_refused([&] { (void)fleet.lanes(); });
    wrong += unless_refused([&] { (void)fleet.stops(); });
    wrong += unless_refused([&] { (void)fleet.get(Field::pc, 0); });
    wrong += unless_refused([&] { (void)fleet.snapshot(); });
    wrong += unless_refused([&] { fleet.restore(*kept); });
    wrong += unless_refused([&] { (void)kept->lanes(); });
    fleet.close();
    kept.reset();
    wrong += backend.snapshots.size() != 1;  // the backend is not called: with CUDA it would not return
    Fleet moved = std::move(fleet);
    wrong += !moved.inherited();
    moved = fleet_of(2);  // drops the one that was inherited
    wrong += moved.inherited() || moved.lanes() != 2;
    return wrong;
  });
  EXPECT_EQ(mistakes, 0);
  EXPECT_EQ(fleet.lanes(), 4u);
}

TEST(Fork, AnotherThreadOfTheParentMayBeInARun) {
  Fleet fleet = fleet_of(2);
  FakeBackend& backend = FakeBackend::last();
  backend.may_hang = true;
  fleet.start({.timeout = 1e6});
  backend.retire(1);  // the run is in the backend, and its locks are those of its thread
  EXPECT_EQ(mistakes_of_child([&] {
              const int wrong = unless_refused([&] { fleet.poll(); });
              { Fleet gone = std::move(fleet); }
              return wrong;
            }),
            0);
  fleet.cancel();
  EXPECT_EQ(fleet.wait()->stops[static_cast<size_t>(StopReason::cancelled)], 2u);
}

TEST(Fork, AChildOfAHandlerDoesNotGoOnWithTheRun) {
  Fleet fleet = fleet_of(2);
  FakeBackend::last().script[5] = syscall(0);
  FakeBackend::last().script[9] = halt();
  pid_t pid = 0;
  RunOptions options;
  options.timeout = 1e6;  // a thread that waits, and is not in the child
  options.on_syscall = [&](Fleet&, const SyscallBatch&) {
    pid = fork();
    if (pid == 0) alarm(60);
  };
  try {
    const RunResult result = fleet.run(options);
    if (pid == 0) _exit(1);
    EXPECT_EQ(result.stops[static_cast<size_t>(StopReason::halt)], 2u);
  } catch (const StateError& error) {
    if (pid == 0) _exit(std::string(error.what()).find("before fork()") == std::string::npos);
    throw;
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace fleet_test
