// SPDX-License-Identifier: Apache-2.0
// What the checks of processes.c share: how they print, and what handlers note.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int number;
static void say(const char* what, long result) {
  if (result == -1) printf("%d %s: %s\n", ++number, what, strerrorname_np(errno));
  else printf("%d %s: %ld\n", ++number, what, result);
  fflush(stdout);
}
#define CHECK(call) (errno = 0, say(#call, (long)(call)))
#define SHOW(value) (printf("%d %s: %ld\n", ++number, #value, (long)(value)), fflush(stdout))

static const char* program;
static pid_t self;
static volatile int runs, last, last_code, last_status;
static volatile pid_t last_sender;
static void note(int signal, siginfo_t* information, void* context) {
  (void)context;
  runs++;
  last = signal;
  last_code = information->si_code;
  last_sender = information->si_pid;
  last_status = information->si_status;
}
static void handle(int signal, int flags) {
  struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | flags};
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, NULL);
}
// Long enough for what the others are to do meanwhile, on a host with much else to do.
static void pause_for(long units) {
  const long milliseconds = units * 20;
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}
