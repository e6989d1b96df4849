# Operations on files and directories, in an empty directory of a share.

### write, append, overwrite, read
echo one >a
echo two >>a
printf X | dd of=a bs=1 seek=1 conv=notrunc status=none
drop
equal "$(cat a)" $'oXe\ntwo'

### 8 MiB at random, read back
head -c 8M /dev/urandom >/tmp/data
cp /tmp/data big
drop
cmp /tmp/data big

### O_DIRECT
dd if=/tmp/data of=direct bs=64k oflag=direct status=none
dd if=direct of=/tmp/back bs=64k iflag=direct status=none
cmp /tmp/data /tmp/back

### truncate shorter and longer
cp /tmp/data cut
truncate -s 100 cut
truncate -s 5000 cut
drop
equal $(stat -c %s cut) 5000
cmp -n 100 cut /tmp/data
tail -c 4900 cut | cmp - <(head -c 4900 /dev/zero)

### create exclusively
set -C
echo one >exclusive
fails 'cannot overwrite' bash -c 'set -C; echo two >exclusive'
equal "$(cat exclusive)" one

### rename in a directory, over a file, and to another directory
mkdir x y
echo 1 >x/a
echo 2 >x/b
mv x/a x/c
mv -f x/c x/b
mv x/b y/d
equal "$(cat y/d)" 1
equal "$(ls x)" ''
equal "$(ls y)" d

### rename of directories
mkdir -p p/q r
mv p r
[ -d r/p/q ]
mkdir e
mv -T e r/p/q
fails 'not empty' mv -T r/p r
true

### a directory cannot be moved below itself
mkdir -p loop/in
fails 'subdirectory of itself' mv loop loop/in

### hard links
echo link >l1
ln l1 l2
equal $(stat -c %h l1) 2
equal $(stat -c %i l1) $(stat -c %i l2)
rm l1
equal "$(cat l2)" link
equal $(stat -c %h l2) 1

### symbolic links
ln -s l2 symbolic
equal "$(readlink symbolic)" l2
equal "$(cat symbolic)" link
ln -s none dangling
fails 'No such file' cat dangling
ln -s $(printf 'x%.0s' {1..1000}) long
equal $(readlink long | wc -c) 1001

### modes
touch m
for mode in 0 644 755 4755 2755 1777; do chmod $mode m; drop; equal $(stat -c %a m) $mode; done
umask 027
touch masked
equal $(stat -c %a masked) 640
mkdir maskedd
equal $(stat -c %a maskedd) 750

### owners
touch o
chown 1000:2000 o
drop
equal $(stat -c %u:%g o) 1000:2000
chgrp 7 o
equal $(stat -c %u:%g o) 1000:7
ln -s o os
chown -h 5:6 os
equal $(stat -c %u:%g os) 5:6

### permissions of another user
chmod 777 .
echo secret >private
chmod 600 private
fails 'Permission denied' as 1000 cat private
as 1000 touch mine
equal $(stat -c %u mine) 1000
mkdir -m 700 closed
fails 'Permission denied' as 1000 ls closed
fails 'not permitted' as 1000 chmod 777 private

### a file is written by its creator although its mode forbids it
as 1000 bash -c 'umask 777; exec 3>locked; echo words >&3'
equal "$(cat locked)" words
equal $(stat -c %a locked) 0

### a group directory passes on its group
mkdir g
chgrp 4321 g
chmod 2777 g
touch g/f
mkdir g/d
equal $(stat -c %g g/f) 4321
equal $(stat -c %g:%a g/d) 4321:2755

### sticky directory
mkdir -m 1777 sticky
touch sticky/root
fails 'not permitted' as 1000 rm -f sticky/root

### times
touch -d '2001-02-03 04:05:06.123456789 UTC' t
drop
equal "$(stat -c %.9Y t)" 981173106.123456789
touch -a -d @1000000000.5 t
drop
equal $(stat -c %.1X t) 1000000000.5
before=$(stat -c %Y t)
echo x >>t
sync t
[ $(stat -c %Y t) -gt $before ]

### change of a directory's times
mkdir times
touch -d @1000 times
touch times/x
drop
[ $(stat -c %Y times) -gt 1000 ]

### fifo, socket, device
mkfifo fifo
(echo through >fifo &)
equal "$(cat fifo)" through
mknod null c 1 3
echo x >null
equal $(stat -c %F null | tr ' ' _) character_special_file
equal $(stat -c %t:%T null) 1:3
mknod block b 7 200
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('socket')"
[ -S socket ]

### names
touch "$(printf 'n%.0s' {1..255})"
fails 'too long' touch "$(printf 'n%.0s' {1..256})"
touch -- 'with space' $'new\nline' 'grüße' '日本' '-dash' '*' .hidden
drop
[ -e 'with space' -a -e $'new\nline' -a -e 'grüße' -a -e '日本' -a -e ./-dash -a -e '*' -a -e .hidden ]

### upper and lower case differ
mkdir case
echo 1 >case/n
echo 2 >case/N
equal "$(cat case/n case/N)" $'1\n2'

### a deep path
deep=$(printf 'd/%.0s' {1..100})
mkdir -p $deep
echo deep >$deep/f
drop
equal "$(cat $deep/f)" deep
rm -r d

### errors
mkdir full
touch full/f
fails 'not empty' rmdir full
fails 'Is a directory' cat full
fails 'Not a directory' ls full/f/x
fails 'File exists' mkdir full
fails 'No such file' cat none

### 1000 names in a directory
mkdir many
link_names many 1000
drop
equal $(ls -U many | wc -l) 1000
equal $(ls -U many | sort -u | wc -l) 1000
equal $(ls -l many | grep -c ' 1001 root') 1000
find many -name '*7' -delete
equal $(ls -U many | wc -l) 900
rm -r many
[ ! -e many ]

### a directory is emptied while it is listed
mkdir listed
link_names listed 500
drop
python3 -c "
import os
seen = set()
with os.scandir('listed') as entries:
    for entry in entries:
        assert entry.name not in seen
        seen.add(entry.name)
        os.unlink(entry.path)
assert len(seen) == 500, len(seen)
os.rmdir('listed')"

### a sparse file of 1 TiB
truncate -s 1T sparse
echo end | dd of=sparse bs=1 seek=$(((1 << 40) - 4)) conv=notrunc status=none
drop
equal $(stat -c %s sparse) $((1 << 40))
tail -c 4 sparse
equal $(tail -c 4 sparse) end
[ $(stat -c %b sparse) -lt 100 ]

### space used
head -c 1M /tmp/data >space
sync
drop
equal $(du -B1 space | cut -f1) 1048576

### mmap
python3 -c "
import mmap
with open('map', 'w+b') as f:
    f.truncate(1 << 20)
    m = mmap.mmap(f.fileno(), 0)
    m[5000:5005] = b'hello'
    m.flush()
    m.close()"
drop
equal $(dd if=map bs=1 skip=5000 count=5 status=none) hello

### unlink while open
exec 3<>open
echo kept >&3
rm open
[ ! -e open ]
drop
equal "$(cat /proc/self/fd/3)" kept
exec 3>&-
equal "$(ls -A | grep -c nfs0 || true)" 0

### rename over an open file
echo old >target
echo new >source
exec 3<target
mv source target
equal "$(cat <&3)" old
equal "$(cat target)" new
exec 3<&-
equal "$(ls -A | grep -c nfs0 || true)" 0

