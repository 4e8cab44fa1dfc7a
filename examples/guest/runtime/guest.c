// SPDX-License-Identifier: Apache-2.0
// The runtime of guest.h. Compile it with -ffreestanding and -fno-tree-loop-distribute-patterns, or the compiler
// turns the loop in memcpy into a call of memcpy.
#include "guest.h"

int main(int argc, char** argv);

char** environ;
static const uint64_t* auxiliary_vector;

long system_call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory", "cc");
  return x0;
}

long write(int file, const void* bytes, size_t size) {
  return system_call(kSysWrite, file, (long)bytes, (long)size);
}

long read(int file, void* bytes, size_t size) { return system_call(kSysRead, file, (long)bytes, (long)size); }

void exit(int status) {
  flush();
  for (;;) system_call(kSysExitGroup, status, 0, 0);
}

uint64_t nanoseconds(void) {
  int64_t time[2] = {0, 0};
  system_call(kSysClockGettime, 1, (long)time, 0);
  return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}

void __attribute__((noreturn, used)) guest_start(uint64_t* stack) {
  int argc = (int)stack[0];
  char** argv = (char**)(stack + 1);
  environ = argv + argc + 1;
  char** end = environ;
  while (*end) end++;
  auxiliary_vector = (const uint64_t*)(end + 1);
  exit(main(argc, argv));
}

const char* getenv(const char* name) {
  size_t size = strlen(name);
  for (char** entry = environ; *entry; entry++)
    if (memcmp(*entry, name, size) == 0 && (*entry)[size] == '=') return *entry + size + 1;
  return NULL;
}

uint64_t auxiliary(uint64_t type) {
  for (const uint64_t* entry = auxiliary_vector; entry[0]; entry += 2)
    if (entry[0] == type) return entry[1];
  return 0;
}

uint64_t argument(int argc, char** argv, int index, uint64_t otherwise) {
  if (index < argc && argv[index][0] >= '0' && argv[index][0] <= '9') return parse_number(argv[index]);
  const char* lane = index == 1 ? getenv("MYRIARM_LANE") : NULL;
  return lane ? parse_number(lane) : otherwise;
}

uint64_t parse_number(const char* text) {
  uint64_t value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + (uint64_t)(*text++ - '0');
  return value;
}

static char out_buffer[2048];
static size_t out_size;

void flush(void) {
  size_t done = 0;
  while (done < out_size) {
    long wrote = write(1, out_buffer + done, out_size - done);
    if (wrote <= 0) break;
    done += (size_t)wrote;
  }
  out_size = 0;
}

static void put_char(char c) {
  if (out_size == sizeof out_buffer) flush();
  out_buffer[out_size++] = c;
}

void put_bytes(const void* bytes, size_t size) {
  const char* p = bytes;
  for (size_t i = 0; i < size; i++) put_char(p[i]);
}

void put_hex(const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    put_char("0123456789abcdef"[bytes[i] >> 4]);
    put_char("0123456789abcdef"[bytes[i] & 15]);
  }
}

static void put_number(uint64_t value, unsigned base, bool negative, int width, char pad) {
  char digits[24];
  int count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value);
  int room = width - count - negative;
  if (negative && pad == '0') put_char('-');
  for (; room > 0; room--) put_char(pad);
  if (negative && pad != '0') put_char('-');
  while (count) put_char(digits[--count]);
}

void print(const char* format, ...) {
  va_list list;
  va_start(list, format);
  for (; *format; format++) {
    if (*format != '%') {
      put_char(*format);
      continue;
    }
    format++;
    char pad = ' ';
    int width = 0;
    bool is_long = false;
    if (*format == '0') pad = *format++;
    while (*format >= '0' && *format <= '9') width = width * 10 + (*format++ - '0');
    while (*format == 'l') {
      is_long = true;
      format++;
    }
    if (*format == 'd') {
      int64_t value = is_long ? va_arg(list, int64_t) : va_arg(list, int);
      put_number(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, value < 0, width, pad);
    } else if (*format == 'u' || *format == 'x') {
      uint64_t value = is_long ? va_arg(list, uint64_t) : va_arg(list, unsigned);
      put_number(value, *format == 'u' ? 10 : 16, false, width, pad);
    } else if (*format == 's') {
      const char* text = va_arg(list, const char*);
      size_t size = strlen(text);
      for (int room = width - (int)size; room > 0; room--) put_char(' ');
      put_bytes(text, size);
    } else if (*format == 'c') {
      put_char((char)va_arg(list, int));
    } else {
      put_char(*format);
    }
  }
  va_end(list);
}

void* memcpy(void* to, const void* from, size_t size) {
  uint8_t* t = to;
  const uint8_t* f = from;
  for (; size >= 8; size -= 8, t += 8, f += 8) {
    uint64_t word;
    __builtin_memcpy(&word, f, 8);
    __builtin_memcpy(t, &word, 8);
  }
  while (size--) *t++ = *f++;
  return to;
}

void* memmove(void* to, const void* from, size_t size) {
  uint8_t* t = to;
  const uint8_t* f = from;
  if (t <= f) {
    for (size_t i = 0; i < size; i++) t[i] = f[i];
  } else {
    while (size--) t[size] = f[size];
  }
  return to;
}

void* memset(void* to, int value, size_t size) {
  uint8_t* t = to;
  uint64_t word = (uint8_t)value * 0x0101010101010101u;
  for (; size >= 8; size -= 8, t += 8) __builtin_memcpy(t, &word, 8);
  while (size--) *t++ = (uint8_t)value;
  return to;
}

int memcmp(const void* a, const void* b, size_t size) {
  const uint8_t *p = a, *q = b;
  for (size_t i = 0; i < size; i++) {
    if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
  }
  return 0;
}

size_t strlen(const char* text) {
  size_t size = 0;
  while (text[size]) size++;
  return size;
}

int strcmp(const char* a, const char* b) {
  while (*a && *a == *b) a++, b++;
  return (uint8_t)*a - (uint8_t)*b;
}

// The heap. Free blocks are a list in rising order of address; `size` includes the header.
typedef struct Block {
  size_t size;
  struct Block* next;
} Block;
static Block* free_blocks;

static void insert_block(Block* block) {
  Block** place = &free_blocks;
  Block* before = NULL;
  while (*place && *place < block) {
    before = *place;
    place = &before->next;
  }
  block->next = *place;
  *place = block;
  if (block->next && (char*)block + block->size == (char*)block->next) {
    block->size += block->next->size;
    block->next = block->next->next;
  }
  if (before && (char*)before + before->size == (char*)block) {
    before->size += block->size;
    before->next = block->next;
  }
}

static bool grow_heap(size_t size) {
  static uint64_t top;
  if (!top) top = ((uint64_t)system_call(kSysBrk, 0, 0, 0) + 15) & ~(uint64_t)15;
  size_t step = (size + 0x3FFF) & ~(size_t)0x3FFF;
  if (step < size || (uint64_t)system_call(kSysBrk, (long)(top + step), 0, 0) != top + step) return false;
  Block* block = (Block*)top;
  block->size = step;
  top += step;
  insert_block(block);
  return true;
}

void* malloc(size_t size) {
  if (size > (size_t)1 << 40) return NULL;
  size_t need = (size + sizeof(Block) + 15) & ~(size_t)15;
  do {
    for (Block** place = &free_blocks; *place; place = &(*place)->next) {
      Block* block = *place;
      if (block->size < need) continue;
      if (block->size - need >= 2 * sizeof(Block)) {
        Block* rest = (Block*)((char*)block + need);
        rest->size = block->size - need;
        rest->next = block->next;
        *place = rest;
        block->size = need;
      } else {
        *place = block->next;
      }
      return block + 1;
    }
  } while (grow_heap(need));
  return NULL;
}

void free(void* block) {
  if (block) insert_block((Block*)block - 1);
}

void* realloc(void* block, size_t size) {
  void* bigger = malloc(size);
  if (block && bigger) {
    size_t old = ((Block*)block - 1)->size - sizeof(Block);
    memcpy(bigger, block, old < size ? old : size);
    free(block);
  }
  return bigger;
}

char* read_all(size_t* size) {
  size_t room = 256, count = 0;
  char* text = malloc(room);
  for (;;) {
    long got = read(0, text + count, room - count - 1);
    if (got <= 0) break;
    count += (size_t)got;
    if (room - count < 128) text = realloc(text, room *= 2);
  }
  text[count] = 0;
  *size = count;
  return text;
}
