//! Portals and their groups.

use super::Array;

#[test]
fn portals_their_groups_and_where_they_send_logins() {
    let array = Array::start();
    let list = array.ok(&["portal", "list", "-o", "csv"]);
    let portal =
        list.lines().nth(1).and_then(|line| line.strip_prefix("1,127.0.0.1:3260,127.0.0.1:3260,1,active-optimized,,"));
    assert!(portal.is_some_and(|target| target.starts_with("iqn.2026-01.org.windlass:")), "{list}");
    // One group with one session: no command may take its last path.
    let refused = array.run(&["portal-group", "set", "1", "--state", "standby"]);
    assert_eq!(refused.status, 4, "{refused:?}");
    assert!(refused.err.contains("no port of the array would be active"), "{refused:?}");
    assert!(refused.err.contains("windlass portal-group set 1 --state standby --force"), "{refused:?}");
    array.ok(&["portal-group", "set", "1", "--state", "standby", "--force"]);
    let group = array.ok(&["portal-group", "list", "-o", "csv"]);
    assert_eq!(group.lines().nth(1), Some("1,standby,no,127.0.0.1:3260,1"));
    array.ok(&["portal-group", "set", "1", "--state", "active-optimized", "--preferred", "on"]);
    array.ok(&["portal", "set", "127.0.0.1:3260", "--group", "7", "--redirect", "10.0.0.9:3260"]);
    let shown = array.ok(&["portal", "show", "1", "-o", "json"]);
    for line in ["\"group\": 7", "\"redirect\": \"10.0.0.9:3260\"", "\"redirect_permanently\": false"] {
        assert!(shown.contains(line), "{shown}");
    }
    array.ok(&["portal", "set", "1", "--no-redirect"]);
    for (words, status) in [
        (&["portal", "set", "1"][..], 2),
        (&["portal", "set", "1", "--group", "0"], 2),
        (&["portal", "set", "1", "--redirect", "nowhere"], 2),
        (&["portal", "show", "10.0.0.1:3260"], 3),
        (&["portal-group", "show", "9"], 3),
        (&["portal-group", "set", "7", "--state", "offline"], 2),
    ] {
        let ran = array.run(words);
        assert_eq!(ran.status, status, "{words:?}: {ran:?}");
    }
}
