# Functions for the scripts that run in the guest. Every script is a bash of its own that reads this first.

# sessions_of INITIATOR [PORT]: names of the iSCSI sessions with this initiator name, through this portal.
sessions_of() {
    local session connection name port
    for session in /sys/class/iscsi_session/session*; do
        [ -e "$session/initiatorname" ] || continue
        read -r name <"$session/initiatorname"
        [ "$name" = "$1" ] || continue
        connection=${session/iscsi_session\/session/iscsi_connection\/connection}:0
        read -r port <"$connection/persistent_port" || continue
        [ "${2:-$port}" = "$port" ] && echo "${session##*/}"
    done
}

# disk INITIATOR PORT LUN: the block device; waits for it up to 30 s.
disk() {
    local session block tries
    for ((tries = 0; tries < 60; tries++)); do
        for session in $(sessions_of "$1" "$2"); do
            for block in /sys/class/iscsi_session/"$session"/device/target*/*:*:*:"$3"/block/*; do
                [ -b "/dev/${block##*/}" ] && { echo "/dev/${block##*/}"; return; }
            done
        done
        sleep 0.5
    done
    echo "no disk for $*" >&2
    return 1
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

# running_paths MAP NUMBER: true when multipathd counts so many active paths in the map.
running_paths() { multipathd show maps raw format '%n=%N' | grep -qx "$1=$2"; }
