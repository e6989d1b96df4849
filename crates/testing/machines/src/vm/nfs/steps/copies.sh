# Work of the server, in an empty directory of a share, with NFSv4.2.

### cp --reflink=always is one CLONE
head -c 4M /dev/urandom >template
sync template
counted CLONE 1 cp --reflink=always template clone
drop
cmp template clone

### a clone and its source change independently
echo changed | dd of=clone conv=notrunc bs=1 seek=5000 status=none
drop
cmp -n 5000 template clone
equal $(dd if=clone bs=1 skip=5000 count=7 status=none) changed
fails differ cmp template clone

### FICLONERANGE of blocks
truncate -s 1M part
xfs_io -c 'reflink template 4096 8192 65536' part
drop
cmp -i 4096:8192 -n 65536 template part
cmp -n 8192 part /dev/zero
xfs_io -c 'reflink template 100 8192 65536' part 2>&1 | grep 'Invalid argument'

### copy_file_range is COPY
counted COPY 1 xfs_io -f -c 'copy_range -s 0 -d 0 -l 4194304 template' copied
drop
cmp template copied

### copy_file_range at any byte
xfs_io -f -c 'copy_range -s 1001 -d 77 -l 100000 template' odd
drop
equal $(stat -c %s odd) 100077
cmp -i 1001:77 -n 100000 template odd
cmp -n 77 odd /dev/zero

### copy_file_range within a file
cp template within
xfs_io -c 'copy_range -s 0 -d 2097152 -l 1048576 within' within
drop
cmp -i 0:2097152 -n 1048576 template within
cmp -n 2097152 template within

### cp without options is not a copy through the client
before=$(operations /mnt/s WRITE)
cp template plain
equal $(operations /mnt/s WRITE) $before
drop
cmp template plain

### fallocate is ALLOCATE
counted ALLOCATE 1 fallocate -l 3M thick
drop
equal $(stat -c %s thick) 3145728
[ $(du -B1 thick | cut -f1) -ge 3145728 ]
cmp -n 3145728 thick /dev/zero

### fallocate -p is DEALLOCATE
cp template holes
sync holes
before=$(du -B1 holes | cut -f1)
counted DEALLOCATE 1 fallocate -p -o 1M -l 1M holes
drop
equal $(stat -c %s holes) 4194304
cmp -n 1048576 <(tail -c +1048577 holes) /dev/zero
cmp -n 1048576 template holes
cmp -i 2097152 template holes
[ $(du -B1 holes | cut -f1) -lt $before ]

### a hole that is no whole block
cp template bytes
fallocate -p -o 5001 -l 10002 bytes
drop
cmp -n 5001 template bytes
cmp -n 10002 <(tail -c +5002 bytes) /dev/zero
cmp -i 15003 template bytes

### other modes of fallocate are refused by the client
fails 'not supported' fallocate -z -l 1M holes
fails 'not supported' fallocate -c -l 1M holes

### SEEK_HOLE and SEEK_DATA
python3 -c "
import os
f = os.open('holes', os.O_RDONLY)
size = os.fstat(f).st_size
found = [os.lseek(f, 0, os.SEEK_HOLE), os.lseek(f, 1 << 20, os.SEEK_DATA), os.lseek(f, 3 << 19, os.SEEK_DATA), os.lseek(f, 2 << 20, os.SEEK_HOLE)]
assert found == [1 << 20, 2 << 20, 2 << 20, size], found
try:
    os.lseek(f, size, os.SEEK_DATA)
    raise SystemExit('data after the end')
except OSError as error: assert error.errno == 6, error"
[ $(operations /mnt/s SEEK) -ge 4 ]

### cp --sparse keeps holes; tar -S
cp --reflink=never --sparse=auto holes sparse
cmp holes sparse
tar -Scf holes.tar holes
mkdir untar
tar -xf holes.tar -C untar
cmp holes untar/holes
[ $(stat -c %s holes.tar) -lt 4000000 ]

### qemu-img convert -C is COPY
before=$(operations /mnt/s COPY)
written=$(operations /mnt/s WRITE)
qemu-img convert -C -f raw -O raw template disk.img
[ $(operations /mnt/s COPY) -gt $before ]
[ $(operations /mnt/s WRITE) -le $((written + 1)) ]
drop
qemu-img compare -f raw -F raw template disk.img

### qemu-img create with preallocation
counted ALLOCATE 1 qemu-img create -q -f raw -o preallocation=falloc pre.img 8M
equal $(stat -c %s pre.img) 8388608
qemu-img create -q -f raw -o preallocation=full full.img 2M
equal $(stat -c %s full.img) 2097152
cmp -n 2097152 full.img /dev/zero

### qcow2 on the share
qemu-img create -q -f qcow2 q.qcow2 64M
qemu-io -f qcow2 -c 'write -P 7 1M 256k' -c 'write -z 2M 1M' -c 'discard 1M 64k' q.qcow2 >/dev/null
qemu-img check q.qcow2
qemu-io -f qcow2 -c 'read -P 7 1088k 192k' q.qcow2 | grep -c 'failed' | grep -x 0
qemu-img snapshot -c one q.qcow2
qemu-img convert -f qcow2 -O raw q.qcow2 q.raw
qemu-img compare q.qcow2 q.raw

### a file system in a file: mkfs, mount, write, fsck
truncate -s 64M image
mkfs.ext4 -q -F image
mount -o loop image /mnt/loop
cp template /mnt/loop/kept
cp template /mnt/loop/gone
sync
cmp template /mnt/loop/kept

### fstrim gives the space of a removed file back
sync
drop
full=$(du -B1 image | cut -f1)
rm /mnt/loop/gone
sync
before=$(operations /mnt/s DEALLOCATE)
fstrim -v /mnt/loop
sync
[ $(operations /mnt/s DEALLOCATE) -gt $before ]
drop
after=$(du -B1 image | cut -f1)
echo $full $after
[ $after -le $((full - 4194304 + 262144)) ]
cmp template /mnt/loop/kept
umount /mnt/loop
e2fsck -fn image

