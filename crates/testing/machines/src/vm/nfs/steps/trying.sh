# A process that goes on until the pool of full_pool.sh has room.

### a process goes on trying
rm -f /tmp/trying.*
cat >/tmp/trying.py <<'PYTHON'
import errno, os, time
content = open('/tmp/kept', 'rb').read() * 4
f = os.open('tried', os.O_RDWR | os.O_CREAT)
refused = 0
while True:
    try:
        assert os.pwrite(f, content, 0) == len(content)
        os.fsync(f)
        break
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
        refused += 1
        open('/tmp/trying.refused', 'w').write(str(refused))
        time.sleep(0.5)
os.close(f)
open('/tmp/trying.done', 'w').write(str(refused))
PYTHON
python3 /tmp/trying.py >/tmp/trying.log 2>&1 &
wait_until 120 test -s /tmp/trying.refused
[ ! -e /tmp/trying.done ]
