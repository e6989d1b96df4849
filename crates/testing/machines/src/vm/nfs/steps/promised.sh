# Allocation in the pool of full_pool.sh. The file allocated has 2 MiB that are promised.

### more than there is room for is not allocated, and nothing of it is
touch unallocated
before=$(room .)
fails 'No space left' fallocate -l 64M unallocated
drop
equal $(stat -c %s:%b unallocated) 0:0
[ $(room .) -ge $((before - 65536)) ]

### what was allocated is written
head -c 2M /tmp/kept | dd of=allocated conv=notrunc,fsync bs=64k iflag=fullblock status=none
drop
cmp -n 2097152 /tmp/kept allocated
