# SPDX-License-Identifier: Apache-2.0
"""The commands of debian_test.py, by program. A line that begins with "@ " is compared with the amd64 program
of the same version, natively, since QEMU user mode would give what the command executes to the host's kernel;
all others with QEMU. Each runs in a folder of its own, as debian_folder.py makes it.
{TEXT}: a file of the root."""

from debian_busybox import BUSYBOX

PACKAGES = """busybox coreutils dash grep sed mawk gawk bc lua5.4 sqlite3 jq python3-minimal findutils
diffutils libpython3.11-stdlib bash gzip xz-utils file bzip2 zstd tar patch perl-base perl cpio
openssl ruby cpp-12 git""".split()

TEXT = "/usr/share/doc/coreutils/copyright"

COMMANDS = r"""== coreutils
/usr/bin/ls /usr/share/doc/coreutils
/usr/bin/ls -a /usr/share/doc/coreutils
/usr/bin/ls /nonexistent
/usr/bin/ls -a .
/usr/bin/ls -n --time-style=+%s text /nothing
/usr/bin/ls -lnR --time-style=+%s sub
/usr/bin/dir -C many
/usr/bin/vdir --time-style=+%s -n sub
/usr/bin/cat {TEXT}
/usr/bin/cat /nonexistent
/usr/bin/cat link
/usr/bin/cat -A text -
/usr/bin/wc {TEXT}
/usr/bin/wc
/usr/bin/sort
/usr/bin/sort -n -r
/usr/bin/sort -k 2 -t e -u large
/usr/bin/sort -o text text
/usr/bin/sort -o sorted large
/usr/bin/sort --parallel=1 -S 64K large -o sorted
/usr/bin/sha256sum /usr/lib/aarch64-linux-gnu/libc.so.6
/usr/bin/md5sum {TEXT}
/usr/bin/sha1sum text large
/usr/bin/sha224sum text
/usr/bin/sha384sum text
/usr/bin/sha512sum large
/usr/bin/b2sum large
/usr/bin/sum large
/usr/bin/cksum
/usr/bin/cksum -a sm3 large
/usr/bin/head -n 5 {TEXT}
/usr/bin/tail -n 5 {TEXT}
/usr/bin/cut -c1-3
/usr/bin/tr a-z A-Z
/usr/bin/basename /a/b/c.d .d
/usr/bin/dirname /a/b/c
/usr/bin/stat -c %n:%s:%a:%F:%Y {TEXT}
/usr/bin/stat -c %n:%s:%a:%F:%h text sub link
/usr/bin/uniq
/usr/bin/uniq text out
/usr/bin/nl
/usr/bin/od -c
/usr/bin/od -A x -t x1z -v large
/usr/bin/seq 1 20
/usr/bin/seq -f %g 0 .1 1
/usr/bin/factor 1234567890 97
/usr/bin/factor 18446744073709551557
/usr/bin/expr 3 + 4
/usr/bin/printf %s-%d abc 42
/usr/bin/echo hi there
/usr/bin/base64
/usr/bin/base32
/usr/bin/basenc --z85 large
/usr/bin/comm {TEXT} {TEXT}
/usr/bin/fold -w 5
/usr/bin/fmt
/usr/bin/pr -h title text
/usr/bin/paste - -
/usr/bin/tac
/usr/bin/tac text
/usr/bin/expand
/usr/bin/unexpand -a
/usr/bin/ptx -f text
/usr/bin/join {TEXT} {TEXT}
/usr/bin/test -f /usr/bin/ls
/usr/bin/test -r /usr/bin/nothing
/usr/bin/[ 1 -lt 2 ]
/usr/bin/readlink -f /bin/sh
/usr/bin/realpath /usr/share/doc/../doc
/usr/bin/realpath --relative-to=. link sub/../text
/usr/bin/pathchk -p text
/usr/bin/numfmt --to=iec 123456
/usr/bin/tsort
/usr/bin/shuf --random-source=large text
/usr/bin/dd if={TEXT} bs=100 count=1 status=none
/usr/bin/dd if=text of=out bs=3 count=2 status=none
/usr/bin/dd if=text of=large bs=7 seek=100 conv=notrunc status=none
/usr/bin/dd if=large of=out bs=1000 skip=2 status=none
/usr/bin/tee
/usr/bin/tee new sub/new
/usr/bin/tee -a text
/usr/bin/true
/usr/bin/false
/usr/bin/yes --version
@ /usr/bin/pwd
/usr/bin/env /usr/bin/true
@ /usr/bin/env -i A=b /usr/bin/env
/usr/bin/printenv PATH LC_ALL
@ /usr/bin/id -u
@ /usr/bin/id
@ /usr/bin/groups
@ /usr/bin/whoami
/usr/bin/logname
/usr/bin/tty
@ /usr/bin/nproc --ignore=1000
/usr/bin/arch
/usr/bin/uname -m
/usr/bin/date -u -d @1000000000 +%F-%T-%A
/usr/bin/date -u -d "2024-02-29 12:00 +1 year" +%s
@ /usr/bin/date -u +%Y
/usr/bin/sleep 0.01
@ /usr/bin/timeout 5 /usr/bin/echo in time
@ /usr/bin/timeout 0.1 /usr/bin/sleep 20
@ /usr/bin/nice -n 40 /usr/bin/nice
@ /usr/bin/nohup /usr/bin/echo hi
@ /usr/bin/stdbuf -oL /usr/bin/echo hi
/usr/bin/mktemp -u -p . --suffix=x XXXXXX
/usr/bin/touch new text
/usr/bin/touch -d @1000000000 old
/usr/bin/mkdir -p x/y/z
/usr/bin/mkdir -m 700 private
/usr/bin/mkdir sub
/usr/bin/mkfifo fifo
/usr/bin/mknod node p
/usr/bin/rmdir empty
/usr/bin/rmdir sub
/usr/bin/cp text copy
/usr/bin/cp large copy
/usr/bin/cp text sub/other
/usr/bin/cp -r sub copied
/usr/bin/cp -a sub copied
/usr/bin/cp -s text linked
/usr/bin/cp -l text linked
/usr/bin/cp --sparse=always large copy
/usr/bin/mv text renamed
/usr/bin/mv text sub
/usr/bin/mv sub moved
/usr/bin/mv -n text large
/usr/bin/mv nothing there
/usr/bin/rm text
/usr/bin/rm sub
/usr/bin/rm -r sub
/usr/bin/rm -rf many
/usr/bin/rm nothing
/usr/bin/unlink text
/usr/bin/link text hard
/usr/bin/ln text hard
/usr/bin/ln -s sub/inner soft
/usr/bin/ln -sf text link
/usr/bin/ln text large
/usr/bin/chmod 640 text
/usr/bin/chmod -R go-rwx sub
/usr/bin/chown 0 text
/usr/bin/chgrp 1000 text
/usr/bin/truncate -s 5 text
/usr/bin/truncate -s +1M text
/usr/bin/truncate -s 10G sparse
/usr/bin/install -m 600 text installed
/usr/bin/install -d a/b/c
/usr/bin/install -D text deep/er/text
/usr/bin/split -l 1 text part-
/usr/bin/split -b 1000 large
@ /usr/bin/split -n l/3 --filter=wc large
/usr/bin/csplit text 2
/usr/bin/shred -n 1 --random-source=large text
/usr/bin/sync text
/usr/bin/du -b --apparent-size text large
/usr/bin/dircolors -p
/usr/bin/df --output=target .
/usr/bin/who
/usr/bin/users
/usr/bin/stty -a
/usr/bin/hostid
@ /usr/bin/runcon
@ /usr/sbin/chroot / /usr/bin/true
== findutils
/usr/bin/find {TEXT} -printf %p:%s
/usr/bin/find . -name f1* -delete
/usr/bin/find sub -newer nothing
@ /usr/bin/dash -c 'find sub -depth -type f -printf "%p-%m-%n-%l\n" | sort'
/usr/bin/find many -name f11[0-3] -o -name f5
/usr/bin/find . -maxdepth 1 -type l
@ /usr/bin/dash -c 'find . -maxdepth 1 -size +10k -printf "%f %s\n" | sort'
/usr/bin/find -L . -samefile link
@ /usr/bin/find sub -name inner -exec /usr/bin/cat {} ;
@ /usr/bin/find many -name f1 -exec /usr/bin/echo {} +
@ /usr/bin/find sub -maxdepth 0 -execdir /usr/bin/echo {} ;
@ /usr/bin/dash -c 'find sub -regex ".*er" | sort'
@ /usr/bin/xargs echo
@ /usr/bin/xargs -n 1 echo
@ /usr/bin/xargs -I X echo <X>
@ /usr/bin/xargs -P 3 -n 2 true
@ /usr/bin/xargs -0 -a text wc
== grep
/usr/bin/grep -n o
/usr/bin/grep -c GNU {TEXT}
/usr/bin/grep -E -o [0-9]+.?e* {TEXT}
/usr/bin/grep -i -w -B 1 -A 1 gnu {TEXT}
/usr/bin/grep -F -x one
/usr/bin/grep -v -e t -e 9
/usr/bin/grep -P '(?<=t)h\w+' {TEXT}
/usr/bin/grep -l one text large sub/inner
/usr/bin/grep -q nothing
/usr/bin/grep -r --include=i* inner sub
/usr/bin/grep -E '(.)\1' {TEXT}
/usr/bin/grep x /nonexistent
/usr/bin/grep [ text
== sed
/usr/bin/sed s/o/0/g
/usr/bin/sed -n 2,3p
/usr/bin/sed -i s/one/ONE/ text
/usr/bin/sed -i.bak -e 1d text sub/inner
/usr/bin/sed -n 'w copied' text
/usr/bin/sed -E 's/(\w+) (\w+)/\2 \1/;t;s/^/- /'
/usr/bin/sed 'N;P;D'
/usr/bin/sed -n '$='
/usr/bin/sed '1!G;h;$!d'
/usr/bin/sed -e 'y/abc/xyz/' -e '/two/,/four/{s/^/> /;a\' -e 'added' -e '}'
/usr/bin/sed ':a;s/^\(.*\)o/\1O/;ta'
/usr/bin/sed --posix -s -n 'r text' text large
/usr/bin/sed 's/x'
== gawk
/usr/bin/gawk '{ n += NF } END { print n, sin(1) }'
/usr/bin/gawk '{ print >> "log" } END { close("log"); while ((getline l < "log") > 0) print l }' text
/usr/bin/gawk -f scripts/report.awk large
/usr/bin/gawk 'BEGIN { a["x"]["y"] = 1; print length(a), strftime("%F", 0, 1), gensub(/(a)(b)/, "\\2\\1", "g", "abab"), and(12, 10) }'
/usr/bin/gawk 'BEGIN { PROCINFO["sorted_in"] = "@val_num_desc"; a[1] = 3; a[2] = 9; for (i in a) print i, a[i]; exit 3 }'
@ /usr/bin/gawk 'BEGIN { "echo from a shell" | getline x; print x; print "b\na" | "sort"; close("sort"); print system("exit 3") }'
@ /usr/bin/gawk 'BEGIN { cmd = "tr a-z A-Z"; print "coprocess" |& cmd; close(cmd, "to"); cmd |& getline x; print x }'
/usr/bin/gawk -M 'BEGIN { print 2 ^ 200 }'
/usr/bin/gawk 'BEGIN { print 1'
== mawk
/usr/bin/mawk '{ print NR, $1 }'
/usr/bin/mawk '{ print > $1 ".txt" }' text
/usr/bin/mawk -f scripts/report.awk large
/usr/bin/mawk -F e -v OFS=- '{ $1 = $1; print }'
/usr/bin/mawk 'BEGIN { srand(1); x = rand(); print (x < 1), length("abc"); exit 4 }'
@ /usr/bin/mawk 'BEGIN { "echo from a shell" | getline x; print x; print "b\na" | "sort" }'
== bc
/usr/bin/bc -q /dev/null
/usr/bin/bc -q scripts/pi.bc
/usr/bin/bc -l -q scripts/functions.bc
== dash
/usr/bin/dash -c 'i=0; while [ $i -lt 5 ]; do echo $i; i=$((i + 1)); done; cd /usr; pwd; exit 4'
/usr/bin/dash -c 'while read a; do echo "[$a]"; done; read x < {TEXT}; echo "$x"'
/usr/bin/dash -c 'echo hi > f; read b < f; echo "$b"; echo more >> f; read a < f; echo "$a"; : > text; exec 3<> f; echo over >&3'
@ /usr/bin/dash scripts/pipes.sh
@ /usr/bin/dash -c 'cat | sort | uniq -c'
@ /usr/bin/dash -c 'trap "echo ended" EXIT; kill -TERM $$'
@ /usr/bin/dash -c 'sleep 100 & kill $!; wait $!; echo $?'
@ /usr/bin/dash -c 'ls /proc/self/fd | wc -l'
@ /usr/bin/dash -c 'exec nothing'
@ /usr/bin/dash -c './scripts/run'
@ /usr/bin/dash -n scripts/pipes.sh
== bash
/usr/bin/bash -c 'a=(1 2 3); echo ${a[@]} ${#a[@]}; [[ abc =~ b. ]] && echo ${BASH_REMATCH[0]}'
/usr/bin/bash -c 'mapfile -t lines < text; printf "%s\n" "${lines[@]}" > out; set -o noclobber; echo x > out; cd sub && echo in > inner'
/usr/bin/bash -c 'cat() { while read -r l; do echo "[$l]"; done; }; cat < text > new; test -s new && test new -nt text || echo older'
@ /usr/bin/bash scripts/arrays.bash
@ /usr/bin/bash scripts/pipes.sh
@ /usr/bin/bash -c 'coproc tr a-z A-Z; echo hi >&${COPROC[1]}; eval "exec ${COPROC[1]}>&-"; read x <&${COPROC[0]}; echo $x'
@ /usr/bin/bash -c 'diff <(echo a) <(echo b)'
@ /usr/bin/bash -c 'while read -r l; do echo "[$l]"; done < <(echo a; echo b); exec 3> >(read -r x; echo "got $x" > out); echo through >&3; exec 3>&-; wait; cat out'
@ /usr/bin/bash -c 'for i in {1..20}; do (exit $i) & done; wait; echo all'
@ /usr/bin/bash -c 'time_it() { echo $SECONDS; }; time_it; echo $BASH_VERSION '
@ /usr/bin/bash -c 'echo $BASHPID $$ $PPID | wc -w; ulimit -n; umask; echo $UID $EUID'
@ /usr/bin/bash -c 'echo ~; echo $HOME; cd; pwd'
@ /usr/bin/bash -c 'mkfifo f; echo through > f & cat f'
@ /usr/bin/bash -c 'exec 5<>/dev/tcp/127.0.0.1/1'
@ /usr/bin/bash -c 'read -t 0.1 x < text; echo $x; printf "%(%Y)T\n" 0; suspend'
@ /usr/bin/bash --norc -i -c 'echo interactive'
== pipelines
@ /usr/bin/bash -c 'echo "2^100; scale=20; 1/3" | bc | tee out; sed s/3/x/ out > new; gzip -c new | zcat; tar cf - sub | tar tf - | sort'
@ /usr/bin/bash -c 'for i in 3 1 2; do echo $i; done | sort -n | tee >(cat > out) | wc -l; wait; cat out'
@ /usr/bin/bash -c 'sha256sum many/* | sort | head -n 20 | awk "{print \$1}" | cut -c1-8 | paste -s -d " "'
@ /usr/bin/bash -c 'find . -type f -print0 | sort -z | xargs -0 md5sum | md5sum'
@ /usr/bin/bash -c 'seq 1000 | split -l 100 - part; cat part* | md5sum; ls part* | wc -l; cat part* > all; seq 1000 | cmp - all'
== diffutils
/usr/bin/diff {TEXT} /usr/share/doc/dash/copyright
/usr/bin/cmp {TEXT} /usr/share/doc/dash/copyright
/usr/bin/diff -r sub many
/usr/bin/cmp text large
/usr/bin/cmp -l text sub/inner
/usr/bin/diff -u --label a --label b text sub/inner
/usr/bin/diff -y -W 60 text sub/inner
/usr/bin/diff -q text large
/usr/bin/diff -N -r -u --label x sub empty
/usr/bin/diff --normal -b -w -i text text
@ /usr/bin/sdiff -s text sub/inner
@ /usr/bin/diff3 text sub/inner text
== patch
/usr/bin/patch -i given.patch text
/usr/bin/patch -b -i given.patch text
/usr/bin/patch -R -i given.patch text
/usr/bin/patch --dry-run -i given.patch text
/usr/bin/patch -o out -i given.patch text
/usr/bin/patch -i given.patch sub/inner
== gzip
/usr/bin/gzip -c -n
/usr/bin/gzip text
/usr/bin/gzip -k -9 large
/usr/bin/gzip -d given.gz
/usr/bin/gzip -l given.gz
/usr/bin/gzip -t given.gz text
@ /usr/bin/zcat given.gz
@ /usr/bin/dash -c 'zcat given.gz; zgrep compressed given.gz; gunzip given.gz; zcmp given given'
== bzip2
/usr/bin/bzip2 -k large
/usr/bin/bzip2 text
/usr/bin/bzip2 -c -1
/usr/bin/bzip2 -d given.bz2
/usr/bin/bzip2 -t given.bz2 text
/usr/bin/bzcat given.bz2
== xz
/usr/bin/xz -c -T1
/usr/bin/xz text
/usr/bin/xz -k -T1 large
/usr/bin/xz -k -T4 --block-size=10KiB large
/usr/bin/xz -k -0 --check=sha256 large
/usr/bin/xz -d given.xz
/usr/bin/xz -l given.xz
/usr/bin/xz --format=lzma -k large
/usr/bin/xz -t text
== zstd
/usr/bin/zstd -q text
/usr/bin/zstd -q --single-thread large -o out.zst
/usr/bin/zstd -q -19 -T2 large -o out.zst
/usr/bin/zstd -q --ultra -22 large -o out.zst
@ /usr/bin/dash -c 'zstd -q --rm text && zstd -q -d text.zst && zstd -q -t text.zst; zstd -l text.zst'
== tar
/usr/bin/tar cf out.tar --sort=name --numeric-owner sub text link
/usr/bin/tar xf given.tar
/usr/bin/tar xvf given.tar -C empty
/usr/bin/tar tf given.tar
/usr/bin/tar tvf given.tar --utc
/usr/bin/tar rf given.tar --numeric-owner text
/usr/bin/tar xf given.tar --overwrite sub/inner
/usr/bin/tar --delete -f given.tar text
/usr/bin/tar cf out.tar --sort=name --numeric-owner --format=pax --pax-option=delete=atime,delete=ctime --mtime=@0 many
/usr/bin/tar xOf given.tar text
@ /usr/bin/tar czf out.tgz --sort=name --numeric-owner --mtime=@0 sub
@ /usr/bin/tar cJf out.txz --sort=name --numeric-owner --mtime=@0 sub
@ /usr/bin/tar c --use-compress-program=zstd -f out.tzst --sort=name --numeric-owner --mtime=@0 sub
@ /usr/bin/tar xf given.tar --to-command=wc
== cpio
@ /usr/bin/dash -c 'find sub | sort | cpio -o -H newc --quiet --reproducible --renumber-inodes > out.cpio; cpio -it --quiet < out.cpio'
/usr/bin/cpio -it -I given.cpio
/usr/bin/cpio -idmv -I given.cpio
/usr/bin/cpio -i --to-stdout -I given.cpio
@ /usr/bin/dash -c 'find sub -depth | sort | cpio -pdm --quiet copied; find copied | sort'
== file
/usr/bin/file /usr/bin/ls
/usr/bin/file text large link sub given.tar given.gz base.db scripts/library.py scripts/sample.c
/usr/bin/file -i text given.xz given.bz2
/usr/bin/file -b -k given.cpio
@ /usr/bin/file -z given.gz
== jq
/usr/bin/jq -n '{a: [1, 2, {b: 3}]} | .a[2].b + 1'
/usr/bin/jq -R .
/usr/bin/jq -c '.people[] | select(.age > 30) | {name, city: .address.city}' data.json
/usr/bin/jq -S . data.json
/usr/bin/jq '[.people[].age] | add / length, max, (map(tostring) | join(","))' data.json
/usr/bin/jq -r '.people | group_by(.age > 30)[] | [.[].name] | @csv, @base64, @sh' data.json
/usr/bin/jq 'def f(n): if n < 2 then n else f(n - 1) + f(n - 2) end; f(15), ([range(10)] | map(. * .)), ("abc" | test("b.")), (now | type)' data.json
/usr/bin/jq --arg x 1 --argjson y 2 '$x, $y, (.people | length), (try error("x") catch .), (.people[0] | to_entries[0])' data.json
/usr/bin/jq -e .nothing data.json
/usr/bin/jq '.people | .[' data.json
/usr/bin/jq . text
== openssl
/usr/bin/openssl dgst -sha256 large
/usr/bin/openssl dgst -sha512 -hex text
/usr/bin/openssl dgst -md5 text
/usr/bin/openssl dgst -sha1 large
/usr/bin/openssl dgst -sha3-256 large
/usr/bin/openssl dgst -blake2b512 large
/usr/bin/openssl dgst -sm3 large
/usr/bin/openssl dgst -sha256 -hmac key large
/usr/bin/openssl enc -aes-256-cbc -pbkdf2 -iter 1000 -S 0102030405060708 -k secret -in large -out out
/usr/bin/openssl enc -aes-128-ctr -K 000102030405060708090a0b0c0d0e0f -iv 000102030405060708090a0b0c0d0e0f -in large -out out
/usr/bin/openssl enc -aes-256-ecb -K 00 -nosalt -base64
/usr/bin/openssl enc -chacha20 -K 0102 -iv 03 -in large -out out
/usr/bin/openssl enc -camellia-128-cbc -K 0102 -iv 03 -in large -out out
/usr/bin/openssl enc -sm4-cbc -K 0102 -iv 03 -in large -out out
/usr/bin/openssl enc -d -aes-128-cbc -K 0102 -iv 03 -in text -out out
/usr/bin/openssl base64 -in text
/usr/bin/openssl asn1parse -genstr UTF8:text
/usr/bin/openssl prime 1000003
/usr/bin/openssl passwd -6 -salt salt password
/usr/bin/openssl kdf -keylen 16 -kdfopt digest:SHA256 -kdfopt pass:x -kdfopt salt:y -kdfopt iter:1000 PBKDF2
/usr/bin/openssl version
/usr/bin/openssl list -digest-algorithms
@ /usr/bin/dash -c 'openssl genrsa -out key 1024 && openssl dgst -sha256 -sign key -out sig text && openssl rsa -in key -pubout -out pub && openssl dgst -sha256 -verify pub -signature sig text; rm key sig pub'
@ /usr/bin/dash -c 'openssl ecparam -name prime256v1 -genkey -noout -out key && openssl ec -in key -check -noout; openssl rand 32 | wc -c; rm key'
== lua5.4
/usr/bin/lua5.4 -e 'print(string.format("%5.2f", math.pi), _VERSION)'
/usr/bin/lua5.4 -e 'for k in pairs({1, 2, 3}) do print(k) end error("x")'
/usr/bin/lua5.4 -e 'local f = io.open("new", "w"); f:write("lua"); f:close(); os.rename("new", "n2"); os.remove("text"); print(io.open("n2"):read("a"), io.open("text"))'
/usr/bin/lua5.4 scripts/classes.lua
@ /usr/bin/lua5.4 -e 'local p = io.popen("echo from a shell"); print(p:read("a")); print(os.execute("exit 3")); print(p:close())'
/usr/bin/luac5.4 -p scripts/classes.lua
== sqlite3
/usr/bin/sqlite3 -init /dev/null :memory: "create table t(a); insert into t values(1); select sum(a) from t"
/usr/bin/sqlite3 -init /dev/null new.db "create table t(a, b); insert into t values(1, 'x'), (2, 'y'); select * from t; update t set b = b || a; select * from t"
/usr/bin/sqlite3 -init /dev/null new.db "pragma journal_mode=truncate; create table t(a); begin; insert into t values(1); rollback; insert into t values(2); select * from t; vacuum"
/usr/bin/sqlite3 -init /dev/null new.db "create table t(a primary key); with recursive n(x) as (select 1 union all select x + 1 from n where x < 3000) insert into t select x from n; delete from t where a % 2; create index i on t(a); select count(*), sum(a) from t; pragma integrity_check"
/usr/bin/sqlite3 -init /dev/null base.db "select name, count(*), round(avg(amount), 2) from sales join people on person = people.id group by name order by 3 desc limit 5"
/usr/bin/sqlite3 -init /dev/null base.db ".schema" ".tables" "explain query plan select * from sales where person = 3"
/usr/bin/sqlite3 -init /dev/null base.db "select sum(amount) over (partition by person order by id) from sales limit 5; select json_group_array(name) from people; select group_concat(distinct day) from sales where amount > 990"
/usr/bin/sqlite3 -init /dev/null -json base.db "select * from people where name glob 'p1*' order by name"
/usr/bin/sqlite3 -init /dev/null base.db "begin; update sales set amount = amount + 1 where person < 10; delete from sales where id % 3 = 0; commit; select total(amount), count(*) from sales; pragma integrity_check"
/usr/bin/sqlite3 -init /dev/null base.db "create virtual table texts using fts5(body); insert into texts select 'word' || id || ' common' from sales limit 100; select count(*) from texts('common'); select body from texts('word7')"
/usr/bin/sqlite3 -init /dev/null base.db "pragma journal_mode=wal; insert into people values(1000, 'new'); select count(*) from people"
/usr/bin/sqlite3 -init /dev/null base.db ".dump people"
/usr/bin/sqlite3 -init /dev/null base.db "insert into people values(1, 'twice')"
/usr/bin/sqlite3 -init /dev/null base.db ".mode box" "select 1 as one, 'x' as text" ".import text lines" "select * from lines"
/usr/bin/sqlite3 -init /dev/null text "select 1 from t"
== python3
/usr/bin/python3.11 -S -c 'print(sum(range(100)))'
/usr/bin/python3.11 -S -c 'import json, re; print(json.dumps([1, {}]), re.findall("o.", "foo bor"))'
/usr/bin/python3.11 -S -c 'import hashlib; print(hashlib.sha256(b"x").hexdigest())'
/usr/bin/python3.11 -S -c 'import sys; sys.exit(7)'
/usr/bin/python3.11 -S -c 'import os; open("new", "w").write("text"); os.rename("new", "n2"); os.makedirs("p/q"); print(sorted(os.listdir(".")), os.stat("n2").st_size)'
/usr/bin/python3.11 -S -c 'import tempfile, os; f = tempfile.TemporaryFile(); f.write(b"x" * 100000); f.seek(0); print(len(f.read()))'
/usr/bin/python3.11 -S -c 'import shutil; shutil.copytree("sub", "s2"); shutil.rmtree("sub"); shutil.move("text", "s2/text")'
/usr/bin/python3.11 -S -c 'import mmap; f = open("large", "rb"); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); print(m[5], len(m))'
/usr/bin/python3.11 -S -c 'import os; fd = os.open("f", os.O_RDWR | os.O_CREAT); os.pwrite(fd, b"end", 99999); os.truncate(fd, 50000); print(os.fstat(fd).st_size, os.lseek(fd, 0, os.SEEK_HOLE))'
@ /usr/bin/python3.11 scripts/library.py
/usr/bin/python3.11 -c 'import site, sys; print(sys.flags.no_site, sys.version_info[:2])'
/usr/bin/python3.11 -c 'import threading; t = [threading.Thread(target=print, args=(i,)) for i in range(3)]; [(x.start(), x.join()) for x in t]'
@ /usr/bin/python3.11 -c 'import subprocess; print(subprocess.run("ls | wc -l; exit 3", shell=True, capture_output=True))'
@ /usr/bin/python3.11 -c 'import multiprocessing as m; m.set_start_method("fork"); q = m.SimpleQueue(); p = m.Process(target=q.put, args=(42,)); p.start(); print(q.get()); p.join()'
@ /usr/bin/python3.11 -c 'from multiprocessing import Pool; p = Pool(2); print(p.map(abs, [-1, -2, 3])); p.close(); p.join()'
@ /usr/bin/python3.11 -c 'from concurrent.futures import ThreadPoolExecutor as T; print(sum(T(4).map(lambda x: x * x, range(100))))'
@ /usr/bin/python3.11 -c 'import asyncio; print(asyncio.run(asyncio.wait_for(asyncio.sleep(0.01, "done"), 5)))'
@ /usr/bin/python3.11 scripts/streams.py
/usr/bin/python3.11 -c 'import sqlite3; c = sqlite3.connect("base.db"); print(c.execute("select count(*), max(amount) from sales").fetchall())'
/usr/bin/python3.11 -c 'import lzma, bz2, gzip, zlib; d = open("large", "rb").read(); print([len(m.compress(d)) for m in (lzma, bz2, zlib)], gzip.decompress(gzip.compress(d)) == d)'
/usr/bin/python3.11 -c 'import decimal, ctypes, unicodedata, struct, array; decimal.getcontext().prec = 60; print(decimal.Decimal(2).sqrt(), ctypes.sizeof(ctypes.c_long), unicodedata.name("x"))'
/usr/bin/python3.11 -c 'import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1)); socket.socket().connect(("127.0.0.1", 1))'
/usr/bin/python3.11 -c 'import zipfile, tarfile; z = zipfile.ZipFile("z.zip", "w"); z.writestr(zipfile.ZipInfo("a"), b"x"); z.close(); print(zipfile.ZipFile("z.zip").namelist(), tarfile.open("given.tar").getnames())'
/usr/bin/python3.11 -c 'import xml.etree.ElementTree as E, csv, io, base64, uuid; print(E.fromstring("<a><b c=\"d\"/></a>")[0].attrib, list(csv.reader(["a,\"b,c\""])), uuid.uuid5(uuid.NAMESPACE_DNS, "x"))'
/usr/bin/python3.11 -c 'import signal, os; signal.signal(signal.SIGUSR1, lambda n, f: print("signal", n)); os.kill(os.getpid(), signal.SIGUSR1); signal.signal(signal.SIGALRM, lambda *a: print("alarm")); signal.setitimer(signal.ITIMER_REAL, 0.2); signal.pause()'
/usr/bin/python3.11 -m json.tool --sort-keys data.json
/usr/bin/python3.11 -m compileall -q scripts
/usr/bin/python3.11 -c 'raise ValueError("x")'
== perl
/usr/bin/perl -i -pe s/two/2/ text
/usr/bin/perl -e 'open(F, ">", "new") or die; print F "x" x 10000; close F; print -s "new", "\n"; unlink "text"; mkdir "d"; print join(" ", sort glob("*")), "\n"'
@ /usr/bin/perl scripts/tree.pl
/usr/bin/perl -MData::Dumper -e '$Data::Dumper::Sortkeys = 1; print Dumper({a => [1, 2], b => {c => undef}})'
/usr/bin/perl -MDigest::SHA=sha256_hex -MDigest::MD5=md5_hex -MMIME::Base64 -e 'print sha256_hex("x"), md5_hex("x"), encode_base64("text")'
/usr/bin/perl -MJSON::PP -e 'print JSON::PP->new->canonical->pretty->encode(decode_json(q({"a": [1, "ä"], "b": null})))'
/usr/bin/perl -MMath::BigInt -e 'print Math::BigInt->new(2)->bpow(300), "\n"'
/usr/bin/perl -MStorable -MTime::Local -MEncode -e 'store({a => 1}, "f"); print retrieve("f")->{a}, timegm(0, 0, 0, 1, 0, 2000), length(decode("UTF-8", "\xc3\xa4")), "\n"'
/usr/bin/perl -Mthreads -e 'print join(" ", map { $_->join } map { my $n = $_; threads->create(sub { $n * $n }) } 1 .. 4), "\n"'
/usr/bin/perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; syswrite A, "x"; sysread B, $x, 1; print $x, "\n"; alarm 1; $SIG{ALRM} = sub { die "alarm\n" }; select undef, undef, undef, 5'
/usr/bin/perl -ne '$n += length; END { print "$n\n" }' large
/usr/bin/perl -c scripts/tree.pl
/usr/bin/perl -e 'die "x\n"'
== ruby
/usr/bin/ruby3.1 -e 'puts [1, 2, 3].sum, RUBY_VERSION'
@ /usr/bin/ruby3.1 scripts/blocks.rb
/usr/bin/ruby3.1 --disable-gems -e 'puts (1..10).reduce(:*), "%08.3f" % Math::PI, "text".unpack("C*").inspect'
/usr/bin/ruby3.1 -rjson -rdigest -rset -e 'puts JSON.pretty_generate(JSON.parse(File.read("data.json"))), Digest::SHA256.hexdigest("x"), Set[1, 2].inspect'
/usr/bin/ruby3.1 -rfileutils -rtempfile -e 'FileUtils.cp_r("sub", "s2"); FileUtils.rm_rf("many"); puts Dir["**/*"].sort.first(5), Tempfile.create { |f| f.write("x") }'
/usr/bin/ruby3.1 -e 'r, w = IO.pipe; t = Thread.new { r.read }; w << "through"; w.close; puts t.value; m = Mutex.new; n = 0; 4.times.map { Thread.new { 100.times { m.synchronize { n += 1 } } } }.each(&:join); puts n'
@ /usr/bin/ruby3.1 -ropen3 -e 'o, s = Open3.capture2("tr a-z A-Z", stdin_data: "text"); puts o, s.exitstatus; puts IO.popen("echo hi", &:read); system("exit 3"); puts $?.exitstatus'
/usr/bin/ruby3.1 -e 'trap("USR1") { puts "signal" }; Process.kill("USR1", $$); sleep 0.01; raise "x"'
/usr/bin/ruby3.1 -rerb -ryaml -rcsv -rtime -e 'puts ERB.new("<%= 1 + 1 %>").result, {"a" => [1, nil]}.to_yaml, CSV.parse("a,\"b,c\"").inspect, Time.at(0).utc.iso8601'
/usr/bin/ruby3.1 -c scripts/blocks.rb
== cc1
/usr/lib/gcc/aarch64-linux-gnu/12/cc1 -quiet scripts/sample.c -o out.s
/usr/lib/gcc/aarch64-linux-gnu/12/cc1 -quiet -O2 scripts/sample.c -o out.s
/usr/lib/gcc/aarch64-linux-gnu/12/cc1 -quiet -O3 -march=armv8.2-a+sve scripts/sample.c -o out.s
/usr/lib/gcc/aarch64-linux-gnu/12/cc1 -quiet -Os -Wall -Wextra -fanalyzer scripts/sample.c -o out.s
/usr/lib/gcc/aarch64-linux-gnu/12/cc1 -E -quiet -ffreestanding -dD scripts/sample.c
/usr/lib/gcc/aarch64-linux-gnu/12/cc1 -quiet text
== git
/usr/bin/git hash-object text large
/usr/bin/git hash-object -w --stdin --literally -t blob
/usr/bin/git --git-dir=repo.git log
/usr/bin/git --git-dir=repo.git log --oneline --graph --all
/usr/bin/git --git-dir=repo.git log -p --stat --format=%h-%an-%s
/usr/bin/git --git-dir=repo.git show HEAD:file3
/usr/bin/git --git-dir=repo.git cat-file -p HEAD^{tree}
/usr/bin/git --git-dir=repo.git ls-tree -r HEAD
/usr/bin/git --git-dir=repo.git rev-list --count HEAD
/usr/bin/git --git-dir=repo.git diff HEAD~3 HEAD
/usr/bin/git --git-dir=repo.git blame HEAD -- file1
/usr/bin/git --git-dir=repo.git shortlog -sn HEAD
/usr/bin/git --git-dir=repo.git grep -n line5 HEAD
/usr/bin/git --git-dir=repo.git for-each-ref
/usr/bin/git --git-dir=repo.git hash-object -w text
/usr/bin/git --git-dir=repo.git branch made HEAD~2
/usr/bin/git --git-dir=repo.git tag tagged HEAD
/usr/bin/git --git-dir=repo.git archive --format=tar -o out.tar HEAD
@ /usr/bin/git --git-dir=repo.git fsck --full
@ /usr/bin/git --git-dir=repo.git repack -a -d -q
@ /usr/bin/dash -c 'git init -q made && cd made && cp ../text . && git add text && git ls-files -s && git status --short; rm .git/index'
@ /usr/bin/dash -c 'git clone -q repo.git clone && cd clone && ls && git log -1 --format=%H; rm -r .git/index .git/logs'
/usr/bin/git log
"""  # noqa: E501


def commands():
    """(program, line, whether its peer is native) of each command."""
    program = None
    for line in (COMMANDS + BUSYBOX).splitlines():
        line = line.strip()
        if line.startswith("== "):
            program = line[3:]
            continue
        native = line.startswith("@ ")
        yield program, line.removeprefix("@ ").replace("{TEXT}", TEXT), native
