//! Shares, and access to them.

use super::{Array, ESX01};

#[test]
fn shares_from_creation_to_deletion() {
    let array = Array::start();
    assert_eq!(
        array.ok(&["share", "create", "vms", "--owner", "1000:100", "--mode", "2770", "--protocols", "v4"]),
        "NAME  USED  UNIQUE  SNAPS  PROTOCOLS  HOSTS\nvms    0 B     0 B    0 B  v4         –\n"
    );
    for (words, status, part) in [
        (&["share", "create", "vms"][..], 4, "share vms exists already with the owner 1000:100"),
        (&["share", "create", "x", "--quota", "1000K"], 2, "multiples of 1 MiB"),
        (&["share", "create", "x", "--copy", "twice"], 2, "possible values: share, physical"),
        (
            &[
                "share",
                "create",
                "vms",
                "--owner",
                "1000:100",
                "--mode",
                "2770",
                "--protocols",
                "v4",
                "--copy",
                "physical",
            ],
            4,
            "with the copy policy share",
        ),
        (&["share", "create", "x", "--mode", "9"], 2, "octal digits, such as 0755"),
        (&["share", "create", "x", "--owner", "me"], 2, "such as 1000:1000"),
        (&["share", "set", "vms"], 2, "nothing to change"),
        (&["share", "show", "nosuch"], 3, "windlass share list"),
        (&["volume", "create", "vms", "--size", "1G"], 4, "windlass share show vms"),
    ] {
        let refused = array.run(words);
        assert!(refused.status == status && refused.err.contains(part), "{words:?}: {refused:?}");
    }
    array.ok(&["share", "set", "vms", "--copy", "physical"]);
    assert_eq!(array.ok(&["share", "list", "--columns", "name,copy"]), "NAME  COPY\nvms   physical\n");
    array.ok(&["share", "set", "vms", "--copy", "share"]);
    let quota = |words: &[&str]| {
        array.ok(&[&["share", "set", "vms", "--quota"], words].concat());
        array.ok(&["share", "list", "--columns", "name,quota"])
    };
    assert_eq!(quota(&["2T"]), "NAME  QUOTA\nvms   2 TiB\n");
    assert!(array.ok(&["share", "show", "vms"]).contains("2 TiB"));
    assert_eq!(quota(&["none"]), "NAME  QUOTA\nvms   –\n");
    array.ok(&["snapshot", "create", "vms", "monday"]);
    let list = array.ok(&["snapshot", "list", "vms", "--columns", "volume,name,size"]);
    assert_eq!(list, "VOLUME  NAME    SIZE\nvms     monday  –\n");
    array.ok(&["share", "clone", "vms@monday", "test"]);
    let tree = array.ok(&["snapshot", "tree", "vms", "--columns", "name,kind"]);
    assert_eq!(tree, "NAME          KIND\nvms           share\n  vms@monday  snapshot\n    test      share\n");
    let wrong = array.run(&["volume", "clone", "vms@monday", "v1"]);
    assert!(wrong.err.contains("windlass share clone vms@monday NAME"), "{}", wrong.err);
    array.ok(&["share", "set", "vms", "--name", "machines", "--protocols", "v3,v4", "--new-handles", "--yes"]);
    let shown = array.ok(&["share", "show", "machines"]);
    assert!(shown.contains("mount -t nfs -o vers=4.2,hard 127.0.0.1:/machines DIRECTORY"), "{shown}");
    let rolled = array.run(&["share", "rollback", "machines", "monday", "--keep", "before", "--yes"]);
    assert_eq!((rolled.status, rolled.err.as_str()), (0, "share machines is as it was in snapshot monday\n"));
    let kept = array.run(&["share", "delete", "machines", "--yes"]);
    assert!(kept.err.contains("windlass share delete machines --with-snapshots"), "{}", kept.err);
    assert_eq!(array.run(&["share", "delete", "machines"]).status, 2);
    array.ok(&["share", "delete", "machines", "test", "--with-snapshots", "--yes"]);
    assert_eq!(array.ok(&["share", "list", "-o", "json"]), "[]\n");
}

/// The array in memory serves no files: commands for them get as far as its file systems.
#[test]
fn files_are_named_by_share_and_path() {
    let array = Array::start();
    array.ok(&["share", "create", "vms"]);
    for (words, status, part) in [
        (&["file", "list", "vms/dir", "--space"][..], 4, "the array serves no files at present"),
        (&["file", "stat", "vms/dir/a.img"], 4, "configure NFS"),
        (&["file", "stat", "vms"], 2, "write SHARE/PATH"),
        (&["file", "clone", "vms/t.img", "vms/a.img"], 4, "share-not-open"),
        (&["file", "clone", "vms/t.img", "volume:vm1"], 4, "share-not-open"),
        (&["file", "clone", "volume:vm1", "vms/a.img"], 4, "share-not-open"),
        (&["file", "clone", "volume:v1", "volume:v2"], 2, "windlass volume clone v1 v2"),
        (&["file", "clone", "vms/t.img", "volume:vm1", "--mode", "0600"], 2, "not about a volume"),
        (&["file", "clone", "vms/t.img", "vms"], 2, "write SHARE/PATH"),
        (&["file", "reserve", "vms/a.img"], 4, "share-not-open"),
        (&["file", "punch", "vms/a.img", "1G-2G", "--yes"], 2, "OFFSET+LENGTH"),
        (&["file", "punch", "vms/a.img", "1G+64M", "--yes"], 4, "share-not-open"),
        (&["file", "list", "none"], 3, "windlass share list"),
    ] {
        let refused = array.run(words);
        assert!(refused.status == status && refused.err.contains(part), "{words:?}: {refused:?}");
    }
}

#[test]
fn access_is_granted_by_the_noun_that_has_the_name() {
    let array = Array::start();
    array.ok(&["share", "create", "vms"]);
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["host", "create", "pve1", "--address", "10.0.0.11", "--address", "fd00::11", "--iqn", ESX01]);
    let taken = array.run(&["host", "create", "pve2", "--address", "10.0.0.11"]);
    assert!(taken.status == 4 && taken.err.contains("windlass host show pve1"), "{taken:?}");
    array.ok(&["host-group", "create", "g", "pve1"]);
    array.ok(&["access", "grant", "v1", "--host", "pve1"]);
    assert_eq!(
        array.ok(&["access", "grant", "vms", "--host", "pve1"]),
        "SHARE  HOST  ACCESS\nvms    pve1  read-write, squash none\n"
    );
    array.ok(&["access", "grant", "vms", "--group", "g", "--squash", "all", "--anon", "5:6", "--privileged-port"]);
    array.ok(&["access", "grant", "vms", "--network", "10.0.0.0/24", "--read-only"]);
    array.ok(&["access", "grant", "vms", "--any"]);
    let note = array.run(&["access", "grant", "vms", "--any"]).err;
    assert_eq!(note, "note: access any:vms already existed, with the same parameters\n");
    assert_eq!(
        array.ok(&["access", "list", "--columns", "volume,share,host,lun,access"]),
        "VOLUME  SHARE  HOST         LUN  ACCESS\n\
         v1      –      pve1           0  –\n\
         –       vms    pve1           –  read-write, squash none\n\
         –       vms    group:g        –  read-write, squash all\n\
         –       vms    10.0.0.0/24    –  read-only, squash root\n\
         –       vms    any            –  read-write, squash root\n"
    );
    assert_eq!(array.ok(&["share", "list", "--columns", "hosts"]), "HOSTS\npve1 group:g 10.0.0.0/24:ro any\n");
    for (words, names) in [
        (&["--volume", "v1"][..], "pve1:0\n"),
        (&["--network", "10.0.0.0/24"], "10.0.0.0/24:vms\n"),
        (&["--share", "vms", "--host", "pve1"], "pve1:vms\n"),
        (&["--host", "pve1"], "pve1:0\npve1:vms\n"),
    ] {
        assert_eq!(array.ok(&[&["access", "list", "-o", "name"], words].concat()), names, "{words:?}");
    }
    for (words, status, part) in [
        (&["access", "grant", "vms", "--any", "--lun", "3"][..], 3, "no volume vms"),
        (&["access", "grant", "v1", "--any", "--read-only"], 3, "no share v1"),
        (&["access", "grant", "v1", "--any", "--read-only", "--lun", "3"], 2, "--lun is for volumes"),
        (&["access", "grant", "vms", "--network", "10.0.0.1/24"], 2, "the network of this address is 10.0.0.0/24"),
        (&["access", "revoke", "vms", "--network", "10.0.0.0/8", "--yes"], 3, "no access"),
        (&["access", "revoke", "vms", "--host", "nosuch", "--yes"], 3, "no host nosuch"),
        (&["share", "delete", "vms", "--yes"], 4, "windlass access revoke vms --all"),
        (&["host", "set", "pve1", "--no-address", "--address", "10.0.0.1"], 2, "cannot be used with"),
    ] {
        let refused = array.run(words);
        assert!(refused.status == status && refused.err.contains(part), "{words:?}: {refused:?}");
    }
    let revoked = array.run(&["access", "revoke", "vms", "--network", "10.0.0.0/24", "--yes"]);
    assert_eq!((revoked.status, revoked.err.as_str()), (0, "access of network 10.0.0.0/24 to share vms revoked\n"));
    array.ok(&["access", "revoke", "vms", "--all", "--yes"]);
    array.ok(&["access", "revoke", "v1", "--all", "--yes"]);
    assert_eq!(array.ok(&["access", "list", "-o", "json"]), "[]\n");
    array.ok(&["share", "delete", "vms", "--yes"]);
    let addresses = array.ok(&["host", "set", "pve1", "--address", "10.0.0.12", "--columns", "addresses"]);
    assert_eq!(addresses, "ADDRESSES\n10.0.0.12\n");
}

/// The table of VNX and the clients of a share need no array with shares that were used: all numbers are 0.
#[test]
fn statistics_of_shares_have_their_tables() {
    let array = Array::start();
    array.ok(&["share", "create", "vms"]);
    let stat = array.ok(&["share", "stat", "vms"]);
    for line in
        ["NAME           vms", "UNIQUE         0 B", "SNAPS          0 B", "READS          0", "WRITE P99      –"]
    {
        assert!(stat.lines().any(|found| found == line), "{line}: {stat}");
    }
    let json = array.ok(&["share", "stat", "vms", "-o", "json"]);
    assert!(json.contains("\"mapped_bytes\": 0") && json.contains("\"written_bytes\": 0"), "{json}");
    assert_eq!(array.run(&["share", "stat", "nosuch"]).status, 3);
    assert_eq!(array.ok(&["offload", "stats", "--by", "client", "-o", "json"]), "[]\n");
    let table = array.ok(&["offload", "stats", "--layout", "vnx"]);
    let rows: Vec<_> = table.lines().map(|line| line.split_whitespace().rev().take(4).count()).collect();
    assert_eq!((rows.len(), table.contains("vaaiReserveSpace")), (7, true), "{table}");
    let usage = array.run(&["offload", "stats", "vms", "--interval", "1"]);
    assert!(usage.status == 2 && usage.err.contains("--layout"), "{usage:?}");
}

#[test]
fn connecting_a_host_prints_what_it_enters() {
    let array = Array::start();
    array.ok(&["share", "create", "vms"]);
    array.ok(&["share", "create", "old", "--protocols", "v3"]);
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["host", "create", "pve1", "--address", "10.0.0.11", "--iqn", ESX01]);
    let without = array.run(&["connect", "linux", "pve1", "--share", "vms"]);
    assert!(without.status == 0 && without.err.contains("windlass access grant vms --host pve1"), "{without:?}");
    array.ok(&["access", "grant", "vms", "--host", "pve1"]);
    array.ok(&["access", "grant", "old", "--any", "--read-only"]);
    let printed = array.run(&["connect", "linux", "pve1", "--share", "vms", "--address", "192.0.2.7:12049"]);
    assert!(printed.err.is_empty(), "{printed:?}");
    for line in [
        "# Mount share vms on pve1 (read-write, squash none, by the rule for pve1), on the host, as root",
        "mount -t nfs -o vers=4.2,hard,port=12049 192.0.2.7:/vms /mnt/vms",
        r"printf '%s\n' '192.0.2.7:/vms /mnt/vms  nfs  vers=4.2,hard,port=12049,_netdev,nofail  0  0' >>/etc/fstab",
        "windlass offload stats vms --by client",
    ] {
        assert!(printed.out.lines().any(|found| found == line), "{line}: {}", printed.out);
    }
    let old = array.ok(&["connect", "linux", "pve1", "--share", "old", "--directory", "/srv/old"]);
    let mount = "mount -t nfs -o vers=3,hard,proto=tcp,nolock,mountport=2049,ro 127.0.0.1:/old /srv/old";
    assert!(old.lines().any(|line| line == mount), "{old}");
    let shown = array.ok(&["share", "show", "old"]);
    let mount = "mount -t nfs -o vers=3,hard,proto=tcp,nolock,mountport=2049 127.0.0.1:/old DIRECTORY";
    assert!(shown.contains(mount), "{shown}");
    // A rule for a group that the host is in grants, too.
    array.ok(&["host-group", "create", "pve", "pve1"]);
    array.ok(&["share", "create", "grouped"]);
    array.ok(&["access", "grant", "grouped", "--group", "pve"]);
    let grouped = array.run(&["connect", "linux", "pve1", "--share", "grouped"]);
    let purpose =
        "# Mount share grouped on pve1 (read-write, squash none, by the rule for group:pve), on the host, as root";
    assert!(grouped.err.is_empty() && grouped.out.lines().any(|line| line == purpose), "{grouped:?}");
    array.ok(&["host", "create", "web1", "--iqn", "iqn.2026-01.org.example:web1"]);
    let unknown = array.run(&["connect", "linux", "web1", "--share", "vms"]);
    assert!(unknown.err.contains("windlass host set web1 --address ADDRESS"), "{unknown:?}");
    let ungranted = array.run(&["connect", "linux", "pve1", "--volume", "v1"]);
    assert!(ungranted.err.contains("windlass access grant v1 --host pve1"), "{ungranted:?}");
    array.ok(&["access", "grant", "v1", "--group", "pve"]);
    let granted = array.run(&["connect", "linux", "pve1", "--volume", "v1"]);
    assert!(granted.err.is_empty(), "{granted:?}");
    let other = array.run(&["connect", "linux", "web1", "--volume", "v1"]);
    assert!(other.err.contains("windlass access grant v1 --host web1"), "not in the group: {other:?}");
    array.ok(&["access", "revoke", "v1", "--group", "pve", "--yes"]);
    array.ok(&["access", "grant", "v1", "--host", "pve1"]);
    let volume = array.ok(&["connect", "linux", "pve1", "--volume", "v1"]);
    assert!(volume.contains("iscsiadm -m discovery -t sendtargets -p 127.0.0.1:"), "{volume}");
    assert_eq!(array.run(&["connect", "linux", "nosuch", "--share", "vms"]).status, 3);
}
