# A share of 16 MiB, at /mnt/t.

### df shows its size
equal $(stat -f -c '%b * %S' /mnt/t | tr -d ' ' | bc 2>/dev/null || python3 -c "import os; s = os.statvfs('/mnt/t'); print(s.f_blocks * s.f_frsize)") 16777216

### a write that does not fit fails
head -c 4M /dev/urandom >/tmp/kept
cp /tmp/kept /mnt/t/kept
fails 'quota exceeded' dd if=/dev/urandom of=/mnt/t/large bs=1M count=20 conv=fsync || fails 'No space left' dd if=/dev/urandom of=/mnt/t/large bs=1M count=20 conv=fsync
drop
cmp /tmp/kept /mnt/t/kept

### space is there again after files were removed
rm /mnt/t/large
drop
head -c 8M /dev/urandom >/tmp/fits
cp /tmp/fits /mnt/t/fits
drop
cmp /tmp/fits /mnt/t/fits
rm /mnt/t/fits /mnt/t/kept
