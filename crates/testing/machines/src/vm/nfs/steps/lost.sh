# The kernel's log after snapshots.sh with NFSv4.

### the kernel tells of the lost file, and of nothing else
complaints
equal "$(complaints | wc -l)" 1
complaints | grep 'state recovery failed for open file work/late'
dmesg -C
