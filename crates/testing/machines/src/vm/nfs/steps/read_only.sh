# A share that refuses changes, at /mnt/t; its files are those of /mnt/s.

### files are read
echo words >file
equal "$(cat /mnt/t/work/file)" words
ls -l /mnt/t/work

### every change is refused
fails 'Read-only file system' touch /mnt/t/work/file
fails 'Read-only file system' touch /mnt/t/work/new
fails 'Read-only file system' mkdir /mnt/t/work/new
fails 'Read-only file system' rm -f /mnt/t/work/file
fails 'Read-only file system' mv /mnt/t/work/file /mnt/t/work/other
fails 'Read-only file system' ln /mnt/t/work/file /mnt/t/work/link
fails 'Read-only file system' ln -s x /mnt/t/work/symbolic
fails 'Read-only file system' chmod 600 /mnt/t/work/file
fails 'Read-only file system' bash -c 'echo x >>/mnt/t/work/file'
fails 'Read-only file system' truncate -s 0 /mnt/t/work/file
equal "$(cat file)" words
