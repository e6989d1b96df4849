# Programs that people use, in an empty directory of a share.

### git: init, commit, clone, branches, gc, fsck
git init -q -b main one
cd one
for n in $(seq 5); do
    seq $((n * 100)) >file
    mkdir -p dir-$n
    echo $n >dir-$n/name
    git add -A
    git commit -q -m "number $n"
done
git checkout -q -b other HEAD~2
echo other >other
git add other
git commit -q -m other
git merge -q -m merge main
git gc -q --prune=now
git fsck --strict
cd ..
git clone -q one two
diff -r --exclude=.git one two
git -C two log --oneline | wc -l
equal $(git -C two log --oneline | wc -l) 7
equal "$(git -C two status --porcelain)" ''

### sqlite3: every journal mode, and two processes at a time
for mode in delete truncate persist wal; do
    sqlite3 $mode.db "pragma journal_mode=$mode; create table t (n integer primary key, s text);" >/dev/null
    (for n in $(seq 1 2 5); do sqlite3 -cmd '.timeout 60000' $mode.db "insert into t values ($n, hex(randomblob(500)));"; done) &
    (for n in $(seq 2 2 6); do sqlite3 -cmd '.timeout 60000' $mode.db "insert into t values ($n, hex(randomblob(500)));"; done)
    wait $!
    equal $(sqlite3 $mode.db 'select count(*) from t;') 6
    equal $(sqlite3 $mode.db 'pragma integrity_check;') ok
done

### sqlite3: a transaction that is rolled back
sqlite3 rolled.db "create table t (n); begin; insert into t values (1); rollback; insert into t values (2);"
equal $(sqlite3 rolled.db 'select group_concat(n) from t;') 2

### tar: a tree with links, modes and times
tar -C /etc -cf /tmp/etc.tar .
mkdir untarred
tar -C untarred -xpf /tmp/etc.tar
drop
tar -C untarred -df /tmp/etc.tar

### rsync: copies a tree, and finds nothing to do then
rsync -aH --numeric-ids /etc/ synced/
equal "$(rsync -aHc --numeric-ids --itemize-changes /etc/ synced/ | grep -v '^\.d\.\.t' || true)" ''
diff -r --no-dereference /etc synced

### rsync: changes files in place, and deletes those that the source lacks
rsync -a --inplace --delete /etc/udev/ synced/
diff -r --no-dereference /etc/udev synced

### cp -a and diff of the copy on the share
cp -a untarred again
diff -r --no-dereference untarred again

### gzip, sort and others with temporary files
seq 20000 | sort -R -T . -S 64k | sort -n -T . -S 64k >sorted
cmp sorted <(seq 20000)
gzip -k sorted
gunzip -c sorted.gz | cmp - sorted
sed -i 's/^1$/one/' sorted
equal "$(head -1 sorted)" one

### a program runs from the share
cp /bin/true /bin/cat .
./true
equal "$(echo through | ./cat)" through
