# SPDX-License-Identifier: Apache-2.0
# What bash has beyond other shells: arrays, traps, coprocesses of none, regular expressions, name references, brace expansion.
set -o pipefail
declare -a list=(zero one "two words" three)
declare -A map=([red]=ff0000 [green]=00ff00 [blue]=0000ff)
list+=(four)
unset 'list[1]'
echo "${#list[@]} ${!list[@]} ${list[@]:1:2} ${list[-1]}"
for key in $(printf '%s\n' "${!map[@]}" | sort); do echo "$key ${map[$key]}"; done
matrix=()
for i in {0..3}; do for j in {0..3}; do matrix[i * 4 + j]=$((i * j)); done; done
echo "${matrix[*]}"
sorted=($(printf '%s\n' 5 3 9 1 | sort -n))
echo "${sorted[*]}"
mapfile -t lines < text
echo "${#lines[@]} ${lines[2]}"
trap 'echo "error in line of status $?"' ERR
false
trap - ERR
trap 'echo debug >> debug-log' DEBUG
:
trap - DEBUG
wc -l < debug-log
trap 'echo exit with $?' EXIT
declare -n reference=list
echo "${reference[0]}"
if [[ "2026-11-25" =~ ^([0-9]+)-([0-9]+)-([0-9]+)$ ]]; then echo "${BASH_REMATCH[@]:1}"; fi
[[ abc == a* && ! abc == b* ]] && echo matched
text='The quick brown fox'
echo "${text^^} ${text,,} ${text/quick/slow} ${text//o/0} ${text:4:5}"
printf -v padded '%08.3f' 3.14159
echo "$padded"
echo {a,b}{1,2} {01..05}
factorial() {
  local n=$1
  if ((n < 2)); then echo 1; else echo $((n * $(factorial $((n - 1))))); fi
}
factorial 10
while IFS=: read -r a b c; do echo "$c-$b-$a"; done <<< $'1:2:3\n4:5:6'
false | true | false
echo "pipe ${PIPESTATUS[@]}"
select_one() { case $1 in [0-9]*) echo number ;;& *5) echo ends with five ;; esac; }
select_one 15
echo $((2 ** 40)) $((0xff)) $((8#17)) $((5 / 2)) $((-5 % 3)) $((1 << 20))
shopt -s extglob nullglob
echo many/f11+([0-9]) many/nothing*
read -r -d '' long << 'END'
several
lines
END
echo "$long" | tac
ulimit -n > /dev/null && echo limits
type -t factorial echo ls if
declare -p map | tr ' ' '\n' | sort | head -n 3
time_format=$(TIMEFORMAT=; { time true; } 2>&1)
echo "[$time_format]"
getopts_test() {
  local option OPTIND
  while getopts ab:c option; do echo "option $option ${OPTARG-}"; done
  shift $((OPTIND - 1))
  echo "rest $*"
}
getopts_test -a -b value -c rest of it
(trap 'echo inner' EXIT; exit 3)
echo "status $?"
bash -c 'echo "$0 $# $1"' name argument
exit 9
