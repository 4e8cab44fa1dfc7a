/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the shared library from C as programs do: runs, registers, memory, Linux programs. A mistake of the caller must
 * give a status and a sentence, and must not end the process.
 *   c_api_tests PREBUILT     the folder of the example programs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checking.h"

int failures = 0;

void refused(const char* file, int line, myriarm_status status, myriarm_status wanted, const char* text) {
  const char* sentence = myriarm_last_error();
  if (status == wanted && strstr(sentence, text) != NULL && strchr(sentence, '\n') == NULL) return;
  printf("%s:%d: status %d, not %d: %s (wanted: %s)\n", file, line, (int)status, (int)wanted, sentence, text);
  failures++;
}

static const uint32_t kSum[] = {
    0xD2800001, /*        mov  x1, #0       */
    0x8B000021, /* again: add  x1, x1, x0   */
    0xF1000400, /*        subs x0, x0, #1   */
    0x54FFFFC1, /*        b.ne again        */
    0xD4400000, /*        hlt  #0           */
};
static const uint32_t kLoop[] = {0x91000400, 0x17FFFFFF}; /* again: add x0, x0, #1; b again */
static const uint32_t kLoad[] = {0xF9400001, 0xD4400000}; /* ldr x1, [x0]; hlt #0 */

enum { kMemory = 1 << 16, kLanes = 100 };

static myriarm_program* raw(const uint32_t* words, size_t size) {
  myriarm_program* program = NULL;
  OK(myriarm_program_raw(words, size, 0, kMemory, &program));
  return program;
}

static myriarm_fleet* fleet_of(const myriarm_program* program, uint64_t lanes) {
  const char* device = getenv("MYRIARM_TEST_DEVICE");
  const myriarm_fleet_options options = {
      .struct_size = sizeof options, .device = device != NULL ? device : "cpu", .lanes = lanes};
  myriarm_fleet* fleet = NULL;
  OK(myriarm_fleet_create(program, &options, &fleet));
  return fleet;
}

static void test_devices(void) {
  uint64_t count = 0;
  OK(myriarm_count_devices(&count));
  CHECK(count >= 1);
  for (uint64_t i = 0; i < count; i++) {
    myriarm_device device = {.struct_size = sizeof device}, found = {.struct_size = sizeof found};
    OK(myriarm_get_device(i, &device));
    CHECK(i != 0 || (strcmp(device.id, "cpu") == 0 && device.kind == MYRIARM_DEVICE_CPU));
    CHECK(device.units > 0 && device.team_lanes > 0 && device.name[0] != 0);
    OK(myriarm_find_device(device.id, &found));
    CHECK(strcmp(found.name, device.name) == 0 && found.kind == device.kind && found.ordinal == device.ordinal);
  }
  OK(myriarm_find_device(NULL, NULL));
  REFUSED(myriarm_get_device(count, NULL), MYRIARM_ARGUMENT_ERROR, "device is NULL");
  myriarm_device device = {.struct_size = sizeof device, .units = 77};
  REFUSED(myriarm_get_device(count, &device), MYRIARM_ARGUMENT_ERROR, "there is no device");
  CHECK(device.units == 77);
  REFUSED(myriarm_find_device("gpu", NULL), MYRIARM_ARGUMENT_ERROR, "\"gpu\" is unknown");
  REFUSED(myriarm_find_device("cuda:7654", NULL), MYRIARM_DEVICE_ERROR, "cuda:7654 is not there");
}

static void test_runs(void) {
  myriarm_program* program = raw(kSum, sizeof kSum);
  myriarm_fleet* fleet = fleet_of(program, kLanes);
  OK(myriarm_program_free(program)); /* the fleet does not need it any more */
  myriarm_fleet_info info = {.struct_size = sizeof info};
  OK(myriarm_fleet_get_info(fleet, &info));
  CHECK(info.lanes == kLanes && info.memory_begin == 0 && info.memory_end == kMemory);
  CHECK(info.memory_policy == MYRIARM_MEMORY_PRIVATE);
  myriarm_device device = {.struct_size = sizeof device};
  OK(myriarm_fleet_get_device(fleet, &device));
  CHECK(device.team_lanes == info.team_lanes);

  uint64_t values[kLanes];
  for (uint64_t lane = 0; lane < kLanes; lane++) values[lane] = lane + 1;
  OK(myriarm_fleet_set(fleet, MYRIARM_X(0), NULL, kLanes, values));
  const myriarm_run_options limit = {.struct_size = sizeof limit, .instructions = 11};
  myriarm_run_result result = {.struct_size = sizeof result};
  OK(myriarm_fleet_run(fleet, &limit, &result));
  CHECK(result.stops[MYRIARM_STOP_BUDGET] == kLanes - 3); /* lanes 0 to 2 halt after 4, 7 and 10 */
  CHECK(result.lanes_left == kLanes - 3 && result.signal == MYRIARM_SIGNAL_HALT);
  CHECK(result.struct_size == sizeof result);
  OK(myriarm_fleet_run(fleet, NULL, &result));
  CHECK(result.stops[MYRIARM_STOP_HALT] == kLanes - 3 && result.stopped == kLanes);
  CHECK(result.lanes_run == kLanes - 3);
  OK(myriarm_fleet_run(fleet, NULL, &result));
  CHECK(result.lanes_run == 0); /* every lane has a stop */
  OK(myriarm_fleet_get(fleet, MYRIARM_X(1), NULL, kLanes, values));
  for (uint64_t lane = 0; lane < kLanes; lane++) CHECK(values[lane] == (lane + 1) * (lane + 2) / 2);
  const uint32_t some[] = {99, 0, 49};
  OK(myriarm_fleet_get(fleet, MYRIARM_FIELD_INSTRUCTIONS, some, 3, values));
  CHECK(values[0] == 301 && values[1] == 4 && values[2] == 151);

  myriarm_stop stops[kLanes];
  OK(myriarm_fleet_get_stops(fleet, NULL, kLanes, stops));
  for (int lane = 0; lane < kLanes; lane++) CHECK(stops[lane].reason == MYRIARM_STOP_HALT && stops[lane].detail == 0);
  const myriarm_stop made[] = {{.reason = MYRIARM_STOP_EXITED, .detail = 42}};
  OK(myriarm_fleet_set_stops(fleet, some, 1, made));
  OK(myriarm_fleet_get_stops(fleet, some, 2, stops));
  CHECK(stops[0].reason == MYRIARM_STOP_EXITED && stops[0].detail == 42 && stops[1].reason == MYRIARM_STOP_HALT);
  CHECK(strcmp(myriarm_stop_name(stops[0].reason), "exited") == 0);
  CHECK(strcmp(myriarm_fault_name(MYRIARM_FAULT_ALIGNMENT), "alignment") == 0);
  CHECK(strcmp(myriarm_signal_name(MYRIARM_SIGNAL_CHECKPOINT), "checkpoint") == 0);
  CHECK(strcmp(myriarm_stop_name(10), "unknown") == 0 && strcmp(myriarm_fault_name(999), "unknown") == 0);
  CHECK(strcmp(myriarm_signal_name(~0u), "unknown") == 0);

  OK(myriarm_fleet_fill(fleet, MYRIARM_FIELD_PC, 0));
  OK(myriarm_fleet_fill(fleet, MYRIARM_X(0), 4));
  OK(myriarm_fleet_resume(fleet, some, 2));
  OK(myriarm_fleet_run(fleet, NULL, &result));
  CHECK(result.instructions == 2 * 13 && result.stops[MYRIARM_STOP_HALT] == 2);
  OK(myriarm_fleet_resume(fleet, NULL, kLanes));
  OK(myriarm_fleet_free(fleet));
}

/* The engine of a fleet and of a run. Results are the same with every engine, so only fleet_info and the refusals show
 * which engine was named. */
static void test_engines(void) {
  myriarm_program* program = raw(kSum, sizeof kSum);
  myriarm_fleet_options options = {.struct_size = sizeof options, .device = getenv("MYRIARM_TEST_DEVICE")};
  if (options.device == NULL) options.device = "cpu";
  const uint32_t last = strcmp(options.device, "cpu") == 0 ? MYRIARM_ENGINE_TRANSLATE : MYRIARM_ENGINE_STEPPER;
  for (uint32_t engine = MYRIARM_ENGINE_DEFAULT; engine <= last; engine++) {
    options.engine = engine;
    myriarm_fleet* fleet = NULL;
    OK(myriarm_fleet_create(program, &options, &fleet));
    myriarm_fleet_info info = {.struct_size = sizeof info, .reserved = 7};
    OK(myriarm_fleet_get_info(fleet, &info));
    CHECK(info.engine == (engine == MYRIARM_ENGINE_DEFAULT ? MYRIARM_ENGINE_INTERPRETER : engine));
    CHECK(info.reserved == 0);
    OK(myriarm_fleet_fill(fleet, MYRIARM_X(0), 10));
    myriarm_run_options run = {.struct_size = sizeof run, .instructions = 7};
    for (run.engine = MYRIARM_ENGINE_DEFAULT; run.engine <= last; run.engine++) {
      OK(myriarm_fleet_run(fleet, &run, NULL));
    }
    run.instructions = 0;
    run.engine = MYRIARM_ENGINE_AUTO + 1;
    REFUSED(myriarm_fleet_run(fleet, &run, NULL), MYRIARM_ARGUMENT_ERROR, "engine 5");
    run.engine = MYRIARM_ENGINE_DEFAULT;
    run.reserved = 1;
    REFUSED(myriarm_fleet_start(fleet, &run), MYRIARM_ARGUMENT_ERROR, "reserved");
    /* A program that was compiled before these members existed: the library does not read them. */
    run.struct_size = 48;
    run.engine = 99;
    OK(myriarm_fleet_run(fleet, &run, NULL));
    const uint32_t lane = 0;
    uint64_t sum = 0, instructions = 0;
    OK(myriarm_fleet_get(fleet, MYRIARM_X(1), &lane, 1, &sum));
    OK(myriarm_fleet_get(fleet, MYRIARM_FIELD_INSTRUCTIONS, &lane, 1, &instructions));
    CHECK(sum == 55 && instructions == 31);
    OK(myriarm_fleet_free(fleet));
  }
  myriarm_fleet* made = NULL;
  options.engine = MYRIARM_ENGINE_AUTO + 1;
  REFUSED(myriarm_fleet_create(program, &options, &made), MYRIARM_ARGUMENT_ERROR, "engine 5");
  options.engine = MYRIARM_ENGINE_STEPPER;
  options.reserved = 1;
  REFUSED(myriarm_fleet_create(program, &options, &made), MYRIARM_ARGUMENT_ERROR, "reserved");
  options.struct_size = 48;
  OK(myriarm_fleet_create(program, &options, &made));
  myriarm_fleet_info info = {.struct_size = sizeof info};
  OK(myriarm_fleet_get_info(made, &info));
  CHECK(info.engine == MYRIARM_ENGINE_INTERPRETER);
  info.struct_size = 40;
  info.engine = 77;
  OK(myriarm_fleet_get_info(made, &info));
  CHECK(info.engine == 77);
  OK(myriarm_fleet_free(made));
  OK(myriarm_program_free(program));
}

/* x1 = 200 << 16, counted down to 0: long enough for a look at where the lane is. */
static const uint32_t kCountDown[] = {0xD2A01901, 0xD1000421, 0xB5FFFFE1, 0xD4400000};

/* Translation: the engine that is chosen where it is there, and the report. What is translated, and when, depends on the
 * host; what is counted does not. */
static void test_translation(void) {
  myriarm_program* program = raw(kCountDown, sizeof kCountDown);
  myriarm_fleet_options options = {.struct_size = sizeof options, .device = "cpu", .engine = MYRIARM_ENGINE_AUTO};
  options.compile_threads = 1;
  options.no_translation_cache = 1;
  myriarm_fleet* fleet = NULL;
  OK(myriarm_fleet_create(program, &options, &fleet));
  myriarm_fleet_info info = {.struct_size = sizeof info};
  OK(myriarm_fleet_get_info(fleet, &info));
  CHECK(info.engine == MYRIARM_ENGINE_TRANSLATE || info.engine == MYRIARM_ENGINE_INTERPRETER);
  myriarm_run_options run = {.struct_size = sizeof run, .engine = MYRIARM_ENGINE_TRANSLATE};
  myriarm_run_result result = {.struct_size = sizeof result};
  OK(myriarm_fleet_run(fleet, &run, &result));
  myriarm_translation report = {.struct_size = sizeof report, .regions = 77};
  OK(myriarm_fleet_get_translation(fleet, &report));
  CHECK(report.regions < 77 && report.cached == 0);
  CHECK(report.interpreted + report.translated == result.instructions);
  CHECK(result.instructions == 1 + 2 * (200 << 16));
  CHECK(report.cache_warning[0] == 0);
  CHECK(memchr(report.unavailable, 0, sizeof report.unavailable) != NULL);
  REFUSED(myriarm_fleet_get_translation(fleet, NULL), MYRIARM_ARGUMENT_ERROR, "translation");
  OK(myriarm_fleet_free(fleet));
  OK(myriarm_program_free(program));
}

static void test_background(void) {
  myriarm_program* program = raw(kLoop, sizeof kLoop);
  myriarm_fleet* fleet = fleet_of(program, 3);
  OK(myriarm_fleet_start(fleet, NULL));
  myriarm_poll poll = {.struct_size = sizeof poll};
  do OK(myriarm_fleet_poll(fleet, &poll));
  while (poll.instructions == 0 && failures == 0);
  CHECK(poll.running == 1 && poll.lanes_running == 3);
  uint32_t ended = 7;
  OK(myriarm_fleet_wait(fleet, 0, &ended, NULL));
  CHECK(ended == 0);
  uint64_t value = 0;
  const uint32_t lane = 0;
  REFUSED(myriarm_fleet_get(fleet, MYRIARM_X(0), &lane, 1, &value), MYRIARM_STATE_ERROR, "running");
  REFUSED(myriarm_fleet_run(fleet, NULL, NULL), MYRIARM_STATE_ERROR, "running");
  OK(myriarm_fleet_cancel(fleet));
  myriarm_run_result result = {.struct_size = sizeof result};
  OK(myriarm_fleet_wait(fleet, -1, &ended, &result));
  CHECK(ended == 1 && result.stops[MYRIARM_STOP_CANCELLED] == 3 && result.instructions > 0);
  REFUSED(myriarm_fleet_wait(fleet, -1, &ended, NULL), MYRIARM_STATE_ERROR, "start");

  OK(myriarm_fleet_start(fleet, NULL));
  OK(myriarm_fleet_free(fleet)); /* ends the run */
  OK(myriarm_program_free(program));
}

static void test_memory(void) {
  myriarm_program* program = raw(kLoad, sizeof kLoad);
  myriarm_fleet* fleet = fleet_of(program, 3);
  const uint32_t lanes[] = {0, 2};
  uint64_t words[2] = {0x1111, 0x2222};
  const myriarm_transfer transfers[] = {{0, 8, 0x4000, 0}, {2, 8, 0x4000, 8}};
  OK(myriarm_fleet_write(fleet, transfers, 2, words, sizeof words, NULL));
  OK(myriarm_fleet_fill(fleet, MYRIARM_X(0), 0x4000));
  OK(myriarm_fleet_run(fleet, NULL, NULL));
  uint64_t values[3] = {9, 9, 9};
  OK(myriarm_fleet_get(fleet, MYRIARM_X(1), NULL, 3, values));
  CHECK(values[0] == 0x1111 && values[1] == 0 && values[2] == 0x2222);
  uint8_t code[sizeof kLoad];
  const myriarm_transfer whole = {1, sizeof code, 0, 0};
  OK(myriarm_fleet_read(fleet, &whole, 1, code, sizeof code, NULL));
  CHECK(memcmp(code, kLoad, sizeof code) == 0);

  uint8_t pages[4] = {99, 99, 99, 99};
  OK(myriarm_fleet_map(fleet, lanes, 2, 0x4000, 8192, MYRIARM_READ));
  OK(myriarm_fleet_unmap(fleet, lanes + 1, 1, 0x5000, 4096));
  OK(myriarm_fleet_protect(fleet, lanes, 1, 0x5000, 4096, 0));
  OK(myriarm_fleet_permissions(fleet, lanes, 2, 0x4000, 8192, pages, 4));
  CHECK(pages[0] == (MYRIARM_MAPPED | MYRIARM_READ) && pages[1] == MYRIARM_MAPPED);
  CHECK(pages[2] == (MYRIARM_MAPPED | MYRIARM_READ) && pages[3] == 0);
  uint32_t done = 99;
  uint8_t buffer[16];
  const myriarm_transfer half = {2, 16, 0x4ff8, 0};
  OK(myriarm_fleet_read(fleet, &half, 1, buffer, sizeof buffer, &done));
  CHECK(done == 8);
  REFUSED(myriarm_fleet_read(fleet, &half, 1, buffer, sizeof buffer, NULL), MYRIARM_ARGUMENT_ERROR, "8 of 16 bytes");
  REFUSED(myriarm_fleet_write(fleet, &half, 1, buffer, sizeof buffer, NULL), MYRIARM_ARGUMENT_ERROR, "8 of 16 bytes");

  OK(myriarm_fleet_fill(fleet, MYRIARM_FIELD_PC, 0));
  OK(myriarm_fleet_fill(fleet, MYRIARM_X(0), 0x5000));
  OK(myriarm_fleet_resume(fleet, NULL, 3));
  OK(myriarm_fleet_run(fleet, NULL, NULL));
  myriarm_stop stops[3];
  OK(myriarm_fleet_get_stops(fleet, NULL, 3, stops));
  CHECK(stops[0].reason == MYRIARM_STOP_FAULT && stops[0].fault == MYRIARM_FAULT_READ && stops[0].address == 0x5000);
  CHECK(stops[1].reason == MYRIARM_STOP_HALT);
  CHECK(stops[2].reason == MYRIARM_STOP_FAULT && stops[2].fault == MYRIARM_FAULT_UNMAPPED);

  uint64_t used = 0, size = 0;
  OK(myriarm_fleet_get_pool(fleet, &used, &size));
  CHECK(used > 0 && used <= size);
  OK(myriarm_fleet_get_pool(fleet, NULL, NULL));
  OK(myriarm_fleet_grow_pool(fleet, 1));
  REFUSED(myriarm_fleet_grow_pool(fleet, UINT64_MAX), MYRIARM_DEVICE_ERROR, "MiB");
  OK(myriarm_fleet_free(fleet));
  OK(myriarm_program_free(program));
}

static myriarm_program* load(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  myriarm_program* program = NULL;
  OK(myriarm_program_load(path, &program));
  return program;
}

static void output_is(myriarm_fleet* fleet, uint32_t lane, const char* wanted) {
  char text[256] = "";
  uint64_t size = 0;
  OK(myriarm_linux_get_output(fleet, lane, 1, text, sizeof text, &size));
  CHECK(size == strlen(wanted) && memcmp(text, wanted, size) == 0);
}

static void test_linux(const char* folder) {
  const char* device = getenv("MYRIARM_TEST_DEVICE");
  const myriarm_fleet_options options = {
      .struct_size = sizeof options, .device = device != NULL ? device : "cpu", .lanes = 5};
  myriarm_program* program = load(folder, "hello");
  myriarm_fleet* fleet = NULL;
  OK(myriarm_linux_create(program, &options, NULL, &fleet));
  myriarm_run_result result = {.struct_size = sizeof result};
  OK(myriarm_linux_run(fleet, &result));
  CHECK(result.stops[MYRIARM_STOP_EXITED] == 5);
  output_is(fleet, 0, "hello from lane 0\n");
  output_is(fleet, 4, "hello from lane 4\n");
  uint64_t size = 0;
  OK(myriarm_linux_get_output(fleet, 4, 1, NULL, 0, &size));
  CHECK(size == 18);
  char start[5] = {9, 9, 9, 9, 9};
  OK(myriarm_linux_get_output(fleet, 4, 1, start, 4, &size));
  CHECK(memcmp(start, "hell\x09", 5) == 0 && size == 18);
  OK(myriarm_linux_get_output(fleet, 4, 2, NULL, 0, &size));
  CHECK(size == 0);
  myriarm_linux_outcome outcome = {.struct_size = sizeof outcome};
  REFUSED(myriarm_fleet_count_threads(fleet, 4, &size), MYRIARM_STATE_ERROR, "given its memory back");
  OK(myriarm_linux_get_outcome(fleet, 4, &outcome));
  CHECK(outcome.exit_status == 0 && outcome.signal == 0 && outcome.stop.reason == MYRIARM_STOP_EXITED);
  REFUSED(myriarm_linux_get_outcome(fleet, 5, &outcome), MYRIARM_ARGUMENT_ERROR, "no lane 5");
  REFUSED(myriarm_linux_get_output(fleet, 5, 1, NULL, 0, &size), MYRIARM_ARGUMENT_ERROR, "no lane 5");
  REFUSED(myriarm_linux_get_output(fleet, 0, 0, NULL, 0, &size), MYRIARM_ARGUMENT_ERROR, "stream 0");
  REFUSED(myriarm_linux_get_output(fleet, 0, 1, NULL, 4, &size), MYRIARM_ARGUMENT_ERROR, "buffer is NULL");
  OK(myriarm_fleet_free(fleet));
  OK(myriarm_program_free(program));

  /* Arguments, and a signal. */
  program = load(folder, "fault");
  const char* arguments[] = {"fault", "undefined"};
  const char* environment[] = {"A=b"};
  myriarm_linux_options linux_options = {.struct_size = sizeof linux_options,
                                         .arguments = arguments,
                                         .argument_count = 2,
                                         .environment = environment,
                                         .environment_count = 1};
  OK(myriarm_linux_create(program, &options, &linux_options, &fleet));
  OK(myriarm_linux_run(fleet, NULL));
  output_is(fleet, 3, "lane 3: undefined\n");
  OK(myriarm_linux_get_outcome(fleet, 3, &outcome));
  CHECK(outcome.signal == 4 && outcome.exit_status == -1 && outcome.stop.reason == MYRIARM_STOP_UNDEFINED);
  OK(myriarm_fleet_free(fleet));
  arguments[1] = NULL;
  REFUSED(myriarm_linux_create(program, &options, &linux_options, &fleet), MYRIARM_ARGUMENT_ERROR, "arguments is NULL");
  linux_options.arguments = NULL;
  REFUSED(myriarm_linux_create(program, &options, &linux_options, &fleet), MYRIARM_ARGUMENT_ERROR, "arguments is NULL");
  OK(myriarm_program_free(program));

  /* Standard input: the SHA-256 of "abc" (FIPS 180-4, the example of appendix B.1). */
  program = load(folder, "sha256");
  const myriarm_linux_options with_input = {
      .struct_size = sizeof with_input, .standard_input = "abc", .standard_input_size = 3};
  OK(myriarm_linux_create(program, &options, &with_input, &fleet));
  OK(myriarm_linux_run(fleet, NULL));
  output_is(fleet, 2, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n");
  OK(myriarm_fleet_free(fleet));
  OK(myriarm_program_free(program));
}

static void test_structs_that_grow(void) {
  myriarm_program* program = raw(kLoop, sizeof kLoop);
  myriarm_fleet* fleet = fleet_of(program, 1);
  /* A program that was compiled with an earlier version: the library reads and writes only the members that its struct
   * has. */
  myriarm_run_options options = {.struct_size = 16, .instructions = 6, .mode = 99};
  myriarm_run_result result;
  memset(&result, 0x55, sizeof result);
  result.struct_size = 16;
  OK(myriarm_fleet_run(fleet, &options, &result));
  CHECK(result.instructions == 6 && result.struct_size == 16 && result.batches == 0x5555555555555555);
  /* And with a later version: members that this library does not know must be 0 in options, and it sets them to 0 in
   * results. */
  struct {
    myriarm_run_options known;
    uint64_t unknown;
  } more_options = {{.struct_size = sizeof more_options, .instructions = 8}, 0};
  struct {
    myriarm_run_result known;
    uint64_t unknown;
  } more = {{.struct_size = sizeof more}, 77};
  OK(myriarm_fleet_run(fleet, &more_options.known, &more.known));
  CHECK(more.known.instructions == 8 && more.unknown == 0 && more.known.struct_size == sizeof more);
  more_options.unknown = 1;
  REFUSED(myriarm_fleet_run(fleet, &more_options.known, NULL), MYRIARM_ARGUMENT_ERROR, "version");
  for (uint64_t size = 0; size < 8; size++) {
    options.struct_size = result.struct_size = size;
    REFUSED(myriarm_fleet_run(fleet, &options, NULL), MYRIARM_ARGUMENT_ERROR, "struct_size");
    REFUSED(myriarm_fleet_run(fleet, NULL, &result), MYRIARM_ARGUMENT_ERROR, "struct_size");
  }
  options.struct_size = result.struct_size = UINT64_MAX;
  REFUSED(myriarm_fleet_run(fleet, &options, NULL), MYRIARM_ARGUMENT_ERROR, "struct_size");
  REFUSED(myriarm_fleet_run(fleet, NULL, &result), MYRIARM_ARGUMENT_ERROR, "struct_size");
  uint64_t instructions = 0;
  const uint32_t lane = 0;
  OK(myriarm_fleet_get(fleet, MYRIARM_FIELD_INSTRUCTIONS, &lane, 1, &instructions));
  CHECK(instructions == 14); /* the refused calls have not run */
  OK(myriarm_fleet_free(fleet));
  OK(myriarm_program_free(program));
}

static void test_mistakes(const char* folder) {
  myriarm_program *program = raw(kLoop, sizeof kLoop), *none = NULL;
  myriarm_fleet *fleet = fleet_of(program, 3), *made = NULL;
  const myriarm_status wrong = MYRIARM_ARGUMENT_ERROR;

  /* Programs. */
  REFUSED(myriarm_program_raw(kLoop, sizeof kLoop, 0, kMemory, NULL), wrong, "program is NULL");
  REFUSED(myriarm_program_raw(NULL, 8, 0, kMemory, &none), wrong, "bytes is NULL");
  REFUSED(myriarm_program_raw(NULL, 0, 0, kMemory, &none), wrong, "empty");
  REFUSED(myriarm_program_raw(kLoop, sizeof kLoop, 2, kMemory, &none), wrong, "multiple of 4");
  REFUSED(myriarm_program_raw(kLoop, sizeof kLoop, 0, 0, &none), wrong, "memory");
  REFUSED(myriarm_program_elf(kLoop, sizeof kLoop, "words", &none), wrong, "words");
  REFUSED(myriarm_program_elf(kLoop, sizeof kLoop, NULL, &none), wrong, "name is NULL");
  REFUSED(myriarm_program_load("/nonexistent/program", &none), wrong, "/nonexistent/program");
  REFUSED(myriarm_program_load(NULL, &none), wrong, "path is NULL");
  REFUSED(myriarm_program_load(folder, &none), wrong, "directory");
  CHECK(none == NULL);

  /* Handles: NULL, of another type, any pointer. */
  REFUSED(myriarm_program_free(NULL), wrong, "program is NULL");
  REFUSED(myriarm_fleet_free(NULL), wrong, "fleet is NULL");
  REFUSED(myriarm_fleet_run(NULL, NULL, NULL), wrong, "fleet is NULL");
  REFUSED(myriarm_fleet_run((myriarm_fleet*)program, NULL, NULL), wrong, "never made");
  REFUSED(myriarm_program_free((myriarm_program*)fleet), wrong, "never made");
  REFUSED(myriarm_fleet_cancel((myriarm_fleet*)&failures), wrong, "never made");
  REFUSED(myriarm_fleet_create(NULL, NULL, &made), wrong, "program is NULL");
  REFUSED(myriarm_fleet_create((myriarm_program*)fleet, NULL, &made), wrong, "never made");
  REFUSED(myriarm_fleet_create(program, NULL, NULL), wrong, "fleet is NULL");

  /* Options. */
  myriarm_fleet_options options = {.struct_size = sizeof options, .device = "tpu"};
  REFUSED(myriarm_fleet_create(program, &options, &made), wrong, "\"tpu\" is unknown");
  options.device = "cuda:7654";
  REFUSED(myriarm_fleet_create(program, &options, &made), MYRIARM_DEVICE_ERROR, "not there");
  options.device = "cpu";
  options.lanes = UINT64_MAX;
  REFUSED(myriarm_fleet_create(program, &options, &made), wrong, "lanes");
  options.lanes = 1;
  options.memory = 5;
  REFUSED(myriarm_fleet_create(program, &options, &made), wrong, "4096");
  options.memory = 0;
  options.memory_policy = 256; /* would be 0 as a byte */
  REFUSED(myriarm_fleet_create(program, &options, &made), wrong, "memory policy 256");
  REFUSED(myriarm_linux_create(program, NULL, NULL, &made), wrong, "not a Linux executable");
  CHECK(made == NULL);
  myriarm_run_options run = {.struct_size = sizeof run, .mode = 256};
  REFUSED(myriarm_fleet_run(fleet, &run, NULL), wrong, "mode 256");
  run.mode = MYRIARM_MODE_MEGA;
  REFUSED(myriarm_fleet_start(fleet, &run), wrong, "instructions");
  run.mode = MYRIARM_MODE_RUN;
  run.timeout = -1;
  REFUSED(myriarm_fleet_run(fleet, &run, NULL), wrong, "time");
  REFUSED(myriarm_linux_run(fleet, NULL), wrong, "no Linux processes");
  uint64_t size = 0;
  REFUSED(myriarm_linux_get_output(fleet, 0, 1, NULL, 0, &size), wrong, "no Linux processes");

  /* Lanes, fields, pointers. */
  uint64_t values[4] = {0};
  uint8_t pages[4];
  uint32_t lanes[] = {0, 3};
  myriarm_stop stops[2] = {{0, 0, {0, 0}, 0, 0}, {0, 0, {0, 0}, 0, 0}};
  REFUSED(myriarm_fleet_get(fleet, MYRIARM_X(0), lanes, 2, values), wrong, "no lane 3");
  REFUSED(myriarm_fleet_set(fleet, MYRIARM_X(0), lanes, 2, values), wrong, "no lane 3");
  REFUSED(myriarm_fleet_get_stops(fleet, lanes, 2, stops), wrong, "no lane 3");
  REFUSED(myriarm_fleet_set_stops(fleet, lanes, 2, stops), wrong, "no lane 3");
  REFUSED(myriarm_fleet_resume(fleet, lanes, 2), wrong, "no lane 3");
  REFUSED(myriarm_fleet_map(fleet, lanes, 2, 0, 4096, 3), wrong, "no lane 3");
  REFUSED(myriarm_fleet_unmap(fleet, lanes, 2, 0, 4096), wrong, "no lane 3");
  REFUSED(myriarm_fleet_protect(fleet, lanes, 2, 0, 4096, 3), wrong, "no lane 3");
  REFUSED(myriarm_fleet_permissions(fleet, lanes, 2, 0, 4096, pages, 2), wrong, "no lane 3");
  REFUSED(myriarm_fleet_permissions(fleet, lanes, 1, 0, 4096, pages, 4), wrong, "4 pages");
  REFUSED(myriarm_fleet_permissions(fleet, lanes, 1, 0, 4096, NULL, 1), wrong, "pages is NULL");
  REFUSED(myriarm_fleet_map(fleet, lanes, 1, 1, 4096, 3), wrong, "4096");
  REFUSED(myriarm_fleet_map(fleet, lanes, 1, kMemory, 4096, 3), wrong, "window");
  REFUSED(myriarm_fleet_get(fleet, MYRIARM_X(0), NULL, 2, values), wrong, "number of lanes, 3");
  REFUSED(myriarm_fleet_get_stops(fleet, NULL, 4, stops), wrong, "number of lanes, 3");
  REFUSED(myriarm_fleet_get(fleet, 103, lanes, 1, values), wrong, "no field 103");
  REFUSED(myriarm_fleet_get(fleet, 256, NULL, 3, values), wrong, "no field 256");
  REFUSED(myriarm_fleet_fill(fleet, ~0u, 0), wrong, "no field");
  REFUSED(myriarm_fleet_get(fleet, MYRIARM_X(0), NULL, 3, NULL), wrong, "values is NULL");
  REFUSED(myriarm_fleet_set(fleet, MYRIARM_X(0), NULL, 3, NULL), wrong, "values is NULL");
  REFUSED(myriarm_fleet_get_stops(fleet, NULL, 3, NULL), wrong, "stops is NULL");
  REFUSED(myriarm_fleet_get_info(fleet, NULL), wrong, "info is NULL");
  REFUSED(myriarm_fleet_poll(fleet, NULL), wrong, "poll is NULL");
  REFUSED(myriarm_fleet_wait(fleet, 0, NULL, NULL), wrong, "ended is NULL");
  REFUSED(myriarm_count_devices(NULL), wrong, "count is NULL");
  stops[0].reason = 99;
  REFUSED(myriarm_fleet_set_stops(fleet, lanes, 1, stops), wrong, "reason 99");
  const myriarm_transfer outside = {3, 8, 0, 0}, beyond = {0, 8, 0, 1};
  REFUSED(myriarm_fleet_read(fleet, &outside, 1, values, 8, NULL), wrong, "no lane 3");
  REFUSED(myriarm_fleet_write(fleet, &beyond, 1, values, 8, NULL), wrong, "does not fit in the buffer of 8");
  REFUSED(myriarm_fleet_read(fleet, &beyond, 1, NULL, 9, NULL), wrong, "buffer is NULL");
  REFUSED(myriarm_fleet_read(fleet, NULL, 1, values, 8, NULL), wrong, "transfers is NULL");
  /* A count of 0 is allowed. */
  OK(myriarm_fleet_get(fleet, MYRIARM_X(0), NULL, 0, NULL));
  OK(myriarm_fleet_read(fleet, NULL, 0, NULL, 0, NULL));
  OK(myriarm_fleet_resume(fleet, NULL, 0));

  OK(myriarm_fleet_free(fleet));
  REFUSED(myriarm_fleet_free(fleet), wrong, "was freed");
  REFUSED(myriarm_fleet_poll(fleet, NULL), wrong, "was freed");
  /* A later fleet gets another handle. */
  made = fleet_of(program, 1);
  CHECK(made != fleet);
  REFUSED(myriarm_fleet_run(fleet, NULL, NULL), wrong, "was freed");
  OK(myriarm_fleet_free(made));
  OK(myriarm_program_free(program));
  REFUSED(myriarm_fleet_create(program, NULL, &made), wrong, "was freed");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  CHECK(strcmp(myriarm_last_error(), "") == 0);
  test_devices();
  test_runs();
  test_engines();
  test_translation();
  test_background();
  test_memory();
  test_linux(argv[1]);
  test_threads();
  test_structs_that_grow();
  test_mistakes(argv[1]);
  printf("myriarm %s: %d failures\n", myriarm_version(), failures);
  return failures != 0;
}
