// SPDX-License-Identifier: Apache-2.0
// A dynamic program: what it was given, and what the kernel tells it about itself.
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

extern const char __executable_start[];
extern void _start(void);
extern char** environ;

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) printf("argument %d: %s\n", i, argv[i]);
  printf("variable: %s\n", getenv("GREETING") ? getenv("GREETING") : "none");
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)__executable_start;
  printf("headers: %d, %lu of %lu bytes\n", getauxval(AT_PHDR) == (unsigned long)__executable_start + header->e_phoff,
         getauxval(AT_PHNUM), getauxval(AT_PHENT));
  printf("entry: %d\n", getauxval(AT_ENTRY) == (unsigned long)_start);
  const char* loader = (const char*)getauxval(AT_BASE);
  printf("loader: %d\n", loader != NULL && loader[0] == 0x7f && loader[1] == 'E');
  printf("page: %lu\n", getauxval(AT_PAGESZ));
  char line[100];
  int lines = 0;
  while (fgets(line, sizeof line, stdin)) lines++;
  printf("%d lines\n", lines);
  fprintf(stderr, "%d variables\n", environ[0] != NULL);
  return 7;
}
