# The pool has room again, under the mount of full_pool.sh and the process of trying.sh.

### the process writes all that it has
wait_until 120 test -s /tmp/trying.done
cat /tmp/trying.log
drop
cat /tmp/kept /tmp/kept /tmp/kept /tmp/kept | cmp - tried

### further files are written
cp /tmp/kept further
drop
cmp /tmp/kept further
cmp /tmp/kept kept
