// SPDX-License-Identifier: Apache-2.0
// Four sorting algorithms on the same random numbers must agree.
#include "guest.h"

enum { kCount = 1500 };
static uint32_t original[kCount], sorted[4][kCount], scratch[kCount];

static void quicksort(uint32_t* v, int left, int right) {
  while (left < right) {
    uint32_t pivot = v[left + (right - left) / 2];
    int i = left, j = right;
    while (i <= j) {
      while (v[i] < pivot) i++;
      while (v[j] > pivot) j--;
      if (i > j) break;
      uint32_t t = v[i];
      v[i++] = v[j];
      v[j--] = t;
    }
    quicksort(v, left, j);
    left = i;
  }
}

static void heapsort(uint32_t* v, int count) {
  for (int end = count, start = count / 2; end > 1;) {
    uint32_t moved;
    if (start > 0) {
      moved = v[--start];
    } else {
      moved = v[--end];
      v[end] = v[0];
    }
    int hole = start;
    for (int child; (child = 2 * hole + 1) < end; hole = child) {
      if (child + 1 < end && v[child + 1] > v[child]) child++;
      if (v[child] <= moved) break;
      v[hole] = v[child];
    }
    v[hole] = moved;
  }
}

static void mergesort(uint32_t* v, int count) {
  if (count < 2) return;
  int half = count / 2, i = 0, j = half, out = 0;
  mergesort(v, half);
  mergesort(v + half, count - half);
  while (i < half && j < count) scratch[out++] = v[i] <= v[j] ? v[i++] : v[j++];
  while (i < half) scratch[out++] = v[i++];
  memcpy(v, scratch, (size_t)out * sizeof *v);
}

static void radix_sort(uint32_t* v, int count) {
  for (int shift = 0; shift < 32; shift += 8) {
    int starts[257] = {0};
    for (int i = 0; i < count; i++) starts[(v[i] >> shift & 255) + 1]++;
    for (int i = 0; i < 256; i++) starts[i + 1] += starts[i];
    for (int i = 0; i < count; i++) scratch[starts[v[i] >> shift & 255]++] = v[i];
    memcpy(v, scratch, (size_t)count * sizeof *v);
  }
}

int main(int argc, char** argv) {
  Random random = {argument(argc, argv, 1, 0)};
  for (int i = 0; i < kCount; i++) original[i] = (uint32_t)next_random(&random) >> (i % 24);
  for (int k = 0; k < 4; k++) memcpy(sorted[k], original, sizeof original);
  quicksort(sorted[0], 0, kCount - 1);
  heapsort(sorted[1], kCount);
  mergesort(sorted[2], kCount);
  radix_sort(sorted[3], kCount);
  int wrong = 0;
  for (int i = 0; i < kCount; i++) {
    if (i > 0 && sorted[0][i - 1] > sorted[0][i]) wrong++;
    for (int k = 1; k < 4; k++) wrong += sorted[k][i] != sorted[0][i];
  }
  print("sorted %d numbers: smallest %u, median %u, largest %u\n", kCount, sorted[0][0], sorted[0][kCount / 2],
        sorted[0][kCount - 1]);
  print("wrong %d\nchecksum %016lx\n", wrong, hash_bytes(kHashStart, sorted[0], sizeof sorted[0]));
  return wrong != 0;
}
