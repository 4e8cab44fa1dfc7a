# SPDX-License-Identifier: Apache-2.0
"""The commands of debian_test.py with the applets of busybox, as debian_commands.py has those of others."""

BUSYBOX = r"""== busybox
/bin/busybox arch
/bin/busybox ascii
/bin/busybox awk -f scripts/report.awk large
/bin/busybox ar -t text
/bin/busybox base64
/bin/busybox basename /a/b.c .c
/bin/busybox bc scripts/pi.bc
/bin/busybox bunzip2 -k given.bz2
/bin/busybox bzcat given.bz2
/bin/busybox bzip2 -k large
/bin/busybox cal 2 2024
/bin/busybox cat text -
/bin/busybox chmod 600 text
/bin/busybox chown 1000 text
/bin/busybox chgrp 1000 text
/bin/busybox cmp text large
/bin/busybox cp -a sub copied
/bin/busybox cpio -t -F given.cpio
/bin/busybox crc32 large
/bin/busybox cut -d e -f 2 text
/bin/busybox date -u -d @1000000000
/bin/busybox dc -e "2 3 + p"
/bin/busybox dd if=large of=out bs=100 count=3
/bin/busybox df /nonexistent
/bin/busybox diff -u text sub/inner
/bin/busybox dirname /a/b/c
/bin/busybox dos2unix text
/bin/busybox du -s text
/bin/busybox echo -e 'a\tb'
/bin/busybox egrep -c o text
/bin/busybox env -i A=b
/bin/busybox expand
/bin/busybox expr 6 * 7
/bin/busybox factor 1234567
/bin/busybox fallocate -l 10000 new
/bin/busybox false
/bin/busybox fgrep two text
/bin/busybox find sub -name inner
/bin/busybox fold -w 4
/bin/busybox free
/bin/busybox fsync text
/bin/busybox getopt ab: -a -b x y
/bin/busybox grep -n o
@ /bin/busybox groups
/bin/busybox gunzip -k given.gz
/bin/busybox gzip -k -n large
/bin/busybox head -n 3 large
/bin/busybox hexdump -C text
/bin/busybox hostid
@ /bin/busybox id
/bin/busybox ipcalc -n 10.1.2.3 255.255.0.0
/bin/busybox kill -l
/bin/busybox link text hard
/bin/busybox ln -s text soft
/bin/busybox logname
/bin/busybox ls -1 many
/bin/busybox ls -ln sub
/bin/busybox lzcat given.xz
/bin/busybox lzop -c text
/bin/busybox md5sum text large
/bin/busybox mkdir -p x/y
/bin/busybox mkfifo fifo
/bin/busybox mkpasswd -m sha512 -S saltsalt password
/bin/busybox mktemp -u
/bin/busybox more text
/bin/busybox mv text moved
@ /bin/busybox nice -n 40 /bin/busybox nice
/bin/busybox nl text
@ /bin/busybox nohup /bin/busybox echo hi
/bin/busybox nproc --ignore=1000
/bin/busybox od -c
/bin/busybox paste text text
/bin/busybox patch -i given.patch text
/bin/busybox pidof nothing
/bin/busybox printf %d-%s 5 x
/bin/busybox ps
@ /bin/busybox pwd
/bin/busybox readlink link
@ /bin/busybox realpath link
/bin/busybox rev text
/bin/busybox rm -r sub
/bin/busybox rmdir empty
@ /bin/busybox run-parts --test scripts
/bin/busybox sed s/o/0/
/bin/busybox seq 3 9
@ /bin/busybox setsid /bin/busybox echo hi
/bin/busybox sha1sum text
/bin/busybox sha256sum large
/bin/busybox sha3sum large
/bin/busybox sha512sum large
/bin/busybox shred -n 1 -u text
/bin/busybox shuf -n 0 text
/bin/busybox sleep 0.01
/bin/busybox sort -n large
/bin/busybox stat -c %s-%a-%F text sub link
/bin/busybox strings /bin/busybox
/bin/busybox stty
/bin/busybox sum text
/bin/busybox sync
/bin/busybox tac text
/bin/busybox tail -n 3 large
@ /bin/busybox tar cf out.tar text
/bin/busybox tar xf given.tar
@ /bin/busybox taskset 1 /bin/busybox echo hi
/bin/busybox tee out
/bin/busybox test -d sub
@ /bin/busybox time /bin/busybox false
@ /bin/busybox timeout 5 /bin/busybox echo in time
/bin/busybox touch -d @1000000000 new
/bin/busybox tr a-z A-Z
/bin/busybox true
/bin/busybox truncate -s 3 text
/bin/busybox ts
/bin/busybox tsort text
/bin/busybox tty
@ /bin/busybox uname -s
/bin/busybox unexpand -a
/bin/busybox uniq
/bin/busybox unix2dos text
/bin/busybox unlink text
/bin/busybox unlzma -c given.xz
/bin/busybox unxz -k given.xz
/bin/busybox unzip -l given.zip
/bin/busybox uptime
/bin/busybox usleep 10
/bin/busybox uudecode text
/bin/busybox uuencode name
/bin/busybox vi -c q text
/bin/busybox wc large
@ /bin/busybox which ls cat nothing
@ /bin/busybox whoami
@ /bin/busybox xargs -n 1 /bin/busybox echo
/bin/busybox xxd text
/bin/busybox xz -d -k given.xz
/bin/busybox xzcat given.xz
/bin/busybox yes --help
/bin/busybox zcat given.gz
@ /bin/busybox sh scripts/pipes.sh
@ /bin/busybox sh -c 'for f in many/f1*; do echo $f; done | sort | head -n 3; (cd sub; ls); echo $((1 << 10))'
@ /bin/busybox sh -c 'cat text | sort -r | while read l; do echo "$l" | rev; done > out; cat out | wc'
@ /bin/busybox sh -c 'a=$(echo x | md5sum); echo $a; (exit 3); echo $?; trap "echo bye" EXIT; sleep 0'
@ /bin/busybox ash -c '[[ abc = a* ]] && echo yes; let x=2+3; echo $x; echo ${x/5/6}; sh -c "kill -9 \$\$"; echo $?'
"""  # noqa: E501
