# A directory of a share whose pool has little room. It has the files kept and overwritten, with the content of
# /tmp/kept.

### files are created until there is no room
mkdir many
python3 - <<'PYTHON'
import errno, os
created = 0
try:
    for created in range(4000):
        f = os.open(f'many/{created}', os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            os.write(f, b'%08d' % created * 8192)
            os.fsync(f)
        finally:
            try: os.close(f)
            except OSError: pass
except OSError as error:
    assert error.errno == errno.ENOSPC, error
open('/tmp/created', 'w').write(str(created))
PYTHON
cat /tmp/created
[ $(cat /tmp/created) -gt 20 -a $(cat /tmp/created) -lt 4000 ]

### every file that was created before is whole
drop
python3 - <<'PYTHON'
import os
created = int(open('/tmp/created').read())
for number in range(created):
    assert open(f'many/{number}', 'rb').read() == b'%08d' % number * 8192, number
names = set(os.listdir('many'))
assert {str(number) for number in range(created)} <= names <= {str(number) for number in range(created + 1)}, names
PYTHON

### a write to the file of an earlier content fails or is whole, and the rest of the file stays
python3 - <<'PYTHON'
import errno, os
kept = open('/tmp/kept', 'rb').read()
f = os.open('overwritten', os.O_RDWR)
new = b'n' * 65536
done = 0
try:
    for done in range(64):
        os.pwrite(f, new, done * 65536)
        os.fsync(f)
    done = 64
except OSError as error:
    assert error.errno == errno.ENOSPC, error
try: os.close(f)
except OSError: pass
open('/proc/sys/vm/drop_caches', 'w').write('3')
found = open('overwritten', 'rb').read()
assert len(found) == len(kept)
assert found[:done * 65536] == new * done, 'an acknowledged write is lost'
for place in range(done * 65536, len(kept), 4096):
    block = found[place:place + 4096]
    assert block in (kept[place:place + 4096], new[:4096]), place
assert found[(done + 1) * 65536:] == kept[(done + 1) * 65536:], 'a write went beyond its end'
print(done)
PYTHON

### nothing else has changed
cmp /tmp/kept kept
ls -l >/dev/null

### files are renamed and removed
mv kept renamed
mv renamed kept
rm many/0 many/1
[ ! -e many/0 ]
