# SPDX-License-Identifier: Apache-2.0
# A script for any shell: pipes, subshells, functions, traps, here documents, redirections, lists, expansions.
set -u
total=0
for word in alpha beta gamma delta; do
  length=$(printf %s "$word" | wc -c)
  total=$((total + length))
done
echo "total $total"
printf 'b 2\na 1\nc 3\na 0\n' | sort | while read -r key value; do echo "$key=$value"; done | tail -n 3
(cd sub && pwd && ls | sort)
pwd
(exit 5)
echo "subshell $?"
outer=1
(outer=2; echo "in $outer")
echo "out $outer"
join() {
  result=
  for part in "$@"; do result="$result${result:+,}$part"; done
  echo "$result"
}
join one 'two words' three
cat <<END | tr a-z A-Z
text $(join x y) and $((6 * 7))
END
cat <<'END'
$nothing is expanded
END
trap 'echo leaving' EXIT
trap 'echo got a signal' USR1
kill -USR1 $$
{ echo first; echo second >&2; } 2>&1 | sed 's/^/> /'
seq 1 100 | grep 7 | head -n 4 | paste -s -d +
echo "$(echo "$(echo "$(echo deep)")")"
name=/a/b/c.tar.gz
echo "${name##*/} ${name%%.*} ${name%.*} ${#name} ${other:-default}"
case $name in *.zip) echo zip ;; *.gz | *.xz) echo compressed ;; esac
sleep 0 &
wait $!
echo "waited $?"
i=0
until [ $i -ge 3 ]; do i=$((i + 1)); [ $i -eq 2 ] && continue; echo "i $i"; done
echo to a file > new && cat new new | wc -l
exec 3< text
read -r line <&3
read -r line <&3
echo "second line $line"
exec 3<&-
find many -name 'f1*' | sort | head -n 3 | xargs -n 1 basename
yes | head -n 1000 | wc -l
cat /nonexistent 2> /dev/null || echo missing
false | true
echo "pipe $?"
eval 'echo evaluated $total'
set -- x y z
shift
echo "$# $*"
printf '%05d|%-6s|%x\n' 42 ab 255
