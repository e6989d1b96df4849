# A share with at most 16 MiB of room.

### df shows it
room=$(python3 -c "import os; s = os.statvfs('.'); print(s.f_bavail * s.f_frsize)")
echo $room
[ $room -gt 4194304 -a $room -le 16777216 ]

### a write that does not fit fails
head -c 2M /dev/urandom >/tmp/kept
cp /tmp/kept kept
text=$(dd if=/dev/urandom of=large bs=1M count=20 conv=fsync 2>&1) && exit 1
case $text in *'quota exceeded'* | *'No space left'*) ;; *) echo "$text"; exit 1 ;; esac
drop
cmp /tmp/kept kept

### space is there again after files were removed
rm large
drop
wait_until 30 eval '[ $(stat -f -c %a .) -gt 1024 ]'
head -c 4M /dev/urandom >/tmp/fits
cp /tmp/fits fits
drop
cmp /tmp/fits fits
rm fits kept
