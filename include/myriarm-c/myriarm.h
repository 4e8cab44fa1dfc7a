/* SPDX-License-Identifier: Apache-2.0 */
/* The C API, for C and for every language that can call C: the functions of libmyriarm.so. docs/c.md explains it.
 *
 * Functions return a myriarm_status. If it is not MYRIARM_OK, myriarm_last_error() says in one sentence what was wrong,
 * and the function has not changed its outputs. A mistake of a guest is not an error: its lane stops.
 *
 * A handle is valid until its ..._free(). A function that gets NULL, a freed handle or a handle of another type returns
 * MYRIARM_ARGUMENT_ERROR. All other pointers must point to as much memory as the function says; they may be NULL only
 * where that is said. A fleet is used from one thread; cancel and poll may be called from any.
 *
 * A struct that begins with struct_size may grow in later versions. Set struct_size to sizeof of the struct, and
 * members that you do not need to 0, which is the default of every member. */
#ifndef MYRIARM_C_MYRIARM_H
#define MYRIARM_C_MYRIARM_H

#include <stdint.h>

#if defined(__GNUC__)
#define MYRIARM_API __attribute__((visibility("default")))
#else
#define MYRIARM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): the names that C uses */

typedef int32_t myriarm_status;
enum {
  MYRIARM_OK = 0,
  MYRIARM_ARGUMENT_ERROR = 1, /* an argument is wrong */
  MYRIARM_DEVICE_ERROR = 2,   /* the device is missing, too small, or has failed */
  MYRIARM_STATE_ERROR = 3,    /* the call does not fit what the fleet is doing */
  MYRIARM_NO_MEMORY = 4,      /* the host has no memory left */
  MYRIARM_INTERNAL_ERROR = 5  /* a bug of the library: please report it */
};

/* The error of this thread's last call that failed, one sentence; "" if none has failed. Valid until this thread's next
 * call. */
MYRIARM_API const char* myriarm_last_error(void);
/* The version of the library, "0.1.0". */
MYRIARM_API const char* myriarm_version(void);

/* ---- devices ---- */

enum { MYRIARM_DEVICE_CPU = 0, MYRIARM_DEVICE_CUDA = 1 };

typedef struct myriarm_device {
  uint64_t struct_size;
  uint64_t memory_bytes; /* bytes that a new fleet could use now */
  uint32_t kind;         /* MYRIARM_DEVICE_... */
  uint32_t ordinal;      /* its number among the devices of its kind, from 0 */
  uint32_t units;        /* CPU threads, or streaming multiprocessors */
  uint32_t team_lanes;   /* lanes that run in step */
  char id[32];           /* "cpu", "cuda:0", ...; id and name end with a NUL */
  char name[128];        /* the product's name */
} myriarm_device;

/* The number of devices of this machine, and device `index` of them; device 0 is the CPU. */
MYRIARM_API myriarm_status myriarm_count_devices(uint64_t* count);
MYRIARM_API myriarm_status myriarm_get_device(uint64_t index, myriarm_device* device);
/* The device that a fleet with this name gets: "auto" (also NULL), "cpu", "cuda", "cuda:N". If the device cannot be
 * used, it returns an error, whose sentence says why. `device` may be NULL. */
MYRIARM_API myriarm_status myriarm_find_device(const char* name, myriarm_device* device);

/* ---- programs ---- */

typedef struct myriarm_program myriarm_program;

/* Machine code at an address in flat memory of `memory` bytes from address 0, a multiple of 4096. The guest may read,
 * write and execute all of it, and SP is its end. */
MYRIARM_API myriarm_status myriarm_program_raw(const void* bytes, uint64_t size, uint64_t address, uint64_t memory,
                                               myriarm_program** program);
/* A static AArch64 ELF executable, from memory or from a file. */
MYRIARM_API myriarm_status myriarm_program_elf(const void* bytes, uint64_t size, const char* name,
                                               myriarm_program** program);
MYRIARM_API myriarm_status myriarm_program_load(const char* path, myriarm_program** program);
/* Fleets that were made of the program stay valid. */
MYRIARM_API myriarm_status myriarm_program_free(myriarm_program* program);

/* ---- fleets ---- */

typedef struct myriarm_fleet myriarm_fleet;

/* memory policies: docs/memory.md */
enum {
  MYRIARM_MEMORY_PRIVATE = 0,
  MYRIARM_MEMORY_READ_ONLY = 1,
  MYRIARM_MEMORY_TRANSACTIONAL = 2,
  MYRIARM_MEMORY_SHARED = 3,
  MYRIARM_MEMORY_DEVICE_SHARED = 4
};

/* what executes the instructions; results are the same to the bit */
enum {
  MYRIARM_ENGINE_DEFAULT = 0,     /* of a fleet: the interpreter; of a run: the fleet's engine */
  MYRIARM_ENGINE_INTERPRETER = 1, /* the fast one */
  MYRIARM_ENGINE_STEPPER = 2,     /* one instruction at a time: the reference, and for debugging */
  MYRIARM_ENGINE_TRANSLATE = 3,   /* the interpreter, and hot code is translated into machine code */
  MYRIARM_ENGINE_AUTO = 4         /* TRANSLATE on the CPU if translation is installed there, else INTERPRETER */
};

typedef struct myriarm_fleet_options {
  uint64_t struct_size;
  const char* device; /* NULL: "auto" */
  uint64_t lanes;     /* 0: 1 */
  /* Bytes of guest addresses from the program's lowest page up; 0: a raw program's own, 1 GiB for a Linux process, else 64 MiB. */
  uint64_t memory;
  uint64_t pool;          /* bytes for pages that lanes write, over all lanes; 0: see myriarm_fleet_get_pool() */
  uint32_t threads;       /* CPU threads; 0: all */
  uint32_t memory_policy; /* MYRIARM_MEMORY_... */
  uint32_t engine;        /* MYRIARM_ENGINE_... of runs whose options do not name one */
  uint32_t reserved;      /* must be 0 */
  /* The most that translate, with MYRIARM_ENGINE_TRANSLATE; 0: on the CPU half of its threads, at most 4; for a GPU all. */
  uint32_t compile_threads;
  uint32_t no_translation_cache; /* not 0: translated code is neither taken from the cache on disk nor kept there */
} myriarm_fleet_options;

typedef struct myriarm_fleet_info {
  uint64_t struct_size;
  uint64_t lanes;
  uint64_t memory_begin; /* first address of the guest's window */
  uint64_t memory_end;   /* one past its last address */
  uint32_t memory_policy;
  uint32_t team_lanes;
  uint32_t engine; /* MYRIARM_ENGINE_..., never the default */
  uint32_t reserved;
} myriarm_fleet_info;

/* options may be NULL. */
MYRIARM_API myriarm_status myriarm_fleet_create(const myriarm_program* program, const myriarm_fleet_options* options,
                                                myriarm_fleet** fleet);
/* Cancels a run in progress, and frees the fleet. */
MYRIARM_API myriarm_status myriarm_fleet_free(myriarm_fleet* fleet);
MYRIARM_API myriarm_status myriarm_fleet_get_info(myriarm_fleet* fleet, myriarm_fleet_info* info);
MYRIARM_API myriarm_status myriarm_fleet_get_device(myriarm_fleet* fleet, myriarm_device* device);

/* What MYRIARM_ENGINE_TRANSLATE has done for a fleet since it was made. */
typedef struct myriarm_translation {
  uint64_t struct_size;
  uint64_t regions;             /* pieces of guest code that were compiled */
  uint64_t cached;              /* of them: whose machine code came from the cache on disk */
  uint64_t region_instructions; /* guest instructions in them */
  double seconds;               /* of processor time that translating took, copied code included */
  uint64_t interpreted;         /* instructions that lanes retired by interpretation, in runs with this engine */
  uint64_t translated;          /* instructions that lanes retired in translated code */
  uint64_t refused;             /* regions that could not be translated */
  char unavailable[256];   /* why nothing is compiled, as part of a sentence; "" if it is, or if no code was hot yet */
  char cache_warning[512]; /* what of the cache on disk was ignored, and why, as one sentence; "": nothing was */
  uint64_t copied;         /* pieces of guest code of which machine code was copied together */
  uint64_t copied_instructions;   /* guest instructions in them */
  uint64_t translated_by_copying; /* of `translated`: in code that was copied together; the rest was compiled */
  uint64_t visits;                /* on a GPU: how often teams have gone into compiled code */
  uint64_t lanes_in_visits;       /* and how many of their lanes went together, summed */
} myriarm_translation;

MYRIARM_API myriarm_status myriarm_fleet_get_translation(myriarm_fleet* fleet, myriarm_translation* translation);

/* ---- runs ---- */

/* modes, which differ in who starts the next batch: docs/modes.md */
enum { MYRIARM_MODE_RUN = 0, MYRIARM_MODE_CONTINUOUS = 1, MYRIARM_MODE_MEGA = 2, MYRIARM_MODE_SELF_DISPATCH = 3 };
/* the state of a lane or of a run in one number */
enum {
  MYRIARM_SIGNAL_RUNNING = 0,
  MYRIARM_SIGNAL_HALT = 1,
  MYRIARM_SIGNAL_SYSCALL = 2,
  MYRIARM_SIGNAL_CHECKPOINT = 3,
  MYRIARM_SIGNAL_FAULT = 4,
  MYRIARM_SIGNAL_BREAKPOINT = 5,
  MYRIARM_SIGNAL_CANCELLED = 6
};

typedef struct myriarm_run_options {
  uint64_t struct_size;
  uint64_t instructions;           /* the most that each lane retires in the call; 0: no limit */
  uint64_t instructions_per_batch; /* continuous, self-dispatch; 0: 10,000,000 */
  uint64_t max_batches;            /* continuous, self-dispatch; 0: no limit */
  double timeout;                  /* seconds; 0: none */
  uint32_t mode;                   /* MYRIARM_MODE_... */
  uint32_t leave_paused;           /* not 0: lanes that stopped at a budget, or were cancelled, do not go on */
  uint32_t engine;                 /* MYRIARM_ENGINE_... of this run */
  uint32_t reserved;               /* must be 0 */
} myriarm_run_options;

#define MYRIARM_MOST_REASONS 16

typedef struct myriarm_run_result {
  uint64_t struct_size;
  uint64_t instructions; /* retired in the call, over all lanes */
  uint64_t batches;
  uint64_t stopped;    /* lanes that have a stop now */
  uint64_t lanes_left; /* lanes that go on in the next run */
  double seconds;
  uint64_t stops[MYRIARM_MOST_REASONS]; /* the number of lanes that got this stop, by MYRIARM_STOP_... */
  uint32_t signal;                      /* MYRIARM_SIGNAL_...: the most urgent of the stops */
  uint32_t timed_out;
  uint64_t lanes_run; /* lanes that took part; 0: every lane had a stop already, and nothing was done */
} myriarm_run_result;

typedef struct myriarm_poll {
  uint64_t struct_size;
  uint64_t instructions;  /* retired so far in this run, at least */
  uint64_t lanes_running; /* lanes without a stop */
  double seconds;
  uint32_t running;
  uint32_t signal; /* MYRIARM_SIGNAL_... of the run when it has ended */
} myriarm_poll;

/* Runs lanes, and returns when they have stopped. options and result may be NULL. */
MYRIARM_API myriarm_status myriarm_fleet_run(myriarm_fleet* fleet, const myriarm_run_options* options,
                                             myriarm_run_result* result);
/* Starts a run in a thread of the library and returns at once. Call wait after each start. */
MYRIARM_API myriarm_status myriarm_fleet_start(myriarm_fleet* fleet, const myriarm_run_options* options);
/* How far the run is. Never waits for the device; may be called from any thread. */
MYRIARM_API myriarm_status myriarm_fleet_poll(myriarm_fleet* fleet, myriarm_poll* poll);
/* Waits for the run that start began, at most this many seconds; negative: until it has ended. If it has ended, sets
 * *ended to 1 and fills in *result, else sets *ended to 0. result may be NULL. */
MYRIARM_API myriarm_status myriarm_fleet_wait(myriarm_fleet* fleet, double seconds, uint32_t* ended,
                                              myriarm_run_result* result);
/* Ends the run in progress, or the next one if there is none: its lanes stop with MYRIARM_STOP_CANCELLED. May be called
 * from any thread. */
MYRIARM_API myriarm_status myriarm_fleet_cancel(myriarm_fleet* fleet);

/* ---- registers, stops ----
 * `lanes` points to `count` lane numbers; NULL means all lanes in order, and then count must be their number. */

/* pieces of lane state; values are uint64_t */
enum {
  MYRIARM_FIELD_X0 = 0, /* x0 to x30 */
  MYRIARM_FIELD_SP = 31,
  MYRIARM_FIELD_PC = 32,
  MYRIARM_FIELD_NZCV = 33, /* N in bit 3, Z 2, C 1, V 0 */
  MYRIARM_FIELD_TPIDR = 34,
  MYRIARM_FIELD_FPCR = 35,
  MYRIARM_FIELD_FPSR = 36,
  MYRIARM_FIELD_INSTRUCTIONS = 37, /* retired so far */
  MYRIARM_FIELD_LIMIT = 38,        /* the lane stops with MYRIARM_STOP_BUDGET when it has retired this many */
  MYRIARM_FIELD_V0_LOW = 39,       /* lower halves of v0 to v31 */
  MYRIARM_FIELD_V0_HIGH = 71       /* upper halves */
};
#define MYRIARM_X(n) ((uint32_t)(MYRIARM_FIELD_X0 + (n)))
#define MYRIARM_V_LOW(n) ((uint32_t)(MYRIARM_FIELD_V0_LOW + (n)))
#define MYRIARM_V_HIGH(n) ((uint32_t)(MYRIARM_FIELD_V0_HIGH + (n)))

/* values: `count` of them. Of a lane with several threads the registers are those of the one that runs;
 * myriarm_fleet_get_thread() has the others. */
MYRIARM_API myriarm_status myriarm_fleet_get(myriarm_fleet* fleet, uint32_t field, const uint32_t* lanes,
                                             uint64_t count, uint64_t* values);
MYRIARM_API myriarm_status myriarm_fleet_set(myriarm_fleet* fleet, uint32_t field, const uint32_t* lanes,
                                             uint64_t count, const uint64_t* values);
/* One value for all lanes. */
MYRIARM_API myriarm_status myriarm_fleet_fill(myriarm_fleet* fleet, uint32_t field, uint64_t value);

enum {
  MYRIARM_STOP_NONE = 0,       /* has not stopped: it may run */
  MYRIARM_STOP_HALT = 1,       /* HLT */
  MYRIARM_STOP_SYSCALL = 2,    /* SVC; pc is the next instruction's */
  MYRIARM_STOP_BREAKPOINT = 3, /* BRK */
  MYRIARM_STOP_BUDGET = 4,
  MYRIARM_STOP_FAULT = 5,
  MYRIARM_STOP_UNDEFINED = 6,
  MYRIARM_STOP_OUT_OF_MEMORY = 7, /* no memory is left in the pool; grow it and resume */
  MYRIARM_STOP_CANCELLED = 8,
  MYRIARM_STOP_EXITED = 9
};
enum {
  MYRIARM_FAULT_NONE = 0,
  MYRIARM_FAULT_UNMAPPED = 1,
  MYRIARM_FAULT_READ = 2,
  MYRIARM_FAULT_WRITE = 3,
  MYRIARM_FAULT_EXECUTE = 4,
  MYRIARM_FAULT_ALIGNMENT = 5
};

typedef struct myriarm_stop {
  uint8_t reason; /* MYRIARM_STOP_... */
  uint8_t fault;  /* MYRIARM_FAULT_... */
  uint8_t reserved[2];
  uint32_t detail;  /* imm16 of SVC, BRK, HLT; the exit status of a lane that exited */
  uint64_t address; /* fault: the first inaccessible byte; undefined: the instruction word */
} myriarm_stop;

MYRIARM_API myriarm_status myriarm_fleet_get_stops(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                                   myriarm_stop* stops);
MYRIARM_API myriarm_status myriarm_fleet_set_stops(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                                   const myriarm_stop* stops);
/* Clears the stops of these lanes, so that the next run continues them. */
MYRIARM_API myriarm_status myriarm_fleet_resume(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count);
/* "halt", "unmapped", "checkpoint", ...; "unknown" for any other number. */
MYRIARM_API const char* myriarm_stop_name(uint32_t reason);
MYRIARM_API const char* myriarm_fault_name(uint32_t fault);
MYRIARM_API const char* myriarm_signal_name(uint32_t signal);

/* ---- threads of Linux programs ---- */

/* A thread of a process in a lane. A lane runs one thread at a time: the lane's fields are the registers of that one, and
 * its memory is that of its process. */
typedef struct myriarm_thread {
  uint64_t struct_size;
  uint32_t id;         /* as gettid() gives it; 0: the program is no process */
  uint32_t process;    /* as getpid() gives it; 0 likewise */
  uint32_t is_running; /* not 0: its registers are the lane's */
  uint32_t is_waiting; /* not 0: it is in the system call x[8], before whose SVC it stands */
  uint64_t x[31];      /* the registers with which it goes on */
  uint64_t sp;
  uint64_t pc;
  uint64_t nzcv; /* N in bit 3, Z 2, C 1, V 0 */
  uint64_t tpidr;
  uint64_t fpcr;
  uint64_t fpsr;
  uint64_t v[32][2]; /* lower half, upper half */
} myriarm_thread;

/* The number of threads of all processes of a lane that have not left, and thread `index` of them, from 0; their ids rise.
 * At most one runs; none does if the one that did has just left. They stay the same until the lane runs, or its state is
 * changed. MYRIARM_STATE_ERROR if the lane has given its memory back. */
MYRIARM_API myriarm_status myriarm_fleet_count_threads(myriarm_fleet* fleet, uint32_t lane, uint64_t* count);
MYRIARM_API myriarm_status myriarm_fleet_get_thread(myriarm_fleet* fleet, uint32_t lane, uint64_t index,
                                                    myriarm_thread* thread);

/* ---- memory ---- */

enum { MYRIARM_READ = 1, MYRIARM_WRITE = 2, MYRIARM_EXECUTE = 4, MYRIARM_MAPPED = 8 };

typedef struct myriarm_transfer {
  uint32_t lane;
  uint32_t size;
  uint64_t address; /* guest address */
  uint64_t offset;  /* offset in the buffer */
} myriarm_transfer;

/* Copies guest memory to or from a buffer of buffer_size bytes, whatever the permissions are. A transfer ends at the
 * first byte that is not mapped; done[i] is set to the bytes before it. done may be NULL: then it is an error if a byte
 * is not mapped. */
MYRIARM_API myriarm_status myriarm_fleet_read(myriarm_fleet* fleet, const myriarm_transfer* transfers, uint64_t count,
                                              void* buffer, uint64_t buffer_size, uint32_t* done);
MYRIARM_API myriarm_status myriarm_fleet_write(myriarm_fleet* fleet, const myriarm_transfer* transfers, uint64_t count,
                                               const void* buffer, uint64_t buffer_size, uint32_t* done);
/* Change pages of lanes, as docs/memory.md says; address and size are multiples of 4096 inside the window. permissions:
 * a sum of MYRIARM_READ, MYRIARM_WRITE and MYRIARM_EXECUTE. */
MYRIARM_API myriarm_status myriarm_fleet_map(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                             uint64_t address, uint64_t size, uint32_t permissions);
MYRIARM_API myriarm_status myriarm_fleet_unmap(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                               uint64_t address, uint64_t size);
MYRIARM_API myriarm_status myriarm_fleet_protect(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                                 uint64_t address, uint64_t size, uint32_t permissions);
/* A byte for each page, lane by lane: MYRIARM_MAPPED and the permissions, or 0 if the page is not mapped. pages_size is
 * count * size / 4096. */
MYRIARM_API myriarm_status myriarm_fleet_permissions(myriarm_fleet* fleet, const uint32_t* lanes, uint64_t count,
                                                     uint64_t address, uint64_t size, uint8_t* pages,
                                                     uint64_t pages_size);
/* The bytes of the pool that pages of lanes occupy, and the bytes that they may occupy; either pointer may be NULL. If
 * myriarm_fleet_options.pool was 0, *size is three quarters of the host's memory, at most 100 GiB, on the CPU; on a GPU
 * the pool is small at first and grows as lanes need it, up to the device's free memory. */
MYRIARM_API myriarm_status myriarm_fleet_get_pool(myriarm_fleet* fleet, uint64_t* used, uint64_t* size);
/* Makes the pool at least this large, for lanes that stopped with MYRIARM_STOP_OUT_OF_MEMORY. */
MYRIARM_API myriarm_status myriarm_fleet_grow_pool(myriarm_fleet* fleet, uint64_t bytes);

/* ---- Linux programs ---- */

typedef struct myriarm_linux_options {
  uint64_t struct_size;
  const char* const* arguments; /* argv, with the program's name first */
  uint64_t argument_count;
  const char* const* environment; /* "NAME=value" each; MYRIARM_LANE=<lane> is added */
  uint64_t environment_count;
  const void* standard_input; /* the bytes that every lane reads from descriptor 0 */
  uint64_t standard_input_size;
  uint64_t seed;         /* the guest's random bytes depend only on it, the lane and the position */
  uint64_t output_limit; /* bytes of output kept over all lanes; 0: 1 GiB */
  /* Not 0: lane 0's output goes to that of this process at once, and is not kept. If the reader of a pipe has gone, the
     guest gets SIGPIPE; so does this process, unless it ignores SIGPIPE. */
  uint32_t pass_output;
  uint32_t keep_memory; /* not 0: lanes that have exited keep their memory; to read it is else MYRIARM_STATE_ERROR */
} myriarm_linux_options;

typedef struct myriarm_linux_outcome {
  uint64_t struct_size;
  myriarm_stop stop;
  int32_t exit_status; /* 0 to 255 if it exited, else -1 */
  int32_t signal;      /* the signal that ended it, or 0 */
} myriarm_linux_outcome;

/* A fleet with a process of an ELF program in every lane. Both options may be NULL. */
MYRIARM_API myriarm_status myriarm_linux_create(const myriarm_program* program, const myriarm_fleet_options* options,
                                                const myriarm_linux_options* linux_options, myriarm_fleet** fleet);
/* Runs and serves system calls until every lane has ended or is at its limit, or myriarm_fleet_cancel() was called.
 * result may be NULL. (myriarm_fleet_run() stops lanes at their first system call instead.) */
MYRIARM_API myriarm_status myriarm_linux_run(myriarm_fleet* fleet, myriarm_run_result* result);
MYRIARM_API myriarm_status myriarm_linux_get_outcome(myriarm_fleet* fleet, uint32_t lane,
                                                     myriarm_linux_outcome* outcome);
/* The bytes that a lane has written to stream 1 (standard output) or 2 (standard error). Sets *size to their number and
 * copies the first `capacity` of them to the buffer, which may be NULL if capacity is 0. */
MYRIARM_API myriarm_status myriarm_linux_get_output(myriarm_fleet* fleet, uint32_t lane, uint32_t stream, void* buffer,
                                                    uint64_t capacity, uint64_t* size);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
