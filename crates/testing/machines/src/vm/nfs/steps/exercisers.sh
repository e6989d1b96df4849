# Random operations on a file, compared with a model, in an empty directory of a share.

### cargo xtask fsx
/run/xtask fsx own --operations 4000 --size 262144

### fsx, with NFSv4.2's operations where the version has them
cat >/tmp/fsx.toml <<'END'
flen = 262144
[opsize]
max = 32768
min = 1
[weights]
close_open = 1
invalidate = 1
mapread = 10
mapwrite = 10
read = 10
write = 10
truncate = 5
fsync = 1
fdatasync = 1
sendfile = 3
END
if [ $VERSION = 4.2 ]; then
    printf 'posix_fallocate = 3\npunch_hole = 5\ncopy_file_range = 5\n' >>/tmp/fsx.toml
fi
mkdir -p /tmp/fsx
/run/tools/fsx -f /tmp/fsx.toml -N 3000 -S 7 -P /tmp/fsx exercised

### fio: four processes write at random, and verify what they wrote
fio --name=verified --directory=$PWD --ioengine=libaio --iodepth=4 --direct=1 --rw=randrw --bsrange=4k-64k --size=4M \
    --numjobs=4 --verify=crc32c --verify_fatal=1 --verify_backlog=64 --group_reporting >/tmp/fio.log 2>&1 || { tail -20 /tmp/fio.log; exit 1; }
grep -E 'err= 0' /tmp/fio.log
rm verified.*

### fio: buffered writes and fsync, verified after the cache was dropped
fio --name=buffered --directory=$PWD --ioengine=psync --rw=randwrite --bs=3k --size=1536k --numjobs=2 --fsync=32 --verify=crc32c \
    --do_verify=0 >/tmp/fio.log 2>&1 || { tail -20 /tmp/fio.log; exit 1; }
drop
fio --name=buffered --directory=$PWD --ioengine=psync --rw=randwrite --bs=3k --size=1536k --numjobs=2 --verify=crc32c --verify_only \
    --verify_fatal=1 >/tmp/fio.log 2>&1 || { tail -20 /tmp/fio.log; exit 1; }
rm buffered.*
