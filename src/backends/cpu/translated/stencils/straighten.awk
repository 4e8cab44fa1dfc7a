# SPDX-License-Identifier: Apache-2.0
# Straightens the jumps of stencils, in the assembly that clang makes of stencils.cpp, so that the path that is taken most runs
# through to the jump at the end, which the code writer leaves out:
#   jCC to a jump to a hole             becomes a jCC to the hole
#   jCC hole_next, jmp to another hole  becomes jNCC to the other hole, jmp hole_next
BEGIN {
  split("e ne b ae be a l ge le g s ns o no p np", conditions, " ")
  for (i = 1; i in conditions; i += 2) {
    inverse["j" conditions[i]] = "j" conditions[i + 1]
    inverse["j" conditions[i + 1]] = "j" conditions[i]
  }
}
{ line[NR] = $0; operation[NR] = $1; target[NR] = $2 }
function is_code(i) { return line[i] ~ /^\t[a-z]/ }
function next_code(i) {
  for (i++; i <= NR && !is_code(i) && line[i] !~ /^\t\./; i++);
  return i
}
END {
  for (i = 1; i <= NR; i++) {
    if (line[i] ~ /^\.L[A-Za-z0-9_]*:/) {
      label = line[i]
      sub(/:.*/, "", label)
      code = next_code(i)
      if (operation[code] == "jmp" && target[code] ~ /^hole_/) leads_to[label] = target[code]
    }
  }
  before = 0  # the last instruction that was printed; islands behind a jump or a return are reached by no other way
  for (i = 1; i <= NR; i++) {
    if (is_code(i) && operation[i] ~ /^j/ && target[i] in leads_to) target[i] = leads_to[target[i]]
    label = line[i]
    sub(/:.*/, "", label)
    if (label in leads_to && (operation[before] == "jmp" || operation[before] ~ /^ret/)) {
      i = next_code(i)
      continue
    }
    if (is_code(i) && operation[i] in inverse && target[i] == "hole_next") {
      code = next_code(i)
      if (operation[code] == "jmp" && target[code] ~ /^hole_/) {
        print "\t" inverse[operation[i]] "\t" target[code] "\n\tjmp\thole_next"
        before = i = code
        continue
      }
    }
    if (is_code(i)) before = i
    if (is_code(i) && operation[i] ~ /^j/) {
      print "\t" operation[i] "\t" target[i]
    } else {
      print line[i]
    }
  }
}
