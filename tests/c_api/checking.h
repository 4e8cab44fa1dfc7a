/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the C API in C have in common: checks that count failures. */
#ifndef CHECKING_H
#define CHECKING_H

#include <stdio.h>

#include "myriarm-c/myriarm.h"

extern int failures;

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      printf("%s:%d: false: %s\n", __FILE__, __LINE__, #condition); \
      failures++;                                                   \
    }                                                               \
  } while (0)

/* A call that must succeed. */
#define OK(call)                                                                                    \
  do {                                                                                              \
    const myriarm_status status_ = (call);                                                          \
    if (status_ != MYRIARM_OK) {                                                                    \
      printf("%s:%d: %s: %d, %s\n", __FILE__, __LINE__, #call, (int)status_, myriarm_last_error()); \
      failures++;                                                                                   \
    }                                                                                               \
  } while (0)

/* A call that must fail with this status, and with a sentence that contains this text. */
void refused(const char* file, int line, myriarm_status status, myriarm_status wanted, const char* text);
#define REFUSED(call, status, text) refused(__FILE__, __LINE__, (call), (status), (text))

void test_threads(void); /* threads_test.c */

#endif
