# Clones of a file that a process writes through another mount. The shell is in an empty directory of /mnt/s; $OTHER is
# the same directory through a mount that shares no cache.

### every clone has the file as of one instant
cat >/tmp/counting.py <<'PYTHON'
# Writes the numbers 1, 2, … to the blocks of a file in turn, each durable before the next.
import os, sys
BLOCK, BLOCKS = 4096, 64
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
number = 0
while not os.path.exists('/tmp/counting.stop'):
    number += 1
    assert os.pwrite(f, b'%-16d' % number * (BLOCK // 16), number % BLOCKS * BLOCK) == BLOCK
    os.fsync(f)
    open('/tmp/counting.number', 'w').write(str(number))
PYTHON
rm -f /tmp/counting.stop /tmp/counting.number
python3 /tmp/counting.py $OTHER/counted >/tmp/counting.log 2>&1 &
writer=$!
wait_until 120 eval '[ "$(cat /tmp/counting.number)" -gt 64 ]'
for n in $(seq 20); do
    counted CLONE 1 cp --reflink=always counted clone-$n
done
touch /tmp/counting.stop
wait $writer
cat /tmp/counting.number
drop
python3 - <<'PYTHON'
BLOCK, BLOCKS = 4096, 64
last = 0
for n in range(1, 21):
    blocks = []
    with open(f'clone-{n}', 'rb') as clone:
        while block := clone.read(BLOCK):
            assert block == block[:16] * (BLOCK // 16), (n, 'a block of two writes')
            blocks.append(int(block[:16]))
    assert len(blocks) == BLOCKS
    newest = max(blocks)
    for place, number in enumerate(blocks):
        assert number % BLOCKS == place and number > newest - BLOCKS, (n, place, number, newest)
    assert newest >= last, 'a later clone is older'
    last = newest
assert last > BLOCKS + 20, 'the writer did not write meanwhile'
PYTHON
