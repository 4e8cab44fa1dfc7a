// SPDX-License-Identifier: Apache-2.0
// Checks of memory, by the manual pages: brk(2), mmap(2), munmap(2), mremap(2), mprotect(2), msync(2), mlock(2), mlockall(2), mincore(2), madvise(2).
#include "checking.h"

#include <setjmp.h>

enum { kPage = 4096 };
static sigjmp_buf back;
static volatile int fault, fault_code;
static void* volatile fault_address;
static void on_fault(int signal, siginfo_t* information, void* context) {
  (void)context;
  fault = signal;
  fault_code = information->si_code;
  fault_address = information->si_addr;
  siglongjmp(back, 1);
}
/// The signal of an access, or 0.
static int reads(volatile char* address) {
  fault = 0;
  if (sigsetjmp(back, 1) == 0) (void)*address;
  return fault;
}
static int writes(volatile char* address) {
  fault = 0;
  if (sigsetjmp(back, 1) == 0) *address = 1;
  return fault;
}
static char* pages(int count, int protection) {
  return mmap(NULL, (size_t)count * kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static long maps(void* result) { return result == MAP_FAILED ? -1 : 0; }

static void mapping(void) {
  int ends[2];
  pipe(ends);
  char* area = pages(4, PROT_READ | PROT_WRITE);
  GIVES(mmap, "pages", 0, maps(area));
  GIVES(mmap, "begin at a page", 0, (uintptr_t)area % kPage);
  GIVES(mmap, "are zeros", 0, area[0] | area[4 * kPage - 1]);
  GIVES(mmap, "can be written", 0, writes(area + 5));
  char* held = pages(1, PROT_READ);
  GIVES(mmap, "PROT_READ can be read", 0, reads(held));
  GIVES(mmap, "PROT_READ cannot be written", SIGSEGV, writes(held));
  GIVES(mmap, "what cannot be written is SEGV_ACCERR", SEGV_ACCERR, fault_code);
  GIVES(mmap, "the address of the fault", 1, fault_address == held);
  char* none = pages(1, PROT_NONE);
  GIVES(mmap, "PROT_NONE cannot be read", SIGSEGV, reads(none));
  area[kPage] = 7;
  GIVES(mmap, "MAP_FIXED", 1,
        mmap(area + kPage, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            area + kPage);
  GIVES(mmap, "MAP_FIXED replaces what was there", 0, area[kPage]);
  FAILS(mmap, "MAP_FIXED_NOREPLACE", EEXIST,
        maps(mmap(area + kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)));
  FAILS(mmap, "no length", EINVAL, maps(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  FAILS(mmap, "neither private nor shared", EINVAL, maps(mmap(NULL, kPage, PROT_READ, MAP_ANONYMOUS, -1, 0)));
  FAILS(mmap, "MAP_FIXED not at a page", EINVAL,
        maps(mmap(area + 5, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)));
  FAILS(mmap, "an offset not at a page", EINVAL,
        maps((void*)syscall(SYS_mmap, NULL, kPage, PROT_READ, MAP_PRIVATE, 0, 5)));
  FAILS(mmap, "no descriptor", EBADF, maps(mmap(NULL, kPage, PROT_READ, MAP_PRIVATE, kNoDescriptor, 0)));
  FAILS(mmap, "a pipe", ENODEV, maps(mmap(NULL, kPage, PROT_READ, MAP_PRIVATE, ends[0], 0)));
  FAILS(mmap, "the end of a pipe that writes", EACCES, maps(mmap(NULL, kPage, PROT_READ, MAP_PRIVATE, ends[1], 0)));
  FAILS(mmap, "more than there are addresses", ENOMEM,
        maps(mmap(NULL, 1ul << 47, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  FAILS(mmap, "a length that overflows", ENOMEM,
        maps(mmap(NULL, ~0ul - 5, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  FAILS(mmap, "an offset that overflows", EOVERFLOW, maps(mmap(NULL, 2 * kPage, PROT_READ, MAP_PRIVATE, 0, -kPage)));
  GIVES(mmap, "MAP_SHARED", 0, maps(mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)));
  GIVES(mmap, "MAP_POPULATE, MAP_NORESERVE, MAP_STACK", 0,
        maps(mmap(NULL, kPage, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_NORESERVE | MAP_STACK, -1, 0)));
  // munmap
  GIVES(munmap, "a page in the middle", 0, munmap(area + 2 * kPage, kPage));
  GIVES(munmap, "it cannot be read", SIGSEGV, reads(area + 2 * kPage));
  GIVES(munmap, "what is not mapped is SEGV_MAPERR", SEGV_MAPERR, fault_code);
  GIVES(munmap, "its neighbours can", 0, reads(area + 3 * kPage) | reads(area + 2 * kPage - 1));
  GIVES(munmap, "a range with gaps", 0, munmap(area, 4 * kPage));
  GIVES(munmap, "what is not mapped", 0, munmap(area, 4 * kPage));
  FAILS(munmap, "not at a page", EINVAL, munmap(area + 5, kPage));
  FAILS(munmap, "no length", EINVAL, munmap(area, 0));
  FAILS(munmap, "beyond all addresses", EINVAL, munmap(area, ~0ul - kPage + 1));
  close(ends[0]), close(ends[1]);
}

static void breaks(void) {
  char* const now = sbrk(0);
  GIVES(brk, "0 is where it is", 1, (char*)syscall(SYS_brk, 0) == now);
  GIVES(brk, "further", 1, (char*)syscall(SYS_brk, now + 2 * kPage) == now + 2 * kPage);
  GIVES(brk, "the new memory is zeros", 0, now[2 * kPage - 1]);
  GIVES(brk, "and can be written", 0, writes(now + 2 * kPage - 1));
  GIVES(brk, "back", 1, (char*)syscall(SYS_brk, now) == now);
  syscall(SYS_brk, now + 2 * kPage);
  GIVES(brk, "what was given back is zeros again", 0, now[2 * kPage - 1]);
  GIVES(brk, "before its beginning it stays", 1, (char*)syscall(SYS_brk, 4096) == now + 2 * kPage);
  GIVES(brk, "beyond all addresses it stays", 1, (char*)syscall(SYS_brk, 1ul << 60) == now + 2 * kPage);
  syscall(SYS_brk, now);
}

static void moving(void) {
  char* area = pages(8, PROT_READ | PROT_WRITE);
  munmap(area + 4 * kPage, 4 * kPage);
  area[0] = 1, area[3 * kPage] = 4;
  GIVES(mremap, "shorter", 1, mremap(area, 4 * kPage, 2 * kPage, 0) == area);
  GIVES(mremap, "the rest has gone", SIGSEGV, reads(area + 2 * kPage));
  GIVES(mremap, "longer where there is room", 1, mremap(area, 2 * kPage, 4 * kPage, 0) == area);
  GIVES(mremap, "what is new is zeros", 0, area[3 * kPage]);
  mmap(area + 4 * kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  FAILS(mremap, "longer where there is none", ENOMEM, maps(mremap(area, 4 * kPage, 5 * kPage, 0)));
  char* moved = mremap(area, 4 * kPage, 6 * kPage, MREMAP_MAYMOVE);
  GIVES(mremap, "MREMAP_MAYMOVE", 0, maps(moved));
  GIVES(mremap, "with its bytes", 1, moved[0]);
  GIVES(mremap, "from where it was", SIGSEGV, reads(area));
  char* target = pages(6, PROT_READ);
  GIVES(mremap, "MREMAP_FIXED", 1,
        mremap(moved, 6 * kPage, 6 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
  GIVES(mremap, "MREMAP_FIXED replaces what was there", 0, writes(target));
  FAILS(mremap, "not at a page", EINVAL, maps(mremap(target + 5, kPage, kPage, 0)));
  FAILS(mremap, "a flag that is unknown", EINVAL, maps(mremap(target, kPage, kPage, 77 << 8)));
  FAILS(mremap, "no new length", EINVAL, maps(mremap(target, kPage, 0, 0)));
  FAILS(mremap, "MREMAP_FIXED without MREMAP_MAYMOVE", EINVAL, maps(mremap(target, kPage, kPage, MREMAP_FIXED, area)));
  FAILS(mremap, "MREMAP_FIXED onto itself", EINVAL,
        maps(mremap(target, 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, target + kPage)));
  FAILS(mremap, "no old length, of a private mapping", EINVAL, maps(mremap(target, 0, kPage, MREMAP_MAYMOVE)));
  FAILS(mremap, "what is not mapped", EFAULT, maps(mremap(area, kPage, 2 * kPage, MREMAP_MAYMOVE)));
  FAILS(mremap, "more than there are addresses", ENOMEM, maps(mremap(target, kPage, 1ul << 46, MREMAP_MAYMOVE)));
  munmap(target, 6 * kPage);
}

static void protecting(void) {
  char* area = pages(4, PROT_READ | PROT_WRITE);
  area[0] = area[kPage] = 3;
  GIVES(mprotect, "PROT_READ", 0, mprotect(area, kPage, PROT_READ));
  GIVES(mprotect, "it cannot be written", SIGSEGV, writes(area));
  GIVES(mprotect, "it keeps its bytes", 3, area[0]);
  GIVES(mprotect, "PROT_NONE", SIGSEGV, mprotect(area, kPage, PROT_NONE) == 0 ? reads(area) : -1);
  GIVES(mprotect, "its neighbour is as before", 0, writes(area + kPage));
  GIVES(mprotect, "back", 0, mprotect(area, kPage, PROT_READ | PROT_WRITE) == 0 ? writes(area) : -1);
  GIVES(mprotect, "no length", 0, mprotect(area, 0, PROT_READ));
  FAILS(mprotect, "not at a page", EINVAL, mprotect(area + 5, kPage, PROT_READ));
  FAILS(mprotect, "a protection that is unknown", EINVAL, mprotect(area, kPage, 1 << 20));
  FAILS(mprotect, "PROT_GROWSUP and PROT_GROWSDOWN", EINVAL,
        mprotect(area, kPage, PROT_READ | PROT_GROWSUP | PROT_GROWSDOWN));
  munmap(area + 2 * kPage, kPage);
  FAILS(mprotect, "a range with a gap", ENOMEM, mprotect(area, 4 * kPage, PROT_READ));
  FAILS(mprotect, "beyond all addresses", ENOMEM, mprotect(area, ~0ul - kPage, PROT_READ));
  munmap(area, 4 * kPage);
}

static void advising(void) {
  char* area = pages(4, PROT_READ | PROT_WRITE);
  unsigned char present[8];
  area[0] = area[kPage] = 3;
  GIVES(madvise, "MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED", 0,
        madvise(area, kPage, MADV_NORMAL) | madvise(area, kPage, MADV_RANDOM) | madvise(area, kPage, MADV_SEQUENTIAL) |
            madvise(area, kPage, MADV_WILLNEED));
  GIVES(madvise, "MADV_DONTNEED", 0, madvise(area, kPage, MADV_DONTNEED));
  GIVES(madvise, "MADV_DONTNEED makes zeros", 0, area[0]);
  GIVES(madvise, "MADV_DONTNEED leaves its neighbour", 3, area[kPage]);
  GIVES(madvise, "MADV_FREE", 0, madvise(area, kPage, MADV_FREE));
  GIVES(madvise, "no length", 0, madvise(area, 0, MADV_NORMAL));
  FAILS(madvise, "not at a page", EINVAL, madvise(area + 5, kPage, MADV_NORMAL));
  FAILS(madvise, "advice that is unknown", EINVAL, madvise(area, kPage, 7777));
  FAILS(madvise, "a negative length", EINVAL, madvise(area, ~0ul - kPage, MADV_DONTNEED));
  GIVES(mincore, "a page that was touched", 1, mincore(area + kPage, kPage, present) == 0 ? present[0] & 1 : -1);
  GIVES(mincore, "a page that was not", 0, mincore(area + 3 * kPage, kPage, present) == 0 ? present[0] & 1 : -1);
  FAILS(mincore, "not at a page", EINVAL, mincore(area + 5, kPage, present));
  FAILS(mincore, "to where nothing can be written", EFAULT, mincore(area, kPage, nowhere));
  GIVES(msync, "MS_SYNC", 0, msync(area, 2 * kPage, MS_SYNC));
  GIVES(msync, "MS_ASYNC and MS_INVALIDATE", 0, msync(area, 2 * kPage, MS_ASYNC | MS_INVALIDATE));
  FAILS(msync, "MS_SYNC and MS_ASYNC", EINVAL, msync(area, kPage, MS_SYNC | MS_ASYNC));
  FAILS(msync, "a flag that is unknown", EINVAL, msync(area, kPage, 77 << 8));
  FAILS(msync, "not at a page", EINVAL, msync(area + 5, kPage, MS_SYNC));
  setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){16 * kPage, 16 * kPage});
  GIVES(mlock, "pages", 0, mlock(area, 2 * kPage));
  GIVES(mlock, "not at a page", 0, mlock(area + 5, 10));
  FAILS(msync, "MS_INVALIDATE of locked pages", EBUSY, msync(area, kPage, MS_INVALIDATE));
  FAILS(madvise, "MADV_DONTNEED of locked pages", EINVAL, madvise(area, kPage, MADV_DONTNEED));
  GIVES(munlock, "pages", 0, munlock(area, 2 * kPage));
  GIVES(munlock, "pages that are not locked", 0, munlock(area, 2 * kPage));
  char* many = pages(32, PROT_READ | PROT_WRITE);
  FAILS(mlock, "more than RLIMIT_MEMLOCK", ENOMEM, mlock(many, 32 * kPage));
  FAILS(mlock2, "more than RLIMIT_MEMLOCK", ENOMEM, syscall(SYS_mlock2, many, 32 * kPage, 0));
  FAILS(mlock, "a length that overflows", EINVAL, mlock(area, ~0ul - kPage));
  FAILS(munlock, "a length that overflows", EINVAL, munlock(area, ~0ul - kPage));
  GIVES(mlock2, "MLOCK_ONFAULT", 0, syscall(SYS_mlock2, area, kPage, 1));
  FAILS(mlock2, "a flag that is unknown", EINVAL, syscall(SYS_mlock2, area, kPage, 2));
  FAILS(mlockall, "no flags", EINVAL, mlockall(0));
  FAILS(mlockall, "a flag that is unknown", EINVAL, mlockall(77));
  FAILS(mlockall, "MCL_ONFAULT alone", EINVAL, mlockall(MCL_ONFAULT));
  FAILS(mlockall, "more than RLIMIT_MEMLOCK", ENOMEM, mlockall(MCL_CURRENT));
  GIVES(mlockall, "MCL_FUTURE", 0, mlockall(MCL_FUTURE));
  GIVES(munlockall, "always", 0, munlockall());
  setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0});
  FAILS(mlock, "RLIMIT_MEMLOCK is 0", EPERM, mlock(area, kPage));
  FAILS(mlock2, "RLIMIT_MEMLOCK is 0", EPERM, syscall(SYS_mlock2, area, kPage, 0));
  FAILS(mlockall, "RLIMIT_MEMLOCK is 0", EPERM, mlockall(MCL_CURRENT));
  munmap(area + kPage, kPage);
  FAILS(madvise, "a range with a gap", ENOMEM, madvise(area, 4 * kPage, MADV_DONTNEED));
  FAILS(msync, "a range with a gap", ENOMEM, msync(area, 4 * kPage, MS_SYNC));
  FAILS(mincore, "a range with a gap", ENOMEM, mincore(area, 4 * kPage, present));
  FAILS(munlock, "a range with a gap", ENOMEM, munlock(area, 4 * kPage));
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  mapping();
  breaks();
  moving();
  protecting();
  advising();
  return 0;
}
