//! What the array tells of itself and of its hosts.

use super::{Array, ESX01};

#[test]
fn what_the_array_tells() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "64G"]);
    array.ok(&["host", "create", "esx01", "--iqn", ESX01]);
    assert_eq!(
        array.ok(&["offload", "stats"]),
        "VOLUME  PRIMITIVE  COMMANDS    OK  REFUSED   BYTES  HOST BYTES AVOIDED     AVG     P99  TOP REFUSAL\n\
         v1      UNMAP          1204  1190       14  12 GiB  –                   500 µs  500 µs  below-grain (14)\n"
    );
    assert_eq!(
        array.ok(&["offload", "log", "v1"]),
        "TIME                  COUNT  VOLUME  PRIMITIVE  HOST   ENDING   REASON       DETAIL\n\
         2026-11-21T10:00:01Z     ×1  v1      XCOPY      esx01  refused  not-granted  naa.602574c0\n"
    );
    assert_eq!(array.ok(&["offload", "log", "--ending", "failed", "--no-headers"]), "");
    assert_eq!(array.ok(&["offload", "log", "--ending", "refused", "-o", "name"]), "41\n");
    assert_eq!(
        array.ok(&["session", "list"]),
        "ID  HOST   INITIATOR                     FROM             PORTAL          COMMANDS   READ  WRITTEN\n \
         7  esx01  iqn.1998-01.com.vmware:esx01  10.0.0.11:40312  127.0.0.1:3260      1204  3 MiB    512 B\n"
    );
    let json = array.ok(&["offload", "stats", "-o", "json"]);
    for part in ["\"primitive\": \"unmap\"", "\"commands\": 1204", "\"host_bytes_avoided\": 0", "\"volume\": \"v1\""] {
        assert!(json.contains(part), "{json}");
    }
    let pool = array.ok(&["pool", "show", "-o", "json"]);
    for part in ["\"size_bytes\": 68719476736", "\"used_bytes\"", "\"free_bytes\"", "\"metadata_bytes\": 67108864"] {
        assert!(pool.contains(part), "{pool}");
    }
    let sum = "used: 64 MiB = metadata 64 MiB + unique 0 B + snaps 0 B + tokens 0 B + trash 0 B + shared 0 B\n";
    assert!(array.ok(&["pool", "show"]).contains(sum), "{}", array.ok(&["pool", "show"]));
    assert_eq!(
        array.ok(&["pool", "list"]),
        "NAME  STATE      SIZE    USED      FREE  SHARED  PROVISIONED  COMMIT\n\
         p0    healthy  64 GiB  64 MiB  63.9 GiB     0 B       64 GiB  100%\n"
    );
    let status = array.ok(&["status"]);
    assert!(status.contains("pool     p0 healthy · used 64 MiB of 64 GiB (0%)"), "{status}");
    assert!(status.contains("UNMAP 1204 commands · 14 refused (see: windlass offload log)"), "{status}");
    assert!(status.starts_with("array    healthy · "), "{status}");
    // Regression: the array was called healthy beside an alert.
    array.ok(&["volume", "create", "big", "--size", "55G", "--reserve", "thick"]);
    let status = array.ok(&["status"]);
    assert!(status.starts_with("array    serving, with 1 warning · "), "{status}");
    assert!(status.contains("pool     p0 low-space · "), "{status}");
}

#[test]
fn the_log_of_offloads_is_filtered() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "64G"]);
    array.ok(&["host", "create", "esx01", "--iqn", ESX01]);
    let shown = |words: &[&str]| array.ok(&[&["offload", "log", "-o", "name"], words].concat());
    for words in [
        &["--host", "esx01", "--volume", "v1", "--primitive", "XCOPY", "--outcome", "refused"][..],
        &["--host", ESX01],
        &["--since", "40"],
        &["v1"],
    ] {
        assert_eq!(shown(words), "41\n", "{words:?}");
    }
    for words in [&["--primitive", "unmap"][..], &["--outcome", "failed"], &["--since", "41"], &["--since", "1s"]] {
        assert_eq!(shown(words), "", "{words:?}");
    }
    for (words, status) in [
        (&["--host", "nobody"][..], 3),
        (&["--primitive", "xcpoy"], 2),
        (&["v1", "--volume", "v1"], 2),
        (&["--since", "yesterday"], 2),
    ] {
        let ran = array.run(&[&["offload", "log"], words].concat());
        assert_eq!(ran.status, status, "{words:?}: {ran:?}");
    }
}

/// Regression: a list with `-o wide` had lines of 320 characters, fitted to nothing.
#[test]
fn tables_fit_the_terminal_and_pipes_get_everything() {
    let array = Array::start();
    for name in ["v1", "a-volume-with-a-rather-long-name-of-44-letters"] {
        array.ok(&["volume", "create", name, "--size", "64G"]);
        array.ok(&["access", "grant", name, "--any"]);
    }
    let second = "iqn.1998-01.com.vmware:esx01-with-another-name";
    array.ok(&["host", "create", "esx01", "--iqn", ESX01, "--iqn", second]);
    let words = |text: &str| {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    for command in [
        &["volume", "list"][..],
        &["host", "list"],
        &["session", "list"],
        &["access", "list"],
        &["offload", "stats"],
        &["offload", "log"],
        &["event", "list"],
        &["pool", "list"],
        &["job", "list"],
    ] {
        let wide = [command, &["-o", "wide"]].concat();
        let piped = array.ok(&wide);
        let rows = array.ok(command).lines().count();
        for width in [80, 120, 160] {
            let fits = |text: &str| text.lines().all(|line| line.chars().count() <= width);
            let stacked = array.on_terminal(width, &wide);
            assert!(fits(&stacked.out), "{width} {wide:?}\n{}", stacked.out);
            // No word is lost, although it stands elsewhere.
            assert_eq!(words(&stacked.out), words(&piped), "{width} {wide:?}");
            let table = array.on_terminal(width, command);
            assert!(fits(&table.out), "{width} {command:?}\n{}", table.out);
            assert!(table.out.lines().count() >= rows, "{width} {command:?}\n{}", table.out);
        }
    }
    // What has no room is named, on standard error.
    let stats = array.on_terminal(60, &["offload", "stats"]);
    assert!(stats.err.contains("note: no room for "), "{stats:?}");
    let shown: Vec<&str> = stats.out.lines().next().unwrap().split("  ").map(str::trim).collect();
    let mut left = stats.err.split("no room for ").nth(1).unwrap().split(';').next().unwrap().split(", ");
    assert!(left.all(|name| !shown.contains(&name)), "{stats:?}");
    assert_eq!(array.on_terminal(60, &["offload", "stats", "--quiet"]).err, "");
}
