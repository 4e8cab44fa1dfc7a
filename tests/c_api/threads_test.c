/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a lane, of both of its processes. */
#include <stdlib.h>
#include <string.h>

#include "checking.h"

/* A Linux program that makes a thread, which waits for a futex, and a process. They have 1, 2 and 3 in x19; the first and the
 * third spin. */
static const uint32_t kFamily[] = {
    0xD2800033, /*         mov  x19, #1        */
    0xD281E000, /*         mov  x0, #0x0f00    */
    0xF2A00020, /*         movk x0, #1, lsl #16 */
    0xD2800001, /*         mov  x1, #0         */
    0xD2801B88, /*         mov  x8, #220       */
    0xD4000001, /*         svc  #0             */
    0xB5000100, /*         cbnz x0, parent     */
    0xD2800053, /*         mov  x19, #2        */
    0x910003E0, /*         mov  x0, sp         */
    0xD2801001, /*         mov  x1, #128       */
    0xB94003E2, /*         ldr  w2, [sp]       */
    0xD2800003, /*         mov  x3, #0         */
    0xD2800C48, /*         mov  x8, #98        */
    0xD4000001, /*         svc  #0             */
    0xD2800220, /* parent: mov  x0, #17        */
    0xD4000001, /*         svc  #0             */
    0xB5000060, /*         cbnz x0, spin       */
    0xD2800073, /*         mov  x19, #3        */
    0x9E670265, /*         fmov d5, x19        */
    0x14000000, /* spin:   b    spin           */
};

/* A static ELF executable of these instructions, in 64 KiB from 0x400000 on; the caller frees it. */
static uint8_t* elf_of(const uint32_t* words, size_t size, size_t* file_size) {
  enum { kHeaders = 64 + 56 };
  const uint64_t base = 0x400000, entry = base + kHeaders, table = 64;
  const uint8_t magic[] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
  uint8_t* file = calloc(1, *file_size = kHeaders + size);
  if (file == NULL) abort();
  const uint64_t segment[] = {0, base, base, *file_size, 1 << 16, 0x1000};
  memcpy(file, magic, sizeof magic);
  file[16] = 2;   /* e_type: executable */
  file[18] = 183; /* e_machine: AArch64 */
  file[20] = 1;   /* e_version */
  memcpy(file + 24, &entry, 8);
  memcpy(file + 32, &table, 8);
  file[52] = 64; /* e_ehsize */
  file[54] = 56; /* e_phentsize */
  file[56] = 1;  /* e_phnum */
  file[64] = 1;  /* p_type: to be loaded */
  file[68] = 7;  /* p_flags: all */
  memcpy(file + 72, segment, sizeof segment);
  memcpy(file + kHeaders, words, size);
  return file;
}

/* Runs the lane of a family up to this count, and finds its threads. */
static void family_at(myriarm_fleet* fleet, uint64_t limit, uint64_t wanted, myriarm_thread* threads) {
  uint64_t count = 0;
  OK(myriarm_fleet_fill(fleet, MYRIARM_FIELD_LIMIT, limit));
  OK(myriarm_linux_run(fleet, NULL));
  OK(myriarm_fleet_count_threads(fleet, 0, &count));
  CHECK(count == wanted);
  for (uint64_t i = 0; i < wanted; i++) {
    memset(&threads[i], 0x55, sizeof threads[i]);
    threads[i].struct_size = sizeof threads[i];
    OK(myriarm_fleet_get_thread(fleet, 0, i, &threads[i]));
  }
}

void test_threads(void) {
  const char* device = getenv("MYRIARM_TEST_DEVICE");
  const int on_cpu = device == NULL || strcmp(device, "cpu") == 0; /* on a GPU a lane is one process */
  const myriarm_fleet_options options = {.struct_size = sizeof options, .device = on_cpu ? "cpu" : device};
  size_t size;
  uint8_t* file = elf_of(kFamily, sizeof kFamily, &size);
  myriarm_program* program = NULL;
  myriarm_fleet* fleet = NULL;
  OK(myriarm_program_elf(file, size, "family", &program));
  free(file);
  OK(myriarm_linux_create(program, &options, NULL, &fleet));
  const uint64_t all = on_cpu ? 3 : 2;
  myriarm_thread threads[3];

  family_at(fleet, 1, 1, threads);
  CHECK(threads[0].id == 1000 && threads[0].process == 1000 && threads[0].is_running == 1 && !threads[0].is_waiting);

  family_at(fleet, 20000, all, threads);
  CHECK(threads[0].id == 1000 && threads[0].process == 1000 && threads[0].is_running == 1 && !threads[0].is_waiting);
  CHECK(threads[0].x[19] == 1);
  CHECK(threads[1].id == 1001 && threads[1].process == 1000 && !threads[1].is_running && !threads[1].is_waiting);
  CHECK(threads[1].x[19] == 1); /* it has not begun */
  if (on_cpu) {
    CHECK(threads[2].id == 1002 && threads[2].process == 1002 && !threads[2].is_running && !threads[2].is_waiting);
    CHECK(threads[0].x[0] == 1002 && threads[2].x[0] == 0);
  }

  family_at(fleet, 80000, all, threads);
  const uint32_t running = on_cpu ? 2 : 0;
  CHECK(threads[1].is_waiting == 1 && !threads[1].is_running);
  CHECK(threads[1].x[19] == 2 && threads[1].x[8] == 98 && threads[1].pc == 0x400000 + 120 + 13 * 4);
  CHECK(threads[0].is_running == (running == 0) && threads[0].pc == 0x400000 + 120 + 19 * 4);
  if (on_cpu) {
    CHECK(threads[2].is_running == 1 && threads[2].x[19] == 3 && threads[2].v[5][0] == 3 && threads[2].v[5][1] == 0);
    CHECK(threads[0].v[5][0] == 0);
  }
  /* The running one has the fields of the lane. */
  const uint32_t lane = 0;
  const uint32_t fields[] = {MYRIARM_X(0),       MYRIARM_X(19),      MYRIARM_X(30),       MYRIARM_FIELD_SP,
                             MYRIARM_FIELD_PC,   MYRIARM_FIELD_NZCV, MYRIARM_FIELD_TPIDR, MYRIARM_FIELD_FPCR,
                             MYRIARM_FIELD_FPSR, MYRIARM_V_LOW(5),   MYRIARM_V_HIGH(5)};
  const myriarm_thread* t = &threads[running];
  const uint64_t shown[] = {t->x[0],  t->x[19], t->x[30], t->sp,      t->pc,     t->nzcv,
                            t->tpidr, t->fpcr,  t->fpsr,  t->v[5][0], t->v[5][1]};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    uint64_t value = ~shown[i];
    OK(myriarm_fleet_get(fleet, fields[i], &lane, 1, &value));
    CHECK(value == shown[i]);
  }

  /* A program that knows less of the struct. */
  myriarm_thread less;
  memset(&less, 0x55, sizeof less);
  less.struct_size = 16;
  OK(myriarm_fleet_get_thread(fleet, 0, 1, &less));
  CHECK(less.id == 1001 && less.process == 1000 && less.is_running == 0x55555555);
  uint64_t count = 77;
  REFUSED(myriarm_fleet_get_thread(fleet, 0, all, &less), MYRIARM_ARGUMENT_ERROR, "no thread");
  REFUSED(myriarm_fleet_get_thread(fleet, 1, 0, &less), MYRIARM_ARGUMENT_ERROR, "no lane 1");
  REFUSED(myriarm_fleet_get_thread(fleet, 0, 0, NULL), MYRIARM_ARGUMENT_ERROR, "thread is NULL");
  REFUSED(myriarm_fleet_get_thread(NULL, 0, 0, &less), MYRIARM_ARGUMENT_ERROR, "fleet is NULL");
  REFUSED(myriarm_fleet_count_threads(fleet, 1, &count), MYRIARM_ARGUMENT_ERROR, "no lane 1");
  REFUSED(myriarm_fleet_count_threads(fleet, 0, NULL), MYRIARM_ARGUMENT_ERROR, "count is NULL");
  less.struct_size = 0;
  REFUSED(myriarm_fleet_get_thread(fleet, 0, 0, &less), MYRIARM_ARGUMENT_ERROR, "struct_size");
  CHECK(count == 77);
  OK(myriarm_fleet_free(fleet));
  OK(myriarm_program_free(program));

  /* No process: one thread without a number. */
  static const uint32_t loop[] = {0x14000000}; /* b . */
  enum { kMemory = 1 << 16 };
  OK(myriarm_program_raw(loop, sizeof loop, 0, kMemory, &program));
  OK(myriarm_fleet_create(program, &options, &fleet));
  OK(myriarm_fleet_count_threads(fleet, 0, &count));
  less.struct_size = sizeof less;
  OK(myriarm_fleet_get_thread(fleet, 0, 0, &less));
  CHECK(count == 1 && less.id == 0 && less.process == 0 && less.is_running == 1 && less.sp == kMemory);
  OK(myriarm_fleet_free(fleet));
  OK(myriarm_program_free(program));
}
