// SPDX-License-Identifier: Apache-2.0
// Checks of streams by the clauses of the C standard, 7.21 (C11), on files of a root; the number of the clause begins what a check is about.
#include "checking.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <wchar.h>

static char text[70000];
static FILE* fresh(const char* mode, const char* content) {
  FILE* file = fopen("file", "wb");
  fputs(content, file);
  fclose(file);
  return fopen("file", mode);
}
static int holds(const char* wanted) {
  char found[1000] = "";
  FILE* file = fopen("file", "rb");
  found[fread(found, 1, sizeof found - 1, file)] = 0;
  fclose(file);
  return strcmp(found, wanted) == 0;
}
static int prints(const char* wanted, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int size = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return size == (int)strlen(wanted) && strcmp(text, wanted) == 0;
}

static void files(void) {
  fclose(fresh("r", "x"));
  GIVES(remove, "7.21.4.1: a file", 0, remove("file"));
  FAILS(remove, "7.21.4.1: what is not there", ENOENT, remove("file"));
  fclose(fresh("r", "x"));
  GIVES(rename, "7.21.4.2: a file", 0, rename("file", "renamed"));
  FAILS(rename, "7.21.4.2: what is not there", ENOENT, rename("file", "other"));
  FILE* temporary = tmpfile();
  GIVES(tmpfile, "7.21.4.3: it can be written and read", 'x',
        temporary ? (fputc('x', temporary), rewind(temporary), fgetc(temporary)) : -1);
  if (temporary) fclose(temporary);
  FAILS(fopen, "7.21.5.3: r of what is not there", ENOENT, fopen("none", "r") ? 0 : -1);
  FAILS(fopen, "7.21.5.3: r+ of what is not there", ENOENT, fopen("none", "r+") ? 0 : -1);
  FAILS(fopen, "7.21.5.3: a mode that is unknown", EINVAL, fopen("renamed", "q") ? 0 : -1);
  FAILS(fopen, "7.21.5.3: wx of what is there", EEXIST, fopen("renamed", "wx") ? 0 : -1);
  FAILS(fopen, "7.21.5.3: another's file for writing", EACCES, fopen("/mnt/theirs/readable", "w") ? 0 : -1);
  FILE* file = fresh("w", "before");
  fputs("new", file), fclose(file);
  GIVES(fopen, "7.21.5.3: w cuts it off", 1, holds("new"));
  file = fresh("a", "before");
  fseek(file, 0, SEEK_SET);
  fputs(" after", file), fclose(file);
  GIVES(fopen, "7.21.5.3: a writes at the end, wherever it is", 1, holds("before after"));
  file = fresh("r+", "before");
  fputs("BE", file), fclose(file);
  GIVES(fopen, "7.21.5.3: r+ writes at the beginning", 1, holds("BEfore"));
  file = fresh("w+", "before");
  GIVES(fopen, "7.21.5.3: w+ reads what it has written", 'q', (fputs("q", file), rewind(file), fgetc(file)));
  fclose(file);
  file = fresh("a+", "before");
  GIVES(fopen, "7.21.5.3: a+ reads from the beginning", 'b', (rewind(file), fgetc(file)));
  fclose(file);
  file = fresh("r", "before");
  FAILS(fputc, "7.21.7.3: a stream for reading", EBADF, fputc('x', file) == EOF ? -1 : 0);
  GIVES(ferror, "7.21.10.3: after an error", 1, ferror(file) != 0);
  GIVES(clearerr, "7.21.10.1: clears it", 0, (clearerr(file), ferror(file)));
  GIVES(fclose, "7.21.5.1: 0 if it succeeds", 0, fclose(file));
  file = fopen("renamed", "w");
  FAILS(fgetc, "7.21.7.1: a stream for writing", EBADF, fgetc(file) == EOF ? -1 : 0);
  fclose(file);
  file = fresh("w", "");
  fputs("part", file);
  GIVES(fflush, "7.21.5.2: not before it is written", 1, holds(""));
  GIVES(fflush, "7.21.5.2: a stream", 1, fflush(file) == 0 && holds("part"));
  fputs("more", file);
  GIVES(fflush, "7.21.5.2: all streams", 1, fflush(NULL) == 0 && holds("partmore"));
  file = freopen("renamed", "w", file);
  fputs("re", file), fclose(file);
  GIVES(freopen, "7.21.5.4: another file", 1, holds("partmore"));
  file = fresh("w", "");
  GIVES(setvbuf, "7.21.5.6: _IONBF", 1, setvbuf(file, NULL, _IONBF, 0) == 0 && fputc('x', file) == 'x' && holds("x"));
  fclose(file);
  file = fresh("w", "");
  static char buffer[1024];
  setvbuf(file, buffer, _IOLBF, sizeof buffer);
  fputs("a line, ", file);
  GIVES(setvbuf, "7.21.5.6: _IOLBF, before the end of the line", 1, holds(""));
  fputs("its end\n", file);
  GIVES(setvbuf, "7.21.5.6: _IOLBF, after it", 1, holds("a line, its end\n"));
  fclose(file);
  file = fresh("w", "");
  setvbuf(file, buffer, _IOFBF, 16);
  GIVES(setvbuf, "7.21.5.6: _IOFBF, when it is full", 1,
        (fputs("0123456789abcdefgh", file), holds("0123456789abcdef") || holds("0123456789abcdefgh")));
  fclose(file);
  setbuf(file = fresh("w", ""), NULL);
  GIVES(setbuf, "7.21.5.5: no buffer", 1, fputc('y', file) == 'y' && holds("y"));
  fclose(file);
  file = fopen("/dev/full", "w");
  fputs("x", file);
  FAILS(fflush, "7.21.5.2: a device that is full", ENOSPC, fflush(file));
  fclose(file);
}

static void characters(void) {
  FILE* file = fresh("r+", "line one\nline two\nno end");
  GIVES(fgets, "7.21.7.2: a line with its end", 0, strcmp(fgets(text, 100, file), "line one\n"));
  GIVES(fgets, "7.21.7.2: a part of a line", 0, strcmp(fgets(text, 5, file), "line"));
  GIVES(getc, "7.21.7.5: the next", ' ', getc(file));
  GIVES(ungetc, "7.21.7.10: is read next", '#', (ungetc('#', file), fgetc(file)));
  GIVES(ungetc, "7.21.7.10: then what was there", 't', fgetc(file));
  GIVES(ungetc, "7.21.7.10: EOF is not pushed back", EOF, ungetc(EOF, file));
  fgets(text, 100, file);
  GIVES(fgets, "7.21.7.2: the last line without an end", 0, strcmp(fgets(text, 100, file), "no end"));
  GIVES(fgets, "7.21.7.2: a null pointer at the end", 1, fgets(text, 100, file) == NULL);
  GIVES(fgets, "7.21.7.2: which leaves the array", 0, strcmp(text, "no end"));
  GIVES(feof, "7.21.10.2: at the end", 1, feof(file) != 0);
  GIVES(ungetc, "7.21.7.10: clears the end", 0, (ungetc('x', file), feof(file)));
  GIVES(fgetc, "7.21.7.1: EOF at the end", EOF, (fgetc(file), fgetc(file)));
  fclose(file);
  file = fresh("r", "\377x");
  GIVES(fgetc, "7.21.7.1: an unsigned char", 255, fgetc(file));
  fclose(file);
  file = fresh("w", "");
  GIVES(fputc, "7.21.7.3: what was written", 'a', fputc('a', file));
  GIVES(putc, "7.21.7.7: what was written", 200, putc(200 + 256, file));
  GIVES(fputs, "7.21.7.4: not negative", 1, fputs("bc", file) >= 0);
  fclose(file);
  GIVES(fputs, "7.21.7.4: without the end of the string", 1, holds("a\310bc"));
  // Blocks and positions.
  file = fresh("r", "0123456789");
  GIVES(fread, "7.21.8.1: whole elements", 3, fread(text, 3, 5, file));
  GIVES(fread, "7.21.8.1: at the end", 0, fread(text, 1, 5, file));
  GIVES(fread, "7.21.8.1: elements of size 0", 0, fread(text, 0, 5, file));
  GIVES(rewind, "7.21.9.5: clears the end", 0, (rewind(file), feof(file)));
  GIVES(ftell, "7.21.9.4: after reading", 4, (fread(text, 1, 4, file), ftell(file)));
  GIVES(fseek, "7.21.9.2: SEEK_CUR", '6', fseek(file, 2, SEEK_CUR) == 0 ? fgetc(file) : -1);
  GIVES(fseek, "7.21.9.2: SEEK_END", '8', fseek(file, -2, SEEK_END) == 0 ? fgetc(file) : -1);
  GIVES(fseek, "7.21.9.2: undoes ungetc()", '1', (ungetc('#', file), fseek(file, 1, SEEK_SET)) == 0 ? fgetc(file) : -1);
  FAILS(fseek, "7.21.9.2: before the beginning", EINVAL, fseek(file, -1, SEEK_SET));
  fpos_t position;
  fgetpos(file, &position);
  GIVES(fsetpos, "7.21.9.3: where fgetpos() was", '2',
        (fseek(file, 0, SEEK_END), fsetpos(file, &position)) == 0 ? fgetc(file) : -1);
  fclose(file);
  file = fresh("w+", "");
  GIVES(fwrite, "7.21.8.2: whole elements", 3, fwrite("abcdefghi", 3, 3, file));
  GIVES(fwrite, "7.21.8.2: elements of size 0", 0, fwrite("abc", 0, 3, file));
  fseek(file, 20, SEEK_SET), fputc('!', file), rewind(file);
  GIVES(fseek, "7.21.9.2: behind the end, a gap of zeros", 0,
        (fread(text, 1, 21, file), memcmp(text + 9, "\0\0\0\0\0\0\0\0\0\0\0!", 12)));
  GIVES(fseek, "7.21.5.3: between reading and writing", 'X',
        (fseek(file, 3, SEEK_SET), fputc('X', file), fseek(file, 3, SEEK_SET), fgetc(file)));
  fclose(file);
  memset(text, 'z', sizeof text);
  file = fresh("w+", "");
  GIVES(fwrite, "7.21.8.2: more than a buffer", sizeof text, fwrite(text, 1, sizeof text, file));
  rewind(file);
  memset(text, 0, sizeof text);
  GIVES(fread, "7.21.8.1: more than a buffer", sizeof text, fread(text, 1, sizeof text, file));
  GIVES(fread, "7.21.8.1: the bytes", 'z' + 'z', text[0] + text[sizeof text - 1]);
  fclose(file);
  FAILS(fseek, "7.21.9.2: a pipe", ESPIPE, fseek(stdin, 0, SEEK_SET));
  GIVES(getchar, "7.21.7.6: the standard input", 't', getchar());
  GIVES(scanf, "7.21.6.4: the standard input", 1, scanf("%s", text));
  GIVES(scanf, "7.21.6.4: the word", 0, strcmp(text, "he"));
  GIVES(perror, "7.21.10.4: writes to the standard error", 3,
        (freopen("file", "w", stderr), errno = ENOENT, perror("x"), fflush(stderr),
         holds("x: No such file or directory\n") ? 3 : 0));
  file = fresh("r", "wide");
  GIVES(fwide, "7.29.3.5: no orientation at first", 0, fwide(file, 0));
  GIVES(fgetwc, "7.29.3.1: a wide character", L'w', fgetwc(file));
  GIVES(fwide, "7.29.3.5: wide", 1, fwide(file, 0) > 0);
  fclose(file);
}

static void formats(void) {
  GIVES(snprintf, "7.21.6.5: what there would be", 10, snprintf(text, 5, "%s", "0123456789"));
  GIVES(snprintf, "7.21.6.5: what there is", 0, strcmp(text, "0123"));
  GIVES(snprintf, "7.21.6.5: nowhere, of size 0", 3, snprintf(NULL, 0, "abc"));
#define PRINTS(about, ...) GIVES(fprintf, "7.21.6.1: " about, 1, prints(__VA_ARGS__))
  PRINTS("d, i", "42 -42 2147483647", "%d %i %d", 42, -42, INT_MAX);
  PRINTS("u, o, x, X", "4294967295 777 ff FF", "%u %o %x %X", UINT_MAX, 0777, 255, 255);
  PRINTS("h, hh, l, ll, j, z, t", "-1 -1 -1 -1 -1 7 -7", "%hd %hhd %ld %lld %jd %zu %td", (short)-1, (signed char)-1,
         -1L, -1LL, (intmax_t)-1, (size_t)7, (ptrdiff_t)-7);
  PRINTS("width and -", "[   42][42   ]", "[%5d][%-5d]", 42, 42);
  PRINTS("width of an argument", "[   42][42   ]", "[%*d][%*d]", 5, 42, -5, 42);
  PRINTS("0", "[00042][-0042]", "[%05d][%05d]", 42, -42);
  PRINTS("+ and space", "+42 -42  42", "%+d %+d % d", 42, -42, 42);
  PRINTS("#", "0x2a 052 1.", "%#x %#o %#.0f", 42, 42, 1.0);
  PRINTS("a precision of integers", "[00042][   042]", "[%.5d][%6.3d]", 42, 42);
  PRINTS("a precision of 0 and the value 0", "[]", "[%.0d]", 0);
  PRINTS("s and its precision", "abc [ab] [   ab]", "%s [%.2s] [%5.2s]", "abc", "abc", "abc");
  PRINTS("c, %", "x%", "%c%%", 'x');
  PRINTS("n", "abc", "abc%n", &(int){0});
  PRINTS("f", "3.141593 3.14 -0.500000 100000000.0", "%f %.2f %f %.1f", 3.14159265, 3.14159265, -0.5, 1e8);
  PRINTS("e, E", "3.141593e+00 1.0E-10", "%e %.1E", 3.14159265, 1e-10);
  PRINTS("g, G", "100000 1e+06 0.0001 1E-05", "%g %g %g %G", 1e5, 1e6, 1e-4, 1e-5);
  PRINTS("a", "0x1p+0 0x1.8p+1 -0x1p-10", "%a %a %a", 1.0, 3.0, -0.0009765625);
  PRINTS("inf, nan", "inf -inf INF nan", "%f %f %F %f", INFINITY, -INFINITY, INFINITY, NAN);
  PRINTS("rounds to even", "0 2 2 0.12 0.38", "%.0f %.0f %.0f %.2f %.2f", 0.5, 1.5, 2.5, 0.125, 0.375);
  PRINTS("all digits of a double", "0.1000000000000000055511151231257827", "%.34f", 0.1);
  PRINTS("L", "1.500000", "%Lf", 1.5L);
  PRINTS("the largest double", "1.797693e+308", "%e", 1.7976931348623157e308);
  int number_read = 0, second = 0, at = 0;
  double real = 0;
  char word[20] = "", set[20] = "";
#define SCANS(about, value, ...) GIVES(fscanf, "7.21.6.2: " about, value, sscanf(__VA_ARGS__))
  SCANS("d", 1, " 42", "%d", &number_read);
  GIVES(fscanf, "7.21.6.2: its value", 42, number_read);
  SCANS("i in three bases", 2, "0x1f 010", "%i %i", &number_read, &second);
  GIVES(fscanf, "7.21.6.2: their values", 31 + 8, number_read + second);
  SCANS("a width", 2, "12345", "%2d%d", &number_read, &second);
  GIVES(fscanf, "7.21.6.2: the parts", 12 + 345, number_read + second);
  SCANS("* takes nothing", 1, "1 2", "%*d %d", &number_read);
  SCANS("s ends at white space", 1, "word next", "%19s", word);
  GIVES(fscanf, "7.21.6.2: the word", 0, strcmp(word, "word"));
  SCANS("a set", 1, "aabbc", "%19[ab]", set);
  GIVES(fscanf, "7.21.6.2: what is in the set", 0, strcmp(set, "aabb"));
  SCANS("a set of what is not", 1, "aabb,c", "%19[^,]", set);
  SCANS("c does not skip", 1, " x", "%c", word);
  SCANS("f", 1, "-1.5e3", "%lf", &real);
  GIVES(fscanf, "7.21.6.2: its value times 10", -15000, real * 10);
  SCANS("hexadecimal floating", 1, "0x1.8p1", "%lf", &real);
  SCANS("inf", 1, "infinity", "%lf", &real);
  SCANS("n", 1, "12 rest", "%d%n", &number_read, &at);
  GIVES(fscanf, "7.21.6.2: how many characters", 2, at);
  SCANS("what does not match", 0, "x", "%d", &number_read);
  SCANS("the end before a conversion", EOF, "", "%d", &number_read);
  SCANS("text that must be there", 1, "a=5", "a=%d", &number_read);
}

int main(void) {
  files();
  characters();
  formats();
  return 0;
}
