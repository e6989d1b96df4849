# Rules of access that change under a mount of the share t at /mnt/t, with version $VERSION.

### a file is written and kept open
mount_share $VERSION t /mnt/t
echo words >/mnt/t/file
hold held /mnt/t/held
equal "$(held held 'os.write(f, b"one"), os.fsync(f)')" '(3, None)'

### windlass access grant t --any --squash none --read-only

### every change is refused, through the open file too
drop
equal "$(held held 'os.write(f, b"two"), os.fsync(f)')" EROFS
fails 'Read-only file system' mkdir /mnt/t/new
fails 'Read-only file system' rm -f /mnt/t/file
equal "$(cat /mnt/t/file)" words
equal "$(cat /mnt/t/held)" one

### windlass access revoke t --any --yes

### without a rule nothing is read
wait_until 60 fails 'Permission denied' ls /mnt/t
drop
fails 'Permission denied' cat /mnt/t/file
fails 'Permission denied' touch /mnt/t/new

### windlass access grant t --any --squash none

### with the rule again the mount works, and the open file is written
wait_until 60 touch /mnt/t/new
equal "$(cat /mnt/t/file)" words
equal "$(held held 'os.pwrite(f, b"three", 0), os.fsync(f)')" '(5, None)'
end_held held
drop
equal "$(cat /mnt/t/held)" three

### windlass access grant t --any --squash root

### user 0 is another user
wait_until 60 fails 'Permission denied' touch /mnt/t/as-root
fails 'not permitted' chown 1000 /mnt/t/file
equal "$(cat /mnt/t/file)" words

### windlass access grant t --any --squash none

### the files are removed
wait_until 60 touch /mnt/t/again
rm /mnt/t/file /mnt/t/held /mnt/t/new /mnt/t/again
umount /mnt/t
