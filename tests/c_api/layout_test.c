/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, offsets and numbers that are compiled into programs. While the SONAME of the library stays the same, lines may
 * be added here, and only the size of a struct that begins with struct_size may change. */
#include <stddef.h>

#include "myriarm-c/myriarm.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type "." #member)

SIZE(myriarm_status, 4);

SIZE(myriarm_device, 192);
AT(myriarm_device, struct_size, 0);
AT(myriarm_device, memory_bytes, 8);
AT(myriarm_device, kind, 16);
AT(myriarm_device, ordinal, 20);
AT(myriarm_device, units, 24);
AT(myriarm_device, team_lanes, 28);
AT(myriarm_device, id, 32);
AT(myriarm_device, name, 64);

SIZE(myriarm_fleet_options, 64);
AT(myriarm_fleet_options, device, 8);
AT(myriarm_fleet_options, lanes, 16);
AT(myriarm_fleet_options, memory, 24);
AT(myriarm_fleet_options, pool, 32);
AT(myriarm_fleet_options, threads, 40);
AT(myriarm_fleet_options, memory_policy, 44);
AT(myriarm_fleet_options, engine, 48);
AT(myriarm_fleet_options, reserved, 52);
AT(myriarm_fleet_options, compile_threads, 56);
AT(myriarm_fleet_options, no_translation_cache, 60);

SIZE(myriarm_fleet_info, 48);
AT(myriarm_fleet_info, lanes, 8);
AT(myriarm_fleet_info, memory_begin, 16);
AT(myriarm_fleet_info, memory_end, 24);
AT(myriarm_fleet_info, memory_policy, 32);
AT(myriarm_fleet_info, team_lanes, 36);
AT(myriarm_fleet_info, engine, 40);
AT(myriarm_fleet_info, reserved, 44);

SIZE(myriarm_translation, 872);
AT(myriarm_translation, regions, 8);
AT(myriarm_translation, cached, 16);
AT(myriarm_translation, region_instructions, 24);
AT(myriarm_translation, seconds, 32);
AT(myriarm_translation, interpreted, 40);
AT(myriarm_translation, translated, 48);
AT(myriarm_translation, refused, 56);
AT(myriarm_translation, unavailable, 64);
AT(myriarm_translation, cache_warning, 320);
AT(myriarm_translation, copied, 832);
AT(myriarm_translation, copied_instructions, 840);
AT(myriarm_translation, translated_by_copying, 848);
AT(myriarm_translation, visits, 856);
AT(myriarm_translation, lanes_in_visits, 864);

SIZE(myriarm_run_options, 56);
AT(myriarm_run_options, instructions, 8);
AT(myriarm_run_options, instructions_per_batch, 16);
AT(myriarm_run_options, max_batches, 24);
AT(myriarm_run_options, timeout, 32);
AT(myriarm_run_options, mode, 40);
AT(myriarm_run_options, leave_paused, 44);
AT(myriarm_run_options, engine, 48);
AT(myriarm_run_options, reserved, 52);

SIZE(myriarm_run_result, 192);
AT(myriarm_run_result, instructions, 8);
AT(myriarm_run_result, batches, 16);
AT(myriarm_run_result, stopped, 24);
AT(myriarm_run_result, lanes_left, 32);
AT(myriarm_run_result, seconds, 40);
AT(myriarm_run_result, stops, 48);
AT(myriarm_run_result, signal, 176);
AT(myriarm_run_result, timed_out, 180);
AT(myriarm_run_result, lanes_run, 184);

SIZE(myriarm_poll, 40);
AT(myriarm_poll, instructions, 8);
AT(myriarm_poll, lanes_running, 16);
AT(myriarm_poll, seconds, 24);
AT(myriarm_poll, running, 32);
AT(myriarm_poll, signal, 36);

SIZE(myriarm_stop, 16);
AT(myriarm_stop, reason, 0);
AT(myriarm_stop, fault, 1);
AT(myriarm_stop, detail, 4);
AT(myriarm_stop, address, 8);

SIZE(myriarm_thread, 832);
AT(myriarm_thread, id, 8);
AT(myriarm_thread, process, 12);
AT(myriarm_thread, is_running, 16);
AT(myriarm_thread, is_waiting, 20);
AT(myriarm_thread, x, 24);
AT(myriarm_thread, sp, 272);
AT(myriarm_thread, pc, 280);
AT(myriarm_thread, nzcv, 288);
AT(myriarm_thread, tpidr, 296);
AT(myriarm_thread, fpcr, 304);
AT(myriarm_thread, fpsr, 312);
AT(myriarm_thread, v, 320);

SIZE(myriarm_transfer, 24);
AT(myriarm_transfer, lane, 0);
AT(myriarm_transfer, size, 4);
AT(myriarm_transfer, address, 8);
AT(myriarm_transfer, offset, 16);

SIZE(myriarm_linux_options, 80);
AT(myriarm_linux_options, arguments, 8);
AT(myriarm_linux_options, argument_count, 16);
AT(myriarm_linux_options, environment, 24);
AT(myriarm_linux_options, environment_count, 32);
AT(myriarm_linux_options, standard_input, 40);
AT(myriarm_linux_options, standard_input_size, 48);
AT(myriarm_linux_options, seed, 56);
AT(myriarm_linux_options, output_limit, 64);
AT(myriarm_linux_options, pass_output, 72);
AT(myriarm_linux_options, keep_memory, 76);

SIZE(myriarm_linux_outcome, 32);
AT(myriarm_linux_outcome, stop, 8);
AT(myriarm_linux_outcome, exit_status, 24);
AT(myriarm_linux_outcome, signal, 28);

#define IS(name, number) _Static_assert((name) == (number), #name)

IS(MYRIARM_OK, 0);
IS(MYRIARM_ARGUMENT_ERROR, 1);
IS(MYRIARM_DEVICE_ERROR, 2);
IS(MYRIARM_STATE_ERROR, 3);
IS(MYRIARM_NO_MEMORY, 4);
IS(MYRIARM_INTERNAL_ERROR, 5);
IS(MYRIARM_DEVICE_CPU, 0);
IS(MYRIARM_DEVICE_CUDA, 1);
IS(MYRIARM_MEMORY_PRIVATE, 0);
IS(MYRIARM_MEMORY_DEVICE_SHARED, 4);
IS(MYRIARM_ENGINE_DEFAULT, 0);
IS(MYRIARM_ENGINE_INTERPRETER, 1);
IS(MYRIARM_ENGINE_STEPPER, 2);
IS(MYRIARM_ENGINE_TRANSLATE, 3);
IS(MYRIARM_ENGINE_AUTO, 4);
IS(MYRIARM_MODE_RUN, 0);
IS(MYRIARM_MODE_SELF_DISPATCH, 3);
IS(MYRIARM_SIGNAL_RUNNING, 0);
IS(MYRIARM_SIGNAL_CANCELLED, 6);
IS(MYRIARM_FIELD_SP, 31);
IS(MYRIARM_FIELD_LIMIT, 38);
IS(MYRIARM_V_LOW(0), 39);
IS(MYRIARM_V_HIGH(0), 71);
IS(MYRIARM_STOP_NONE, 0);
IS(MYRIARM_STOP_EXITED, 9);
IS(MYRIARM_FAULT_ALIGNMENT, 5);
IS(MYRIARM_READ, 1);
IS(MYRIARM_WRITE, 2);
IS(MYRIARM_EXECUTE, 4);
IS(MYRIARM_MAPPED, 8);
IS(MYRIARM_MOST_REASONS, 16);
