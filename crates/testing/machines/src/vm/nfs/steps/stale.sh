# Files without a name, with NFSv3: the server knows of no open. As in shared.sh.

### a file that the other mount removed is stale
echo gone >file
exec 3<file
rm $OTHER/file
echo 3 >/proc/sys/vm/drop_caches
fails 'Stale file handle' cat <&3
