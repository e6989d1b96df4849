//! Channels, their tests, and acknowledgements.

use super::Array;
use std::net::UdpSocket;
use std::time::Duration;

#[test]
fn a_channel_is_made_tested_changed_and_deleted() {
    let array = Array::start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let create = ["channel", "create", "syslog", "siem", "--host", "127.0.0.1", "--port", &port, "--transport", "udp"];
    array.ok(&create);
    let tested = array.run(&["channel", "test", "siem"]);
    assert!(tested.status == 0 && tested.err.contains("a syslog receiver answers nothing"), "{tested:?}");
    let mut buffer = [0; 4096];
    let count = socket.recv(&mut buffer).unwrap();
    assert!(String::from_utf8_lossy(&buffer[..count]).contains(" test - "));
    array.ok(&[
        "channel",
        "set",
        "siem",
        "--min-severity",
        "critical",
        "--quiet-hours",
        "22:00-06:00",
        "--codes",
        "pool-full",
    ]);
    let shown =
        array.ok(&["channel", "list", "-o", "csv", "--columns", "name,kind,peer,min-severity,quiet,codes,state"]);
    assert!(shown.contains("siem,syslog,127.0.0.1,critical,22:00-06:00 UTC,pool-full,on"), "{shown}");
    drop(socket);
    let tested = array.run(&["channel", "test", "siem"]);
    assert!(tested.status == 1 && tested.err.contains("refused"), "{tested:?}");
    let bad =
        ["channel", "create", "email", "m", "--host", "x\r\nQUIT", "--from", "a@example.org", "--to", "b@example.org"];
    for (words, status, part) in [
        (&create[..], 4, "belongs to another channel"),
        (&bad, 2, "neither the name nor the address"),
        (&["channel", "set", "siem"], 2, "nothing to change"),
        (&["channel", "set", "siem", "--url", "http://x/"], 2, "not for a channel of the kind syslog"),
        (&["channel", "show", "nothing"], 3, "there is no channel nothing"),
        (&["channel", "delete", "siem"], 2, "No terminal for a confirmation"),
        (&["alert", "ack", "pool-full"], 3, "no active alert"),
    ] {
        let ran = array.run(words);
        assert!(ran.status == status && ran.err.contains(part), "{words:?}: {ran:?}");
    }
    array.ok(&["channel", "delete", "siem", "--yes"]);
    assert_eq!(array.ok(&["channel", "list", "--no-headers"]).trim(), "");
}
