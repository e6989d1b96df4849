//! open-iscsi: discovery, login without and with CHAP and mutual CHAP, digests, and the exit status
//! of iscsiadm for each failure (open-iscsi, `include/iscsi_err.h`).

use crate::vm::lab::{FILES, INITIATOR, Lab, PLAIN};
use anyhow::Result;
use array_process::array::free_portal;

const SECRET: &str = "a-secret-of-the-host";
const ARRAY_SECRET: &str = "a-secret-of-the-array";
/// ISCSI_ERR_FATAL_LOGIN: the target refused the login permanently, or the initiator refused the
/// target.
const FATAL_LOGIN: i32 = 19;
/// ISCSI_ERR_LOGIN_AUTH_FAILED.
pub(super) const AUTH_FAILED: i32 = 24;
/// ISCSI_ERR_SESS_EXISTS.
const SESSION_EXISTS: i32 = 15;
/// ISCSI_ERR_NO_OBJS_FOUND.
const NOTHING_FOUND: i32 = 21;
/// ISCSI_ERR_TRANS_TIMEOUT: retried until the time limit.
const TRANSPORT_TIMEOUT: i32 = 8;
/// ISCSI_ERR_PDU_TIMEOUT: discovery was refused a connection until it gave up.
const NO_DISCOVERY: i32 = 11;

/// Script that writes data through one session and reads it back, bypassing the cache.
fn round_trip(disk: &str) -> String {
    format!(
        "head -c 4M /dev/urandom >/run/data && dd if=/run/data of={disk} bs=1M oflag=direct status=none && \
         dd if={disk} bs=1M count=4 iflag=direct status=none | cmp - /run/data && echo same"
    )
}

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let [one, two] = lab.portals;
    let target = lab.target.clone();
    let lines = [format!("{one},1 {target}"), format!("{two},2 {target}")];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    lab.check("discovery names both portals", &format!("iscsiadm -m discovery -t sendtargets -p {one}"), 0, &lines)?;

    // Without authentication and digests.
    lab.login(&[0], &[])?;
    let disk = lab.disk(INITIATOR, 0, PLAIN)?;
    lab.check("login without CHAP; data goes there and back", &round_trip(&disk), 0, &["same"])?;
    let node = lab.node_options("default", 0)?;
    lab.check(
        "a second login is told that there is a session",
        &format!("iscsiadm -m node {node} -l"),
        SESSION_EXISTS,
        &[],
    )?;
    let luns = format!("lsscsi -g | grep -c WINDLASS; test -b $(disk $A $P1 {FILES})");
    lab.check("all logical units are there", &luns, 0, &["4"])?;
    lab.check("logout", &format!("iscsiadm -m node {node} -u"), 0, &["successful"])?;
    lab.check(
        "a second logout is told that there is no session",
        &format!("iscsiadm -m node {node} -u"),
        NOTHING_FOUND,
        &[],
    )?;

    // Digests.
    let digests = [("node.conn[0].iscsi.HeaderDigest", "CRC32C"), ("node.conn[0].iscsi.DataDigest", "CRC32C")];
    lab.login(&[1], &digests)?;
    let disk = lab.disk(INITIATOR, 1, PLAIN)?;
    let shown = "iscsiadm -m session -P 2 | grep Digest";
    lab.check("header and data digests are negotiated", shown, 0, &["HeaderDigest: CRC32C", "DataDigest: CRC32C"])?;
    lab.check("data with digests goes there and back", &round_trip(&disk), 0, &["same"])?;
    lab.require("iscsiadm -m node -U all >/dev/null")?;

    chap(lab)?;
    failures(lab)
}

/// Tests a host that has to authenticate, and one to which the array authenticates as well.
fn chap(lab: &mut Lab) -> Result<()> {
    let (own, theirs) = (lab.directory.join("secret"), lab.directory.join("array-secret"));
    std::fs::write(&own, SECRET)?;
    std::fs::write(&theirs, ARRAY_SECRET)?;
    let (own, theirs) = (format!("file:{}", own.display()), format!("file:{}", theirs.display()));
    let names = ["iqn.2026-01.org.example:vm-chap", "iqn.2026-01.org.example:vm-mutual"];
    lab.array.command(&[
        "host",
        "create",
        "vm-chap",
        "--iqn",
        names[0],
        "--chap-user",
        "one",
        "--chap-secret",
        &own,
    ])?;
    lab.array.command(&[
        "host",
        "create",
        "vm-mutual",
        "--iqn",
        names[1],
        "--chap-user",
        "two",
        "--chap-secret",
        &own,
        "--mutual-chap-user",
        "array",
        "--mutual-chap-secret",
        &theirs,
    ])?;
    for (interface, name) in [("chap", names[0]), ("mutual", names[1])] {
        lab.require(&format!(
            "printf 'iface.iscsi_ifacename = {interface}\\niface.transport_name = tcp\\niface.initiatorname = {name}\\n' >/etc/iscsi/ifaces/{interface}"
        ))?;
    }
    let method = ("node.session.auth.authmethod", "CHAP");
    let credentials =
        |user, secret| [method, ("node.session.auth.username", user), ("node.session.auth.password", secret)];
    let back = |secret| [("node.session.auth.username_in", "array"), ("node.session.auth.password_in", secret)];
    let sha = [("node.session.auth.chap_algs", "SHA256")];

    // Name of the attempt, interface, settings of the node record, and exit status of iscsiadm.
    type Attempt<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str)>, i32);
    let attempts: [Attempt<'_>; 8] = [
        ("CHAP", "chap", credentials("one", SECRET).to_vec(), 0),
        ("CHAP with SHA-256", "chap", [&credentials("one", SECRET)[..], &sha].concat(), 0),
        ("a wrong secret", "chap", credentials("one", "not-this-secret").to_vec(), AUTH_FAILED),
        ("a wrong name", "chap", credentials("two", SECRET).to_vec(), AUTH_FAILED),
        ("no CHAP from a host that has to", "chap", Vec::new(), AUTH_FAILED),
        ("mutual CHAP", "mutual", [&credentials("two", SECRET)[..], &back(ARRAY_SECRET)].concat(), 0),
        (
            "an array with a wrong secret",
            "mutual",
            [&credentials("two", SECRET)[..], &back("not-this-secret")].concat(),
            FATAL_LOGIN,
        ),
        (
            "mutual CHAP, the host's secret wrong",
            "mutual",
            [&credentials("two", "wrong-wrong-wrong")[..], &back(ARRAY_SECRET)].concat(),
            AUTH_FAILED,
        ),
    ];
    for (title, interface, settings, status) in attempts {
        let node = lab.node_options(interface, 0)?;
        let record = lab.node(interface, 0, &settings)?;
        lab.require(&record)?;
        let title = if status == 0 { format!("{title} is let in") } else { format!("{title}: status {status}") };
        lab.check(&title, &format!("iscsiadm -m node {node} -l"), status, &[])?;
        let out = if status == 0 { format!("iscsiadm -m node {node} -u >/dev/null &&") } else { String::new() };
        lab.require(&format!("{out} iscsiadm -m node {node} -o delete"))?;
    }
    Ok(())
}

/// Tests targets and portals that do not exist.
fn failures(lab: &mut Lab) -> Result<()> {
    let [one, _] = lab.portals;
    let unknown = format!("-T iqn.2026-01.org.example:nobody -p {one}");
    let login = |node: &str| format!("iscsiadm -m node {node} -o new >/dev/null; iscsiadm -m node {node} -l");
    lab.check("an unknown target", &login(&unknown), FATAL_LOGIN, &[])?;
    let nobody = free_portal()?.port();
    // The guest's rules do not redirect this port to the host; nothing listens on it in the guest
    // either.
    let portal = format!("-T {} -p 127.0.0.1:{nobody}", lab.target);
    lab.check("a portal where nobody listens", &login(&portal), TRANSPORT_TIMEOUT, &[])?;
    let discovery = format!("iscsiadm -m discovery -t sendtargets -p 127.0.0.1:{nobody}");
    lab.check("discovery where nobody listens", &discovery, NO_DISCOVERY, &[])?;
    Ok(())
}
