# Functions for the scripts that run in the guest. Every script is a bash of its own that reads this first.

# mount_share VERSION SHARE PLACE [OPTIONS]: mounts with the commands of the documentation.
mount_share() {
    case $1 in
        3) mount -t nfs -o vers=3,nolock,port=$PORT,mountport=$PORT,mountproto=tcp,proto=tcp${4:+,$4} $HOST:/$2 $3 ;;
        *) mount -t nfs4 -o vers=$1,port=$PORT,proto=tcp${4:+,$4} $HOST:/$2 $3 ;;
    esac
}

# mount_as_other_client VERSION SHARE PLACE: mounts as a second client, with a network and a name of its own.
mount_as_other_client() {
    if [ ! -e /run/netns/other ]; then
        ip netns add other
        ip link add outer type veth peer name inner
        ip link set inner netns other
        ip addr add 10.9.0.1/24 dev outer
        ip link set outer up
        nsenter --net=/run/netns/other ip addr add 10.9.0.2/24 dev inner
        nsenter --net=/run/netns/other ip link set inner up
        nsenter --net=/run/netns/other ip route add default via 10.9.0.1
        echo 1 >/proc/sys/net/ipv4/ip_forward
        nft 'add table ip other; add chain ip other out { type nat hook postrouting priority 100; }; add rule ip other out ip saddr 10.9.0.2 masquerade'
    fi
    nsenter --net=/run/netns/other unshare --uts sh -c "hostname other-client && mount -t nfs4 -o vers=$1,port=$PORT,proto=tcp,nosharecache $HOST:/$2 $3"
}

# fails ERROR COMMAND...: true when the command fails and prints this error.
fails() {
    local error=$1 text
    shift
    if text=$("$@" 2>&1); then
        echo "no error, and not $error, from $*"
        return 1
    fi
    case $text in
        *"$error"*) ;;
        *)
            echo "$text, and not $error"
            return 1
            ;;
    esac
}

# equal FOUND EXPECTED
equal() { [ "$1" = "$2" ] || { echo "$1 and not $2"; return 1; }; }

# operations PLACE NAME...: calls of these operations on a mount so far, one number a line.
operations() {
    local place=$1 name
    shift
    for name; do
        awk -v place="$place" -v name="$name:" '
            $1 == "device" { here = $5 == place }
            here && $1 == name { calls = $2 }
            END { print calls + 0 }' /proc/self/mountstats
    done
}

# room PLACE: bytes that a user may still write.
room() { python3 -c 'import os, sys; s = os.statvfs(sys.argv[1]); print(s.f_bavail * s.f_frsize)' "$1"; }

# sent_again PLACE: number of calls on a mount that were sent more than once.
sent_again() {
    awk -v place="$1" '
        $1 == "device" { here = $5 == place; operations = 0 }
        $1 == "per-op" { operations = 1 }
        here && operations && $1 ~ /:$/ && NF >= 9 { again += $3 - $2 }
        END { print again + 0 }' /proc/self/mountstats
}

# complaints: what the kernel's log says about NFS, and hung tasks; false when there is nothing.
complaints() {
    dmesg | grep -E '^[^]]*\] (NFS|nfs|RPC|rpc|lockd)|hung_task|blocked for more|BUG:|WARNING:' | grep -vE 'Registered|Registering|module'
}

# drop: forgets cached data and attributes of files.
drop() {
    sync
    echo 3 >/proc/sys/vm/drop_caches
}

# as USER COMMAND...: with this user and group and no others.
as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

# link_names DIRECTORY NUMBER: links to one new file, in few calls.
link_names() {
    touch "$1/../linked-$1"
    python3 -c 'import os, sys; [os.link(sys.argv[2], f"{sys.argv[1]}/name-{n}") for n in range(int(sys.argv[3]))]' "$1" "$1/../linked-$1" "$2"
}

# counted OPERATION NUMBER COMMAND...: the command makes so many calls of this operation on /mnt/s.
counted() {
    local operation=$1 number=$2 before
    shift 2
    before=$(operations /mnt/s "$operation")
    "$@" || return
    equal "$operation: $(($(operations /mnt/s "$operation") - before)) calls" "$operation: $number calls"
}

# wait_until SECONDS COMMAND...: true as soon as the command is, false when the time is over.
wait_until() {
    local limit=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $limit ] || return 1
        sleep 0.5
    done
}

# hold NAME FILE: starts a process that keeps a file open for reading and writing until end_held.
hold() {
    mkfifo /tmp/held-$1.ask /tmp/held-$1.answer
    python3 - held "$1" "$2" >/tmp/held-$1.log 2>&1 <<'PYTHON' &
import errno, fcntl, os, sys
name = sys.argv[2]
f = os.open(sys.argv[3], os.O_RDWR | os.O_CREAT)
while True:
    with open(f'/tmp/held-{name}.ask') as ask:
        words = ask.read()
    if words == 'end':
        break
    try:
        answer = repr(eval(words))
    except OSError as error:
        answer = errno.errorcode[error.errno]
    with open(f'/tmp/held-{name}.answer', 'w') as out:
        out.write(answer)
try:
    os.close(f)
except OSError:
    pass
os.unlink(f'/tmp/held-{name}.ask')
os.unlink(f'/tmp/held-{name}.answer')
PYTHON
    wait_until 30 test -e "$2"
}

# held NAME EXPRESSION: value of an expression of Python about the open file f, or the name of its error.
held() {
    [ -p /tmp/held-$1.ask ] || return
    printf %s "$2" >/tmp/held-$1.ask
    cat /tmp/held-$1.answer
}

# end_held NAME: closes the file and ends the process.
end_held() {
    [ -p /tmp/held-$1.ask ] || return
    printf end >/tmp/held-$1.ask
    wait_until 30 test ! -e /tmp/held-$1.ask
}
