#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::{Configuration, TlsMode, check_config};
use crate::memory::TemporaryDirectory;
use crate::{LogFormat, ServeOptions};
use control::{Commitment, Limits};
use std::path::PathBuf;

/// Returns options that name a file with this content.
fn with_file(content: &str) -> (ServeOptions, TemporaryDirectory) {
    let directory = TemporaryDirectory::new();
    let path = directory.path().join("windlass.toml");
    std::fs::write(&path, content).unwrap();
    (ServeOptions { config: Some(path), ..ServeOptions::default() }, directory)
}

fn refusal(content: &str) -> String {
    let (options, _directory) = with_file(content);
    let error = Configuration::load(&options).unwrap_err();
    assert_eq!(error.exit_status(), 2);
    error.to_string()
}

#[test]
fn nothing_said_means_the_built_in_values() {
    let configuration = Configuration::load(&ServeOptions::default()).unwrap();
    assert_eq!(configuration.management.socket, PathBuf::from("/var/lib/windlass/windlass.sock"));
    assert_eq!(configuration.pool.path, PathBuf::from("/var/lib/windlass/p0.pool"));
    assert_eq!(configuration.pool.size_bytes, 64 << 30);
    assert_eq!(configuration.memory_bytes, 512 << 20);
    assert_eq!(configuration.iscsi, ["0.0.0.0:3260".parse().unwrap()]);
    assert_eq!(configuration.http, None);
}

#[test]
fn options_win_over_the_file() {
    let content = r#"
        [server]
        listen = "127.0.0.1:8443"
        state_dir = "/srv/array"
        memory = "1G"
        threads = 3
        log_format = "json"
        [iscsi]
        listen = ["10.0.0.5:3260", "[fd00::5]:3260"]
        advertise = ["array.example:3260", "[fd00::5]:3260"]
        iqn_base = "iqn.2026-01.org.example"
        name = "prod"
        [tls]
        mode = "files"
        cert = "/etc/windlass/cert.pem"
        key = "/etc/windlass/key.pem"
        [metrics]
        listen = "127.0.0.1:9101"
        [[pool]]
        name = "fast"
        backend = "disk"
        path = "/dev/disk/by-id/x"
        size = 1099511627776
        discard = true
        [pool.limits]
        warn = 70
        commitment = 250
        [background]
        share = 35
    "#;
    let (mut options, _directory) = with_file(content);
    let from_file = Configuration::load(&options).unwrap();
    assert_eq!(from_file.state_dir, PathBuf::from("/srv/array"));
    assert_eq!(from_file.memory_bytes, 1 << 30);
    assert_eq!(from_file.threads, 3);
    assert_eq!(from_file.log.format, LogFormat::Json);
    assert_eq!((from_file.pool.size_bytes, from_file.pool.size_is_given), (1 << 40, true));
    assert!(from_file.pool.discard);
    let limits = Limits { warn_percent: 70, critical_percent: 90, commitment: Commitment::Percent(250) };
    assert_eq!((from_file.pool.limits, from_file.background_share_percent), (limits, 35));
    assert!(matches!(from_file.tls, TlsMode::Files { .. }));
    options.state_dir = Some("/tmp/x".into());
    options.iscsi = vec!["127.0.0.1:3261".parse().unwrap(), "127.0.0.2:3261".parse().unwrap()];
    options.memory = Some(1 << 31);
    options.threads = Some(8);
    let merged = Configuration::load(&options).unwrap();
    assert_eq!(merged.management.socket, PathBuf::from("/tmp/x/windlass.sock"));
    assert_eq!(merged.iscsi.len(), 2);
    assert_eq!((merged.memory_bytes, merged.threads), (1 << 31, 8));
    assert_eq!(merged.http, from_file.http);
}

#[test]
fn unknown_keys_are_refused_with_their_line() {
    let message = refusal("[iscsi]\nlisten = [\"0.0.0.0:3260\"]\nlissen = []\n");
    assert!(message.contains("line 3") && message.contains("lissen"), "{message}");
    assert!(refusal("[smb]\n").contains("smb"));
}

#[test]
fn bad_values_are_refused_in_a_sentence() {
    for (content, word) in [
        ("[iscsi]\nlisten = []\n", "portal"),
        ("[iscsi]\nlisten = [\"3260\"]\n", "line 2"),
        ("[iscsi]\nlisten = [\"127.0.0.1:9\", \"127.0.0.1:9\"]\n", "127.0.0.1:9 is to be listened on twice"),
        ("[iscsi]\nlisten = [\"127.0.0.1:9\"]\n[metrics]\nlisten = \"127.0.0.1:9\"\n", "twice"),
        ("[server]\nthreads = 0\n", "0 threads: 1 to 8"),
        ("[[pool]]\nsize = \"1M\"\n", "a pool cannot have 1 MiB"),
        ("[iscsi]\nadvertise = [\"a:1\", \"b:2\"]\n", "2 addresses for 1 portals"),
        ("[iscsi]\niqn_base = \"my array\"\n", "target name"),
        ("[iscsi]\nport_groups = [1, 2]\n", "2 numbers for 1 portals"),
        ("[iscsi]\nport_groups = [0]\n", "from 1 to 65535"),
        ("[iscsi]\nabort_of_finished_task = \"never\"\n", "line 2"),
        ("[iscsi]\nisns = [\"10.0.0.9:0\"]\n", "3205"),
        ("[iscsi]\nlisten = [\"[fe80::1]:3260\"]\n", "needs the interface"),
        ("[server]\nmemory = \"1M\"\n", "too little"),
        ("[server]\nmemory = \"1GB\"\n", "ambiguous"),
        ("[tls]\nmode = \"files\"\n", "cert and key"),
        ("[tls]\nmode = \"none\"\n", "neither"),
        ("[[pool]]\nbackend = \"rados\"\n", "backend"),
        ("[[pool]]\n[[pool]]\n", "2 [[pool]] sections"),
        ("[[pool]]\nname = \"a/b\"\n", "a/b"),
        ("[[pool]]\n[pool.limits]\nwarn = 95\n", "cannot warn at 95 %"),
        ("[[pool]]\n[pool.limits]\ncritical = 101\n", "1 to 100"),
        ("[background]\nshare = 0\n", "[background] share"),
    ] {
        let message = refusal(content);
        assert!(message.contains(word), "{content}: {message}");
    }
    let missing = ServeOptions { config: Some("/nonexistent.toml".into()), ..ServeOptions::default() };
    assert!(Configuration::load(&missing).unwrap_err().to_string().contains("/nonexistent.toml"));
}

#[test]
fn what_check_config_prints_is_a_file_that_says_the_same() {
    let (options, _directory) = with_file("[iscsi]\nname = \"prod\"\n[server]\nlisten = \"127.0.0.1:8443\"\n");
    let printed = check_config(&options).unwrap();
    let (again, _directory) = with_file(&printed);
    let mut configuration = Configuration::load(&options).unwrap();
    configuration.pool.size_is_given = true;
    assert_eq!(Configuration::load(&again).unwrap(), configuration);
    assert!(printed.contains("memory = \"512MiB\""), "{printed}");
}

#[test]
fn the_packaged_file_says_the_built_in_values() {
    let (options, _directory) = with_file(include_str!("../../../../../packaging/windlass.toml"));
    let mut built_in = Configuration::load(&ServeOptions::default()).unwrap();
    built_in.pool.size_is_given = true;
    // A package serves the console, which an array started by hand does not.
    built_in.http = Some(([0, 0, 0, 0], 8443).into());
    assert_eq!(Configuration::load(&options).unwrap(), built_in);
}

#[test]
fn names_of_the_certificate_are_checked() {
    let tls = |text: &str| {
        let (options, _directory) = with_file(text);
        Configuration::load(&options).map(|configuration| configuration.tls)
    };
    let names = vec!["array.example.org".to_owned(), "192.0.2.7".to_owned()];
    let section = "[tls]\nnames = [\"array.example.org\", \"192.0.2.7\"]\n";
    assert_eq!(tls(section).unwrap(), TlsMode::SelfSigned { names });
    let wrong = tls("[tls]\nnames = [\"not a name\"]\n").unwrap_err();
    assert!(wrong.to_string().contains("\"not a name\" is neither a DNS name nor an IP address"), "{wrong}");
    let files = tls("[tls]\nmode = \"files\"\ncert = \"c\"\nkey = \"k\"\nnames = [\"a\"]\n").unwrap_err();
    assert!(files.to_string().contains("names are for the generated certificate"), "{files}");
}

#[test]
fn nfs_is_served_where_an_address_is_given() {
    let built_in = Configuration::load(&ServeOptions::default()).unwrap().nfs;
    assert_eq!(built_in, reactor::NfsConfiguration::default());
    assert!(built_in.listen.is_empty());
    let section = r#"
        [nfs]
        listen = ["10.0.0.5:2049", "[fd00::5]:2049"]
        versions = ["3"]
        portmap = true
        lease_seconds = 90
        max_clients = 100
        replay_memory = "8MiB"
    "#;
    let (options, _directory) = with_file(section);
    let nfs = Configuration::load(&options).unwrap().nfs;
    assert_eq!(nfs.listen, ["10.0.0.5:2049".parse().unwrap(), "[fd00::5]:2049".parse().unwrap()]);
    assert_eq!((nfs.versions.v3, nfs.versions.v4, nfs.portmap), (true, false, true));
    assert_eq!((nfs.lease.as_secs(), nfs.max_clients, nfs.replay_memory_bytes), (90, 100, 8 << 20));
    let printed = check_config(&options).unwrap();
    let (again, _directory) = with_file(&printed);
    assert_eq!(Configuration::load(&again).unwrap().nfs, nfs);
    let option = ServeOptions { nfs: vec!["127.0.0.1:12049".parse().unwrap()], ..options };
    assert_eq!(Configuration::load(&option).unwrap().nfs.listen, ["127.0.0.1:12049".parse().unwrap()]);
}

#[test]
fn wrong_values_of_nfs_are_refused() {
    for (section, words) in [
        ("versions = []", "versions is empty"),
        ("versions = [\"4.0\"]", "\"4.0\" is none of"),
        ("versions = [\"4.1\"]", "together or not at all"),
        ("lease_seconds = 4", "5 to 300 seconds"),
        ("lease_seconds = 301", "5 to 300 seconds"),
        ("max_clients = 0", "1 to 65536"),
        ("max_clients = 65537", "1 to 65536"),
        ("replay_memory = \"1K\"", "1 MiB to 1 GiB"),
        ("grace = 3", "unknown field"),
        ("listen = [\"0.0.0.0:3260\"]", "listened on twice"),
    ] {
        let error = refusal(&format!("[nfs]\n{section}\n"));
        assert!(error.contains(words), "{section}: {error}");
    }
}
