# Files without a name, with NFSv4: the server keeps what is open. As in shared.sh.

### a file that the other mount removed is read and written while it is open
echo kept >file
exec 3<>file
rm $OTHER/file
echo 3 >/proc/sys/vm/drop_caches
equal "$(cat <&3)" kept
echo more >&3
sync
exec 3>&-
[ ! -e file ]

### a file that the other mount replaced is read while it is open
echo old >file
exec 3<file
echo new >$OTHER/temporary
mv $OTHER/temporary $OTHER/file
echo 3 >/proc/sys/vm/drop_caches
equal "$(cat <&3)" old
