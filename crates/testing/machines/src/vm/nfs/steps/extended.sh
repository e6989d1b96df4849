# Operations of NFSv4.2 alone: extended attributes, and times that NFSv3 cannot hold.

### setfattr, getfattr
touch x
setfattr -n user.one -v first x
setfattr -n user.two -v second x
drop
equal "$(getfattr --only-values -n user.one x)" first
equal $(getfattr -d x | grep -c user) 2
setfattr -n user.one -v again x
equal "$(getfattr --only-values -n user.one x)" again
setfattr -x user.one x
drop
fails 'No such attribute' getfattr -n user.one x
equal $(getfattr -d x | grep -c user) 1

### of a directory
mkdir xd
setfattr -n user.d -v dir xd
drop
equal "$(getfattr --only-values -n user.d xd)" dir

### large and binary values
python3 -c "
import os
value = os.urandom(60000)
os.setxattr('x', 'user.large', value)
assert os.getxattr('x', 'user.large') == value
os.setxattr('x', 'user.empty', b'')
assert os.getxattr('x', 'user.empty') == b''
try:
    os.setxattr('x', 'user.empty', b'', os.XATTR_CREATE)
    raise SystemExit('created twice')
except FileExistsError: pass
try:
    os.setxattr('x', 'user.none', b'', os.XATTR_REPLACE)
    raise SystemExit('replaced nothing')
except OSError as error: assert error.errno == 61, error"

### 200 attributes
python3 -c "
import os
open('xs', 'w').close()
for n in range(200): os.setxattr('xs', f'user.name-{n}', str(n).encode())"; sync
drop
equal $(getfattr xs | grep -c user.name) 200

### cp -a takes them along
cp -a xs copied
drop
equal $(getfattr copied | grep -c user.name) 200

### times before 1970
touch -d 1950-01-01T00:00Z early
drop
equal $(stat -c %Y early) -631152000

### another user needs permission
chmod 600 x
fails 'Permission denied' as 1000 getfattr -n user.two x
fails 'Permission denied' as 1000 setfattr -n user.two -v no x

