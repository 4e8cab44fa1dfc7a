# SPDX-License-Identifier: Apache-2.0
# Sums, arrays, strings, formats and functions of awk.
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) }
function reverse(text,   i, result) {
  for (i = length(text); i > 0; i--) result = result substr(text, i, 1)
  return result
}
BEGIN { FS = " "; print fibonacci(15), reverse("reversed"), toupper("abc"), index("haystack", "st") }
{ sum += $2; count[$2 % 10]++; if ($2 > most) most = $2 }
END {
  printf "%d lines, sum %d, mean %.3f, most %d\n", NR, sum, sum / NR, most
  for (i = 0; i < 10; i++) printf "%d:%d ", i, count[i]
  print ""
  n = split("one,two,three", parts, ",")
  for (i = n; i > 0; i--) printf "%s ", parts[i]
  print ""
  text = "aaa bbb ccc"
  print gsub(/b/, "[&]", text), text, match(text, /c+/), RSTART, RLENGTH
  print substr("hello", 2, 3), sprintf("%c%c", 72, "i"), 7 % 3, 2 ^ 10, int(-3.7), 1e6, 0.1 + 0.2
  printf "%.6f %.6f %.6f %.6f\n", sin(1), exp(1), log(10), atan2(1, 2)
}
