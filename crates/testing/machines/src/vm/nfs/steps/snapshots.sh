# Snapshots of the share s under its mount, clones of them, and roll-back. The shell is in an empty directory of it.

### files as they will be in the snapshot
seq 10000 >file
mkdir directory
echo one >directory/one
head -c 4M /dev/urandom >/tmp/template
cp /tmp/template template
hold file file
sync

### windlass snapshot create s before

### files change
echo changed >file
rm directory/one
echo two >directory/two
cp template copied
echo changed | dd of=template conv=notrunc bs=1 seek=1000000 status=none
mv template moved
hold late late
sync

### windlass share clone s@before restored
### windlass access grant restored --any --squash none

### a share cloned from the snapshot has the files as they were, and is written
mount_share $VERSION restored /mnt/t
seq 10000 | cmp - /mnt/t/work/file
equal "$(cat /mnt/t/work/directory/one)" one
cmp /tmp/template /mnt/t/work/template
equal "$(ls /mnt/t/work)" $'directory\nfile\ntemplate'
echo more >>/mnt/t/work/file
equal "$(cat file)" changed
umount /mnt/t

### windlass share rollback s before --keep changed --yes

### the mount shows the files as they were
wait_until 90 test -e directory/one
drop
seq 10000 | cmp - file
equal "$(cat directory/one)" one
equal "$(ls directory)" one
cmp /tmp/template template
equal "$(ls)" $'directory\nfile\ntemplate'

### a file that the snapshot has is still open, one that it lacks is lost
equal "$(held file 'os.pread(f, 4, 0) == b"1\n2\n"')" True
equal "$(held file 'os.pwrite(f, b"X", 0), os.fsync(f)')" '(1, None)'
equal "$(held late 'os.pwrite(f, b"X", 0), os.fsync(f)')" $LOST

### windlass share rollback s changed --yes

### what was before the roll-back was kept, and comes back
wait_until 90 test -e moved
drop
equal "$(cat file)" changed
equal "$(ls directory)" two
cmp /tmp/template copied
fails differ cmp /tmp/template moved
end_held file
end_held late
