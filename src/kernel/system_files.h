// SPDX-License-Identifier: Apache-2.0
// The files of /proc that tell of the system, see proc(5). There is one processor and no disk, memory is the lane's window, and the
// clocks are the guest's, so that each text follows from what the lane has done. `Sink` has byte(u8).
#pragma once

#include "core/system/features.h"
#include "core/system/id_registers.h"
#include "kernel/guest_time.h"
#include "kernel/made_text.h"
#include "kernel/process_table.h"
#include "kernel/ranges.h"
#include "kernel/system_names.h"
#include "kernel/threads.h"

namespace myriarm::kernel::detail_of_texts {

constexpr u64 kTick = kNanoseconds / 100;  // of USER_HZ

template <class Sink>
MYR_FN void put_spaces(Sink& sink, u32 count) {
  for (u32 i = 0; i < count; i++) sink.byte(' ');
}
/// A number at the end of `width` bytes.
template <class Sink>
MYR_FN void put_right(Sink& sink, u64 value, u32 width) {
  Count count;
  put_number(count, value, 10);
  put_spaces(sink, width - (u32)lesser(width, count.size));
  put_number(sink, value, 10);
}

template <MemoryMachine M, class Sink>
MYR_OUTLINE void put_memory_facts(const M& m, Sink& sink) {
  constexpr u32 kNameWidth = 16, kNumberWidth = 8;
  const u64 all = (m.facts().window_end - m.facts().window_begin) >> 10;
  const auto line = [&](const char* name, u64 value) {
    const u32 size = put_text(sink, name);
    put_spaces(sink, kNameWidth - (u32)lesser(size, kNameWidth));
    put_right(sink, value, kNumberWidth);
    put_text(sink, " kB\n");
  };
  for (const char* name : {"MemTotal:", "MemFree:", "MemAvailable:"}) line(name, all);
  for (const char* name :
       {"Buffers:", "Cached:", "SwapCached:", "Active:", "Inactive:", "SwapTotal:", "SwapFree:", "Dirty:", "Writeback:",
        "AnonPages:", "Mapped:", "Shmem:", "Slab:", "SReclaimable:", "SUnreclaim:", "KernelStack:", "PageTables:"}) {
    line(name, 0);
  }
  line("CommitLimit:", all);
  line("Committed_AS:", 0);
}

template <class Sink>
MYR_OUTLINE void put_processors(Sink& sink) {
  // By bit of AT_HWCAP.
  constexpr const char* kFeatures[] = {"fp",      "asimd", "evtstrm", "aes",   "pmull",    "sha1",   "sha2", "crc32",
                                       "atomics", "fphp",  "asimdhp", "cpuid", "asimdrdm", "jscvt",  "fcma", "lrcpc",
                                       "dcpop",   "sha3",  "sm3",     "sm4",   "asimddp",  "sha512", "sve",  "asimdfhm",
                                       "dit",     "uscat", "ilrcpc",  "flagm", "ssbs",     "sb",     "paca", "pacg"};
  constexpr const char* kMoreFeatures[] = {"dcpodp",  "sve2",   "sveaes", "svepmull", "svebitperm", "svesha3",
                                           "svesm4",  "flagm2", "frint",  "svei8mm",  "svef32mm",   "svef64mm",
                                           "svebf16", "i8mm",   "bf16",   "dgh",      "rng",        "bti"};
  put_text(sink, "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t:");
  const auto features = [&](u64 bits, const char* const* names, u32 count) {
    for (u32 bit = 0; bit < count; bit++) {
      if (!(bits >> bit & 1)) continue;
      sink.byte(' ');
      put_text(sink, names[bit]);
    }
  };
  features(kHwcap, kFeatures, sizeof kFeatures / sizeof *kFeatures);
  features(kHwcap2, kMoreFeatures, sizeof kMoreFeatures / sizeof *kMoreFeatures);
  put_text(sink, "\nCPU implementer\t: 0x");
  put_number(sink, kMidr >> 24 & 0xFF, 16, 2);
  put_text(sink, "\nCPU architecture: 8\nCPU variant\t: 0x");
  put_number(sink, kMidr >> 20 & 0xF, 16);
  put_text(sink, "\nCPU part\t: 0x");
  put_number(sink, kMidr >> 4 & 0xFFF, 16, 3);
  put_text(sink, "\nCPU revision\t: ");
  put_number(sink, kMidr & 0xF, 10);
  put_text(sink, "\n\n");
}

template <MemoryMachine M, class Sink>
MYR_OUTLINE void put_statistics(const M& m, Sink& sink) {
  const u64 idle = slept(m) / kTick, busy = (nanoseconds(m) - slept(m)) / kTick;
  for (const char* name : {"cpu  ", "cpu0 "}) {
    put_text(sink, name);
    put_number(sink, busy, 10);
    put_text(sink, " 0 0 ");
    put_number(sink, idle, 10);
    put_text(sink, " 0 0 0 0 0 0\n");
  }
  put_text(sink, "intr 0\nctxt 0\nbtime ");
  put_number(sink, kEpochSeconds, 10);
  put_text(sink, "\nprocesses ");
  put_number(sink, greater(process_slots(m), 1), 10);
  put_text(sink, "\nprocs_running ");
  put_number(sink, word(m, kReadyThreads) + 1, 10);
  put_text(sink, "\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n");
}

template <class Sink>
MYR_FN void put_hundredths(Sink& sink, u64 time) {
  put_number(sink, time / kNanoseconds, 10);
  sink.byte('.');
  put_number(sink, time % kNanoseconds / kTick, 10, 2);
}
template <MemoryMachine M, class Sink>
MYR_FN void put_load(const M& m, Sink& sink) {
  put_text(sink, "0.00 0.00 0.00 ");
  put_number(sink, word(m, kReadyThreads) + 1, 10);
  sink.byte('/');
  put_number(sink, greater(word(m, kThreads), 1), 10);
  sink.byte(' ');
  put_number(sink, greater(word(m, kNewestThread), kProcessId), 10);
  sink.byte('\n');
}

/// The one file system, as mounts and mountinfo have it.
template <MemoryMachine M, class Sink>
MYR_FN void put_mounts(const M& m, Sink& sink, bool with_numbers) {
  const char* access = m.facts().layer_pages != 0 ? "rw" : "ro";
  if (with_numbers) put_text(sink, "1 0 0:12 / / ");
  else put_text(sink, "/dev/root / ext4 ");
  put_text(sink, access);
  if (with_numbers) {
    put_text(sink, " - ext4 /dev/root ");
    put_text(sink, access);
  } else {
    put_text(sink, " 0 0");
  }
  sink.byte('\n');
}

template <class Sink>
MYR_FN void put_name_line(Sink& sink, SystemName name) {
  put_text(sink, kSystemName[name]);
  sink.byte('\n');
}
template <class Sink>
MYR_FN void put_number_line(Sink& sink, u64 value) {
  put_number(sink, value, 10);
  sink.byte('\n');
}

/// What a file that tells of the system contains; false: it is none of these.
template <MemoryMachine M, class Sink>
MYR_OUTLINE bool put_system_file(const M& m, MadeFile file, Sink& sink) {
  constexpr u32 kMostIds = 32768, kMostAreas = 65530;
  switch (file) {
    case MadeFile::memory: put_memory_facts(m, sink); return true;
    case MadeFile::processors: put_processors(sink); return true;
    case MadeFile::statistics: put_statistics(m, sink); return true;
    case MadeFile::uptime:
      put_hundredths(sink, nanoseconds(m));
      sink.byte(' ');
      put_hundredths(sink, slept(m));
      sink.byte('\n');
      return true;
    case MadeFile::load: put_load(m, sink); return true;
    case MadeFile::mounts: put_mounts(m, sink, false); return true;
    case MadeFile::numbered_mounts: put_mounts(m, sink, true); return true;
    case MadeFile::file_systems: put_text(sink, "nodev\tproc\nnodev\ttmpfs\n\text4\n"); return true;
    case MadeFile::version:
      put_text(sink, "Linux version ");
      put_text(sink, kSystemName[kReleaseName]);
      put_text(sink, " (myriarm) ");
      put_name_line(sink, kVersionName);
      return true;
    case MadeFile::system_name: put_name_line(sink, kSystemItself); return true;
    case MadeFile::host_name: put_name_line(sink, kNodeName); return true;
    case MadeFile::domain_name: put_name_line(sink, kDomainName); return true;
    case MadeFile::release: put_name_line(sink, kReleaseName); return true;
    case MadeFile::release_version: put_name_line(sink, kVersionName); return true;
    case MadeFile::most_ids: put_number_line(sink, kMostIds); return true;
    case MadeFile::most_threads: put_number_line(sink, kMostThreads); return true;
    case MadeFile::most_areas: put_number_line(sink, kMostAreas); return true;
    case MadeFile::overcommit: put_number_line(sink, 0); return true;
    default: return false;
  }
}

}  // namespace myriarm::kernel::detail_of_texts
