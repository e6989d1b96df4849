# What one client does to files that another has in use. The shell is in an empty directory of /mnt/s; $OTHER is
# the same directory through another mount, which shares no cache.

### a closed file is seen by the other mount
echo one >file
equal "$(cat $OTHER/file)" one
echo longer >file
equal "$(cat $OTHER/file)" longer

### a directory that the other mount removed is stale
mkdir gone
cd gone
rmdir $OTHER/gone
fails 'Stale file handle' ls -l .

### a name that the other mount replaced leads to the new file
echo old >name
exec 3<name
echo new >$OTHER/new
mv $OTHER/new $OTHER/name
sleep 1
equal "$(cat name)" new

### appending through both mounts, one after the other
for n in 1 2 3 4; do
    echo $n >>log
    echo other $n >>$OTHER/log
done
equal "$(wc -l <log)" 8
equal "$(grep -c other log)" 4

### a file is created exclusively once
for n in $(seq 10); do
    (set -C; echo 1 >excl-$n) 2>/dev/null & one=$!
    (set -C; echo 2 >$OTHER/excl-$n) 2>/dev/null & two=$!
    won=0
    wait $one && won=$((won + 1))
    wait $two && won=$((won + 1))
    equal $won 1
done
