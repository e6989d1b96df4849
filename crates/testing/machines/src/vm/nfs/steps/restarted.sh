# The array ends and starts under open files and locks. The shell is in an empty directory of /mnt/s; $OTHER is the
# same directory through the mount of another client.

### a file is open, with locks of two kinds
echo before >file
hold file file
equal "$(held file 'fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 100)')" None
flock file.lock sleep 1000 >/dev/null 2>&1 &
wait_until 30 eval '! flock -n $OTHER/file.lock true'
python3 - <<'PYTHON'
import fcntl, os
other = os.open(os.environ['OTHER'] + '/file', os.O_RDWR)
try:
    fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 50)
    raise SystemExit('locked twice')
except OSError: pass
PYTHON

### $END

### locks are still held after the start
timeout 200 bash -c "fails '' flock -n $OTHER/file.lock true"
python3 - <<'PYTHON'
import fcntl, os
other = os.open(os.environ['OTHER'] + '/file', os.O_RDWR)
fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 100)
try:
    fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 50)
    raise SystemExit('locked twice')
except OSError: pass
PYTHON

### the open file is written under its lock, and the lock is given back
equal "$(held file 'os.pwrite(f, b"after ", 0), os.fsync(f)')" '(6, None)'
equal "$(held file 'fcntl.lockf(f, fcntl.LOCK_UN, 100)')" None
python3 -c "
import fcntl, os
other = os.open(os.environ['OTHER'] + '/file', os.O_RDWR)
fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)"
end_held file
pkill -x sleep
wait_until 60 flock -n $OTHER/file.lock true
drop
equal "$(head -c 6 $OTHER/file)" 'after '

### no lock or open file was lost
! dmesg | grep -iE 'reclaim|lost|state manager'
