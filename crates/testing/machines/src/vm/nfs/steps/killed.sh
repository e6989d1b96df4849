# After the server was killed under the writers.

### no writer saw an error
touch /tmp/stop
wait_until 120 test -e /tmp/writers.status
cat /tmp/writers.out
equal $(cat /tmp/writers.status) 0

### everything in the journals is there
drop
cd /mnt
umount /mnt/s
mount_share 4.2 s /mnt/s
cd /mnt/s/work
python3 /tmp/writers.py check
