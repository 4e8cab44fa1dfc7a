// SPDX-License-Identifier: Apache-2.0
// For a compiler: loops that become vectors, structures, recursion, floating point, a switch, tables.
struct point { double x, y; };
typedef unsigned long word;
static const char* const names[] = {"zero", "one", "two", "three"};
int puts(const char* text);
word gcd(word a, word b) { return b == 0 ? a : gcd(b, a % b); }
void add(float* restrict a, const float* restrict b, int n) {
  for (int i = 0; i < n; i++) a[i] += b[i] * 1.5f;
}
double area(const struct point* p, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    const struct point a = p[i], b = p[(i + 1) % n];
    sum += a.x * b.y - b.x * a.y;
  }
  return sum < 0 ? -sum / 2 : sum / 2;
}
int classify(int c) {
  switch (c) {
    case 'a': case 'e': case 'i': case 'o': case 'u': return 1;
    case ' ': case '\t': case '\n': return 2;
    case '0' ... '9': return 3 + c - '0';
    default: return 0;
  }
}
word popcount(word x) {
  word n = 0;
  while (x) n++, x &= x - 1;
  return n;
}
int sort(int* a, int n) {
  int swaps = 0;
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && a[k - 1] > a[k]; k--) {
      const int kept = a[k];
      a[k] = a[k - 1], a[k - 1] = kept;
      swaps++;
    }
  return swaps;
}
__attribute__((noinline)) static unsigned crc(const unsigned char* p, word n) {
  unsigned c = ~0u;
  for (; n; n--, p++) {
    c ^= *p;
    for (int i = 0; i < 8; i++) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
  }
  return ~c;
}
int main(int count, char** given) {
  int numbers[] = {5, 2, 9, 1};
  puts(names[sort(numbers, 4) & 3]);
  for (int i = 1; i < count; i++) puts(given[i]);
  return (int)(gcd(48, 36) + popcount(255) + crc((const unsigned char*)"x", 1) % 3);
}
