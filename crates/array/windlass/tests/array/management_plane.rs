//! Cost of the management plane for the thread that serves hosts: nothing for reads, and for a
//! change only the change itself.

use crate::fixture::Fixture;
use array_process::administration;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Number of volumes of a large array.
const MANY: usize = 5_000;
/// Limit for an export of the configuration of many volumes: a hundred times what it takes in a debug build.
const EXPORT_LIMIT: Duration = Duration::from_secs(30);
/// Number of volumes of a small array.
const FEW: usize = 10;

/// Open connection to the administrative socket.
struct Client(administration::Client);

impl Client {
    fn new(fixture: &Fixture) -> Self {
        Self(administration::Client::connect(&fixture.directory().join("state/windlass.sock")).unwrap())
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.0.send(method, path, body).unwrap()
    }

    fn get(&mut self, path: &str) -> String {
        self.0.get(path).unwrap()
    }

    fn post(&mut self, path: &str, body: &Value) {
        let (status, answer) = self.send("POST", path, &body.to_string());
        assert_eq!(status, 201, "{path} {body}: {answer}");
    }

    fn create(&mut self, volumes: std::ops::Range<usize>) {
        for at in volumes {
            self.post("/api/v1/volumes", &json!({ "name": format!("v{at}"), "size_bytes": 1 << 20 }));
        }
    }
}

/// CPU time of the reactor's thread in nanoseconds.
fn reactor_ns(fixture: &Fixture) -> u64 {
    let tasks = PathBuf::from(format!("/proc/{}/task", fixture.array.pid()));
    for task in std::fs::read_dir(tasks).unwrap() {
        let task = task.unwrap().path();
        if std::fs::read_to_string(task.join("comm")).unwrap().trim() == "reactor" {
            let times = std::fs::read_to_string(task.join("schedstat")).unwrap();
            return times.split(' ').next().unwrap().parse().unwrap();
        }
    }
    panic!("no thread is called reactor");
}

/// CPU time of the reactor's thread during `work`, without its usual time in that period. The least
/// of several tries, since other threads may share the processor's caches.
fn reactor_time(fixture: &Fixture, mut work: impl FnMut()) -> u64 {
    let tries = (0..3).map(|_| {
        let before = reactor_ns(fixture);
        let began = std::time::Instant::now();
        work();
        let took = began.elapsed();
        let busy = reactor_ns(fixture) - before;
        let before = reactor_ns(fixture);
        std::thread::sleep(took);
        busy.saturating_sub(reactor_ns(fixture) - before)
    });
    tries.min().unwrap()
}

/// Paths of all reads of an array with a volume v0.
const READS: [&str; 23] = [
    "/health",
    "/metrics",
    "/metrics/volumes",
    "/api/v1/system",
    "/api/v1/pools",
    "/api/v1/pools/p0",
    "/api/v1/volumes",
    "/api/v1/volumes/v0",
    "/api/v1/volumes/v0/space",
    "/api/v1/volumes/v0/tree",
    "/api/v1/volumes/v0/offload",
    "/api/v1/volumes/v0/reservations",
    "/api/v1/snapshots",
    "/api/v1/hosts",
    "/api/v1/host-groups",
    "/api/v1/access",
    "/api/v1/sessions",
    "/api/v1/portals",
    "/api/v1/reservations",
    "/api/v1/offload/stats",
    "/api/v1/offload/log",
    "/api/v1/jobs",
    "/api/v1/events?limit=10000",
];

/// Both checks need thousands of volumes, which take most of the time: one array serves them.
#[test]
fn changes_and_reads_cost_the_reactor_the_same_with_many_volumes() {
    let fixture = Fixture::start("1G", &[]);
    let mut client = Client::new(&fixture);
    a_change_costs_the_same_with_few_volumes_and_with_many(&fixture, &mut client);
    reading_takes_no_time_of_the_reactor(&fixture, &mut client);
    the_configuration_of_many_volumes_is_exported_in_bounded_time(&fixture);
}

/// How long does `config export` take with 5 000 volumes? Seconds of the command, in a debug build; lower is better.
fn the_configuration_of_many_volumes_is_exported_in_bounded_time(fixture: &Fixture) {
    let began = std::time::Instant::now();
    let text = fixture.ok(&["config", "export", "--format", "json"]);
    let took = began.elapsed();
    let document: Value = serde_json::from_str(&text).unwrap();
    let volumes = document["volume"].as_array().unwrap().len();
    println!("config export of {volumes} volumes, {} bytes: {} ms", text.len(), took.as_millis());
    assert!(volumes >= MANY, "{volumes} volumes are in the export");
    assert!(took < EXPORT_LIMIT, "config export takes {took:?}");
}

/// Regression: a change cloned the state of all volumes and recomputed all grants.
fn a_change_costs_the_same_with_few_volumes_and_with_many(fixture: &Fixture, client: &mut Client) {
    client.post("/api/v1/hosts", &json!({ "name": "h2", "iqns": ["iqn.2026-01.org.example:h1"] }));
    let mut next = 0;
    let mut cost = |fixture: &Fixture, client: &mut Client| {
        const TIMES: usize = 20;
        let volumes = next..next + TIMES;
        next += TIMES;
        let created = reactor_ns(fixture);
        for at in volumes.clone() {
            client.post("/api/v1/volumes", &json!({ "name": format!("x{at}"), "size_bytes": 1 << 20 }));
        }
        let granted = reactor_ns(fixture);
        for at in volumes {
            client.post("/api/v1/access", &json!({ "volume": format!("x{at}"), "host": "h2", "lun": at }));
        }
        let times = u64::try_from(TIMES).unwrap();
        ((granted - created) / times, (reactor_ns(fixture) - granted) / times)
    };
    let mut least = |fixture: &Fixture, client: &mut Client| {
        let tries: Vec<(u64, u64)> = (0..5).map(|_| cost(fixture, client)).collect();
        let least = |of: fn(&(u64, u64)) -> u64| tries.iter().map(of).min().unwrap();
        (least(|tried| tried.0), least(|tried| tried.1))
    };
    client.create(0..FEW);
    // A change stores the newest 200 events; from here on there are that many.
    for at in 0..200 {
        let body = json!({ "name": format!("h{}", 1 + at % 2) }).to_string();
        let (status, answer) = client.send("PATCH", &format!("/api/v1/hosts/h{}", 2 - at % 2), &body);
        assert_eq!(status, 200, "{answer}");
    }
    let few = least(fixture, client);
    client.create(FEW..MANY);
    let many = least(fixture, client);
    println!("reactor time of creating a volume and of a grant, in ns: {few:?} with few volumes, {many:?} with many");
    // A factor of three is allowed for deeper trees, and for caches that other processes have
    // filled. What grows with the number of volumes is a hundred times as much.
    assert!(many.0 < few.0 * 3 + 100_000, "creating a volume: {} ns, then {} ns", few.0, many.0);
    assert!(many.1 < few.1 * 3 + 100_000, "a grant: {} ns, then {} ns", few.1, many.1);
}

/// Regression: one GET of /health, which needs no token, took 20 ms of the thread that serves
/// hosts, and every list took at least as long.
fn reading_takes_no_time_of_the_reactor(fixture: &Fixture, client: &mut Client) {
    // Counts that do not exist yet are made for the first reader.
    READS.iter().for_each(|path| drop(client.get(path)));
    const TIMES: u64 = 5;
    for path in READS {
        let busy = reactor_time(fixture, || (0..TIMES).for_each(|_| drop(client.get(path)))) / TIMES;
        println!("{path}: {} µs of the reactor", busy / 1000);
        // Limit for an empty publication. Its cost depends neither on the number of readers, nor on
        // the number of volumes or the path; it is a quarter of a millisecond in a debug build.
        assert!(busy < 1_000_000, "{path} takes {busy} ns of the reactor's thread");
    }
}
