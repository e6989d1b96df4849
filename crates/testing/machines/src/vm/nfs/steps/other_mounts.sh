# Other ways to mount, and mounts that are refused.

### mount without a version takes 4.2
mount -t nfs -o port=$PORT $HOST:/s /mnt/s
nfsstat -m | grep vers=4.2
umount /mnt/s

### the root of all shares
mount_share 4.2 '' /mnt/s
ls /mnt/s
ls /mnt/s/s
echo x >/mnt/s/t/x
rm /mnt/s/t/x
fails 'Read-only' mkdir /mnt/s/new
umount /mnt/s/s /mnt/s/t
umount /mnt/s

### a directory of a share
mount_share 4.2 s /mnt/s
mkdir -p /mnt/s/a/b
mount_share 4.2 s/a /mnt/t
ls -d /mnt/t/b
umount /mnt/t
mount_share 3 s/a /mnt/t
ls -d /mnt/t/b
umount /mnt/t
rm -r /mnt/s/a
umount /mnt/s

### four connections
mount_share 4.2 s /mnt/s nconnect=4
dd if=/dev/zero of=/mnt/s/zeros bs=1M count=16 conv=fsync status=none
[ $(grep -c xprt: /proc/self/mountstats) -ge 4 ]
rm /mnt/s/zeros
umount /mnt/s

### small transfers
head -c 256k /dev/urandom >/tmp/data
mount_share 4.2 s /mnt/s rsize=4096,wsize=4096
cp /tmp/data /mnt/s
drop
cmp /tmp/data /mnt/s/data
rm /mnt/s/data
umount /mnt/s

### synchronous, without caches of attributes
mount_share 4.2 s /mnt/s sync,noac
cp /tmp/data /mnt/s
cmp /tmp/data /mnt/s/data
rm /mnt/s/data
umount /mnt/s

### a share that does not exist is refused, with 4.2
fails 'No such file' mount_share 4.2 none /mnt/s retry=0

### a share that does not exist is refused, with 3
fails 'access denied' mount_share 3 none /mnt/s retry=0

### NFSv4.0 is refused
fails 'not supported' mount -t nfs4 -o vers=4.0,port=$PORT,retry=0 $HOST:/s /mnt/s
