# A mount with version $VERSION, by the command of the documentation.

### mount
mount_share $VERSION s /mnt/s

### nfsstat -m shows the version, TCP and transfers of 1 MiB
nfsstat -m | grep vers=$VERSION, | grep proto=tcp | grep rsize=1048576 | grep wsize=1048576

### df
df -B1 /mnt/s
[ $(stat -f -c %b /mnt/s) -gt 0 ]
df -i /mnt/s
[ $(stat -f -c %d /mnt/s) -gt 0 ]

### a file is written, and read from the server
echo hello >/mnt/s/hello
drop
equal "$(cat /mnt/s/hello)" hello
rm /mnt/s/hello

### umount
umount /mnt/s
