//! Support bundles: what is in them, and what is not.

use super::people::{Author, PASSWORD, Plane};
use crate::doctor::Places;
use crate::http::Surroundings;
use crate::http::peer::Peer;
use crate::memory::TemporaryDirectory;
use axum::Extension;
use axum::body::Body;
use axum::http::Request;
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool_offline::DumpWhat;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;
use tower::ServiceExt;

const SECRETS: [&str; 8] = [
    "chap-secret-planted",
    "mutual-secret-planted",
    "smtp-password-planted",
    "hmac-secret-planted",
    "webhook-path-planted",
    "webhook-query-planted",
    "tls-key-planted",
    PASSWORD,
];

const NAMES: [&str; 17] = [
    "win-dc1",
    "docs-of-ana",
    "before-upgrade",
    "esx01",
    "cluster-b",
    "nightly-run",
    "hook-of-ops",
    "mail-of-ops",
    "ana",
    "csi-driver",
    "gone-volume",
    "iqn.1998-01.com.vmware:esx01-5a1b",
    "192.0.2.77",
    "ops@example.org",
    "smtp.example.org",
    "hooks.example.org",
    "query.example.org",
];

async fn made(plane: &Plane, path: &str, body: Value) -> Value {
    let answer = plane.ask(&Author::root(), "POST", &format!("/api/v1/{path}"), Some(body)).await;
    assert!(matches!(answer.status, 200..=202), "{path} {}", answer.body);
    answer.body
}

/// Makes a bundle; returns its members by name.
async fn bundle(plane: &Plane, names: &str) -> BTreeMap<String, String> {
    let job = made(plane, "support-bundles", json!({ "names": names, "hours": 2 })).await;
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let ended = loop {
        let job = plane.ask(&Author::root(), "GET", &path, None).await.body;
        if job["state"] != "running" {
            break job;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!((&ended["kind"], &ended["state"]), (&json!("bundle"), &json!("done")), "{ended}");
    let listed = plane.ask(&Author::root(), "GET", "/api/v1/support-bundles", None).await.body;
    let newest = &listed["items"][0];
    assert_eq!(newest["names"], names);
    let id = newest["id"].as_str().unwrap();
    let request = Request::builder().uri(format!("/api/v1/support-bundles/{id}/download")).body(Body::empty());
    let app = plane.app.clone().layer(Extension(Peer::Local { uid: 0 }));
    let response = app.oneshot(request.unwrap()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/gzip");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(newest["size_bytes"].as_u64(), u64::try_from(bytes.len()).ok());
    let mut members = BTreeMap::new();
    for entry in tar::Archive::new(GzDecoder::new(&bytes[..])).entries().unwrap() {
        let mut entry = entry.unwrap();
        let (name, mut text) = (entry.path().unwrap().display().to_string(), String::new());
        entry.read_to_string(&mut text).unwrap();
        members.insert(name, text);
    }
    let path = format!("/api/v1/support-bundles/{id}/contents");
    let contents = plane.ask(&Author::root(), "GET", &path, None).await.body;
    assert_eq!(contents["items"].as_array().unwrap().len(), members.len());
    members
}

/// Array with every kind of secret, and with names everywhere, also in the log.
async fn planted() -> (Plane, Vec<String>) {
    let plane = Plane::new().await;
    // A certificate has the names of its organisation.
    let ca = rcgen::generate_simple_self_signed(vec!["ca.example.org".to_owned()]).unwrap().cert.pem();
    plane.user("ana", "admin").await;
    std::fs::create_dir_all(plane.directory.path().join("tls")).unwrap();
    std::fs::write(plane.directory.path().join("tls/key.pem"), "tls-key-planted").unwrap();
    made(&plane, "volumes", json!({ "name": "win-dc1", "size_bytes": 1 << 30, "labels": { "team": "ana" } })).await;
    made(&plane, "volumes", json!({ "name": "gone-volume", "size_bytes": 1 << 20 })).await;
    let gone = plane.ask(&Author::root(), "DELETE", "/api/v1/volumes/gone-volume?now=true", None).await;
    assert_eq!(gone.status / 100, 2, "{}", gone.body);
    made(&plane, "volumes/win-dc1/snapshots", json!({ "name": "before-upgrade" })).await;
    made(&plane, "shares", json!({ "name": "docs-of-ana" })).await;
    let chap = json!({ "user": "esx01", "secret": "chap-secret-planted",
        "mutual": { "user": "array", "secret": "mutual-secret-planted" } });
    let iqns = ["iqn.1998-01.com.vmware:esx01-5a1b"];
    made(&plane, "hosts", json!({ "name": "esx01", "iqns": iqns, "addresses": ["192.0.2.77"], "chap": chap })).await;
    made(&plane, "host-groups", json!({ "name": "cluster-b", "hosts": ["esx01"] })).await;
    made(&plane, "access", json!({ "volume": "win-dc1", "group": "cluster-b", "lun": 1 })).await;
    made(
        &plane,
        "schedules",
        json!({ "name": "nightly-run", "when": { "daily": { "minute": 1 } }, "volumes": ["win-dc1"] }),
    )
    .await;
    let hook = json!({ "kind": "webhook", "url": "https://hooks.example.org/webhook-path-planted", "secret": "hmac-secret-planted" });
    made(&plane, "channels", json!({ "name": "hook-of-ops", "settings": hook, "enabled": false })).await;
    // Before it in the order of names, and its beginning; and one whose secret follows its server without a path.
    for (name, url) in
        [("a-hook", "https://hooks.example.org/"), ("z-hook", "https://query.example.org?key=webhook-query-planted")]
    {
        let hook = json!({ "kind": "webhook", "url": url });
        made(&plane, "channels", json!({ "name": name, "settings": hook, "enabled": false })).await;
    }
    let mail = json!({ "kind": "email", "server": "smtp.example.org", "user": "ana", "password": "smtp-password-planted", "ca": ca,
        "from": "ops@example.org", "to": ["ops@example.org"] });
    made(&plane, "channels", json!({ "name": "mail-of-ops", "settings": mail, "enabled": false })).await;
    let token = made(&plane, "tokens", json!({ "name": "csi-driver", "role": "viewer" })).await;
    for line in [
        "INFO volume=\"win-dc1\" host=esx01 a grant for group:cluster-b, by ana from 192.0.2.77:51234",
        "WARN login of iqn.1998-01.com.vmware:esx01-5a1b refused; gone-volume@before-upgrade is gone",
        "WARN Ana typed ESX01 and IQN.1998-01.com.VMware:esx01-5A1B",
        "WARN iqn.2026-01.org.unknown:stranger came from 2001:db8::99",
        "ERROR https://hooks.example.org/webhook-path-planted answered 500 to hook-of-ops; mail to ops@example.org",
        "ERROR https://query.example.org?key=webhook-query-planted answered 404",
    ] {
        crate::logging::remember(&format!("2026-01-01T00:00:00Z {line}\n"));
    }
    let mut secrets: Vec<String> = SECRETS.iter().map(|secret| (*secret).to_owned()).collect();
    secrets.push(token["secret"].as_str().unwrap().to_owned());
    secrets.push(ca.lines().nth(2).unwrap().to_owned());
    let bootstrap = std::fs::read_to_string(plane.directory.path().join("admin.token")).unwrap();
    secrets.push(bootstrap.trim().to_owned());
    (plane, secrets)
}

#[tokio::test]
async fn a_bundle_has_no_secrets_and_names_only_if_wanted() {
    let (plane, secrets) = planted().await;
    let real = bundle(&plane, "real").await;
    let replaced = bundle(&plane, "replaced").await;
    assert_eq!(real.keys().collect::<Vec<_>>(), replaced.keys().collect::<Vec<_>>());
    for (name, text) in real.iter().chain(&replaced) {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{name} has {secret}: {text}");
        }
    }
    // What is searched for is there.
    let has = |members: &BTreeMap<String, String>, name: &str| members.values().any(|text| text.contains(name));
    for name in NAMES {
        assert!(has(&real, name), "{name} is in no file of the real bundle");
    }
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert!(real["machine/version.txt"].contains(&machine) && !replaced["machine/version.txt"].contains(&machine));
    for (file, text) in &replaced {
        let spellings = ["Ana", "ESX01", "IQN.1998-01"];
        for name in NAMES.into_iter().chain(["iqn.2026-01.org.unknown", "2001:db8::99"]).chain(spellings) {
            let inside = |(at, _): (usize, &str)| {
                // A name within another word is no name: `ana` in `analysis`.
                let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
                let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                !is_word(before) && !is_word(after)
            };
            assert!(!text.match_indices(name).any(inside), "{file} has {name}: {text}");
        }
    }
    // The same name is the same word everywhere, and in the next bundle.
    let volumes: Value = serde_json::from_str(&replaced["volumes.json"]).unwrap();
    let word = volumes["items"][0]["name"].as_str().unwrap();
    assert!(word.starts_with("volume-"), "{word}");
    for file in ["log.txt", "access.json", "configuration.toml", "events.json", "audit.json"] {
        assert!(replaced[file].contains(word), "{file} does not have {word}: {}", replaced[file]);
    }
    let again = bundle(&plane, "replaced").await;
    assert_eq!(again["volumes.json"], replaced["volumes.json"]);
    for file in
        ["status.json", "metrics.txt", "machine/version.txt", "machine/system.txt", "refusals.json", "audit.json"]
    {
        assert!(real.contains_key(file), "{file} is missing: {:?}", real.get("left-out.txt"));
    }
    // This array records no history, and the bundle says so.
    assert!(real["left-out.txt"].starts_with("history.json: 503"), "{}", real["left-out.txt"]);
    assert!(!real["audit.json"].contains("\"change\"") && real["audit.json"].contains("volume_create"));
}

/// What a bundle says of the medium is what `windlass pool dump` says, while the pool is served.
#[tokio::test]
async fn superblock_and_root_of_the_pool_are_in_a_bundle() {
    let directory = TemporaryDirectory::new();
    let pool = directory.path().join("p0.pool");
    let options = OpenOptions { create_bytes: Some(32 << 20), ..OpenOptions::default() };
    let uuid = [7; 16];
    let format = FormatOptions { uuid, log_bytes: 1 << 20, root: ::pool::initial_root(uuid), overwrite: false };
    let served = LocalMedia::format(FileDisk::open(&pool, &options).unwrap(), format).unwrap();
    let surroundings = Surroundings::of(directory.path(), false);
    surroundings.gate.prepare_https().await.unwrap();
    let places = Places { pool: pool.clone(), ..Places::default() };
    let plane = Plane::with(surroundings.at(places), directory.clone());
    let real = bundle(&plane, "real").await;
    drop(served);
    for (name, what) in [("superblock", DumpWhat::Superblock), ("root", DumpWhat::Root)] {
        let shown: Value = serde_json::from_str(&real[&format!("pool/{name}.json")]).unwrap();
        assert_eq!(shown, pool_offline::dump(&pool, what).unwrap().0, "{name}");
    }
    // A pool that cannot be read is no reason to have no bundle.
    std::fs::remove_file(&pool).unwrap();
    let without = bundle(&plane, "replaced").await;
    assert!(!without.contains_key("pool/root.json") && without["left-out.txt"].contains("pool: "));
}

#[tokio::test]
async fn bundles_are_listed_and_deleted_by_admins() {
    let plane = Plane::new().await;
    plane.user("ana", "admin").await;
    for _ in 0..4 {
        bundle(&plane, "real").await;
    }
    let listed = plane.ask(&Author::root(), "GET", "/api/v1/support-bundles", None).await.body;
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
    let path = format!("/api/v1/support-bundles/{}", listed["items"][2]["id"].as_str().unwrap());
    let operator = Author::with_token(&plane.token("op", "operator", json!({})).await);
    assert_eq!(plane.ask(&operator, "DELETE", &path, None).await.code(), (403, "forbidden"));
    assert_eq!(
        plane.ask(&operator, "POST", "/api/v1/support-bundles", Some(json!({}))).await.code(),
        (403, "forbidden")
    );
    assert_eq!(plane.ask(&Author::root(), "DELETE", &path, None).await.status, 204);
    assert_eq!(plane.ask(&Author::root(), "DELETE", &path, None).await.code(), (404, "no-such-bundle"));
    let download = format!("{path}/download");
    assert_eq!(plane.ask(&Author::root(), "GET", &download, None).await.code(), (404, "no-such-bundle"));
    for hours in [0, 169] {
        let body = Some(json!({ "hours": hours }));
        assert_eq!(plane.ask(&Author::root(), "POST", "/api/v1/support-bundles", body).await.status, 422);
    }
    let audit = plane.ask(&Author::root(), "GET", "/api/v1/audit?action=bundle_download", None).await.body;
    assert_eq!(audit["items"].as_array().unwrap().len(), 4);
}
