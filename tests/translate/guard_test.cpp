// SPDX-License-Identifier: Apache-2.0
// A failure inside LLVM ends one translation: each way to fail becomes an exception that says why, in every thread, any number
// of times, and the process' own handlers of signals are back afterwards.
#include "translate/llvm/guard.h"

#include <gtest/gtest.h>
#include <llvm/Support/ErrorHandling.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace myriarm::translate {
namespace {

std::string failure_of(const std::function<void()>& work) {
  try {
    run_guarded(work);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Guard, WhatGoesWellPasses) {
  int done = 0;
  EXPECT_EQ(failure_of([&] { done = 7; }), "");
  EXPECT_EQ(done, 7);
  EXPECT_EQ(failure_of([] { throw std::runtime_error("a reason"); }), "a reason");
}

TEST(Guard, AFatalErrorOfLlvmSaysItsReason) {
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(failure_of([] { llvm::report_fatal_error("cannot select"); }), "LLVM failed: cannot select");
  }
}

TEST(Guard, SignalsBecomeExceptions) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGILL, SIGTRAP, SIGFPE, SIGBUS}) {
    EXPECT_EQ(failure_of([&] { std::raise(signal); }), std::string("LLVM failed: ") + strsignal(signal));
  }
  EXPECT_EQ(failure_of([] { std::abort(); }), std::string("LLVM failed: ") + strsignal(SIGABRT));
}

TEST(Guard, ThreadsFailAloneAndTheHandlersOfTheProcessComeBack) {
  struct sigaction mine = {}, found = {};
  mine.sa_handler = [](int) {};
  sigaction(SIGBUS, &mine, nullptr);
  std::vector<std::thread> threads;
  std::vector<std::string> failures(8);
  for (size_t i = 0; i < failures.size(); i++) {
    threads.emplace_back([&failures, i] {
      for (int turn = 0; turn < 20; turn++) {
        failures[i] = failure_of([&] {
          if (i % 2 == 0) std::raise(SIGSEGV);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < failures.size(); i++) EXPECT_EQ(failures[i].empty(), i % 2 != 0) << failures[i];
  sigaction(SIGBUS, nullptr, &found);
  EXPECT_EQ(found.sa_handler, mine.sa_handler);
  signal(SIGBUS, SIG_DFL);
}

}  // namespace
}  // namespace myriarm::translate
