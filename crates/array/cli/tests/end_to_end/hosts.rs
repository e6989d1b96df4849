//! Hosts, their secrets, and host groups.

use super::{Array, ESX01};

#[test]
fn a_host_group_is_granted_as_one() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    for host in ["esx01", "esx02"] {
        array.ok(&["host", "create", host, "--iqn", &format!("iqn.1998-01.com.vmware:{host}-g")]);
    }
    array.ok(&["host-group", "create", "c1", "esx01", "esx02"]);
    array.ok(&["access", "grant", "v1", "--group", "c1", "--lun", "3"]);
    assert_eq!(array.ok(&["host-group", "list"]), "NAME  HOSTS        LUNS\nc1    esx01 esx02  3:v1\n");
    assert_eq!(
        array.ok(&["access", "list", "--group", "c1", "--columns", "volume,host,lun"]),
        "VOLUME  HOST      LUN\nv1      group:c1    3\n"
    );
    let refused = array.run(&["host-group", "delete", "c1", "--yes"]);
    assert_eq!(refused.status, 4);
    assert!(refused.err.contains("windlass access revoke VOLUME --group c1"), "{}", refused.err);
    let refused = array.run(&["host", "delete", "esx01", "--yes"]);
    assert!(refused.err.contains("windlass host-group set GROUP --remove esx01"), "{}", refused.err);
    assert_eq!(array.run(&["host-group", "set", "c1"]).status, 2);
    array.ok(&["host-group", "set", "c1", "--remove", "esx02", "--name", "c2", "--yes"]);
    array.ok(&["access", "revoke", "v1", "--group", "c2", "--yes"]);
    array.ok(&["host-group", "delete", "c2", "--yes"]);
    assert_eq!(array.run(&["host-group", "show", "c2"]).status, 3);
}

#[test]
fn hosts_and_their_secrets() {
    let array = Array::start();
    let made =
        array.run(&["host", "create", "esx01", "--iqn", ESX01, "--chap-user", "esx", "--mutual-chap-user", "arr"]);
    assert_eq!(made.status, 0, "{made:?}");
    assert!(made.err.starts_with("generated for this host; not shown again:\n  CHAP secret: "), "{}", made.err);
    assert!(made.err.contains("\n  CHAP secret of the array: "));
    assert_eq!(
        array.ok(&["host", "list"]),
        "NAME   IQNS                          CHAP             SESSIONS  LUNS  WARNINGS\n\
         esx01  iqn.1998-01.com.vmware:esx01  esx, mutual arr         1  –     –\n"
    );
    array.ok(&["host", "create", "esx09", "--iqn", "iqn.1998-01.com.vmware:esx09"]);
    assert!(array.ok(&["host", "list", "--columns", "name,warnings"]).contains("esx09  no-chap\n"));
    let shown = array.ok(&["host", "show", "esx09"]);
    assert!(shown.contains("\n\nno-chap: it need not authenticate: ") && shown.contains("require CHAP\n"), "{shown}");
    let json = array.ok(&["host", "show", "esx09", "-o", "json"]);
    assert!(json.contains("\"code\": \"no-chap\"") && !json.contains("\nno-chap: "), "{json}");
    array.ok(&["host", "delete", "esx09", "--yes"]);
    let secret = array.directory.path().join("secret");
    std::fs::write(&secret, "a-secret-of-mine\n").unwrap();
    let source = format!("file:{}", secret.display());
    let set = array.run(&["host", "set", "esx01", "--chap-user", "esx", "--chap-secret", &source, "-o", "json"]);
    assert_eq!(set.status, 0, "{set:?}");
    assert!(!set.out.contains("a-secret-of-mine") && !set.err.contains("a-secret-of-mine"));
    assert_eq!(array.run(&["host", "set", "esx01"]).status, 2);
    // A new user name keeps the secret; a new secret has to be asked for.
    let renamed = array.run(&["host", "set", "esx01", "--chap-user", "esx-new"]);
    assert_eq!((renamed.status, renamed.err.as_str()), (0, "the present CHAP secret stays\n"));
    let generated = array.run(&["host", "set", "esx01", "--chap-user", "esx-new", "--chap-secret", "generate"]);
    assert!(generated.err.starts_with("generated for this host"), "{}", generated.err);
    let refused = array.run(&["host", "delete", "esx01", "--yes"]);
    assert!(
        refused.err.contains("help: log out on esx01 first, or drop its sessions:  windlass session drop ID"),
        "{}",
        refused.err
    );
    array.ok(&["session", "drop", "7", "--yes"]);
    array.ok(&["host", "delete", "esx01", "--yes"]);
    assert_eq!(array.run(&["host", "show", "esx01"]).status, 3);
}
