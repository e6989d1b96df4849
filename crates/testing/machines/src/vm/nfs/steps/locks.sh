# Locks between two mounts of a share, /mnt/s and /mnt/other, which share no cache. The shell is in an empty
# directory of the first; $OTHER is the same directory through the second.

### flock: one holder at a time
touch lock
exec 3<>lock
flock -n 3
fails '' flock -n $OTHER/lock true
flock -u 3
flock -n $OTHER/lock true

### flock: shared and exclusive
exec 3<lock
flock -n -s 3
flock -n -s $OTHER/lock true
fails '' flock -n $OTHER/lock true
exec 3<&-
flock -n $OTHER/lock true

### a lock that is waited for is got
exec 3<>lock
flock 3
(flock $OTHER/lock touch got; touch ended) &
sleep 2
[ ! -e got ]
flock -u 3
wait_until 60 test -e ended
[ -e got ]

### the lock of a killed process is free
flock lock sleep 100 &
holder=$!
wait_until 20 eval '! flock -n $OTHER/lock true'
pkill -P $holder
kill $holder || true
wait_until 60 flock -n $OTHER/lock true

### fcntl: ranges, and who holds them
python3 - <<'END'
import fcntl, os, struct
head = 'hhqqi4x'
def lock(f, kind, start, length, command=fcntl.F_SETLK):
    return fcntl.fcntl(f, command, struct.pack(head, kind, os.SEEK_SET, start, length, 0))
def refused(f, kind, start, length):
    try: lock(f, kind, start, length)
    except OSError as error: return error.errno in (11, 13)
    return False
one = os.open('lock', os.O_RDWR)
other = os.open(os.environ['OTHER'] + '/lock', os.O_RDWR)
lock(one, fcntl.F_WRLCK, 0, 10)
assert refused(other, fcntl.F_RDLCK, 5, 1)
lock(other, fcntl.F_WRLCK, 10, 10)
assert refused(one, fcntl.F_WRLCK, 19, 1)
lock(one, fcntl.F_WRLCK, 20, 0)
assert refused(other, fcntl.F_WRLCK, 1 << 60, 1)
kind, whence, start, length, process = struct.unpack(head, lock(other, fcntl.F_WRLCK, 0, 1, fcntl.F_GETLK))
assert (kind, start, length) == (fcntl.F_WRLCK, 0, 10), (kind, start, length)
lock(one, fcntl.F_UNLCK, 3, 4)
lock(other, fcntl.F_WRLCK, 3, 4)
assert refused(other, fcntl.F_WRLCK, 2, 1) and refused(other, fcntl.F_WRLCK, 7, 1)
lock(one, fcntl.F_RDLCK, 0, 3)
lock(other, fcntl.F_RDLCK, 0, 3)
assert refused(other, fcntl.F_WRLCK, 0, 3)
os.close(one)
lock(other, fcntl.F_WRLCK, 0, 0)
END

### 200 locks of one file
python3 - <<'END'
import fcntl, os
f = os.open('lock', os.O_RDWR)
g = os.open(os.environ['OTHER'] + '/lock', os.O_RDWR)
for n in range(200): fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, n * 2)
for n in range(0, 200, 20):
    try:
        fcntl.lockf(g, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, n * 2)
        raise SystemExit(n)
    except OSError: pass
    fcntl.lockf(g, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, n * 2 + 1)
END

### what one mount writes under a lock, the other reads
python3 - <<'END'
import fcntl, os
paths = ['counter', os.environ['OTHER'] + '/counter']
open('counter', 'w').write('0')
for n in range(20):
    with open(paths[n % 2], 'r+') as f:
        fcntl.lockf(f, fcntl.LOCK_EX)
        assert int(f.read()) == n
        f.seek(0)
        f.write(str(n + 1))
        f.flush()
        os.fsync(f.fileno())
END
