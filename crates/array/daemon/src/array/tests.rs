#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;
use crate::SystemEnvironment;
use axum::body::Body;
use axum::http::Request as HttpRequest;
use control::memory::{MemoryCatalog, MemoryLive};
use control::{
    ArrayOptions, HostCreate, HostGroupCreate, Limits, PoolScrub, Portal, PortalOptions, ShareCreate, SnapshotCreate,
    VolumeCreate,
};
use serde_json::Value;
use tokio::task::{LocalSet, spawn_local};
use tower::ServiceExt;

/// `control` over an array in memory with a volume, a snapshot, a host, a host group and a job.
/// Also returns the job's id.
async fn furnished() -> (Rc<Control>, String) {
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 3260));
    let live = Rc::new(MemoryLive::default());
    live.portals.replace(vec![Portal { listen, advertised: listen.to_string() }]);
    live.nfs.replace(Some(control::memory::MemoryNfs::default()));
    let options = ArrayOptions {
        pool_name: "p0".to_owned(),
        iqn_base: "iqn.2026-01.org.example".to_owned(),
        target_name: None,
        limits: Limits::default(),
        background_share_percent: 20,
        https_fault: None,
        portals: vec![PortalOptions { listen, group: None }],
    };
    let opened = Control::open(Rc::new(MemoryCatalog::default()), live, Rc::new(SystemEnvironment), options).await;
    let control = Rc::new(opened.unwrap());
    let name = || "v1".to_owned();
    let create = VolumeCreate { name: name(), size_bytes: Some(1 << 20), ..VolumeCreate::default() };
    control.execute(create).await.unwrap();
    control.execute(SnapshotCreate { volume: name(), name: "monday".to_owned() }).await.unwrap();
    control.execute(ShareCreate::new("s1")).await.unwrap();
    let iqns = vec!["iqn.2026-01.org.example:h1".to_owned()];
    control.execute(HostCreate { name: "h1".to_owned(), iqns, ..HostCreate::default() }).await.unwrap();
    control.execute(HostGroupCreate { name: "g1".to_owned(), hosts: Vec::new() }).await.unwrap();
    let job = control.execute(PoolScrub { pool: "p0".to_owned(), share_percent: None }).await.unwrap();
    (control, job.view.id.to_string())
}

/// Mirror of `control` behind a handle with a closed request queue.
async fn without_queue(control: &Rc<Control>) -> ArrayHandle {
    let (array, Requests { queue, pings: _, mirror, .. }) = ArrayHandle::channel();
    drop(queue);
    let freshness = Arc::new(Freshness::default());
    mirror.send_replace(Some(Reading { mirror: control.mirror().await, freshness: Arc::clone(&freshness) }));
    spawn_local(freshness::publish(Rc::clone(control), Arc::clone(&freshness)));
    spawn_local(freshness::count(Rc::clone(control), freshness));
    // The reactor counts as running while the sender exists.
    spawn_local(async move {
        mirror.closed().await;
    });
    array
}

/// Every GET of the API description, except of files and of the NFS server, is answered while the request queue
/// is closed.
#[tokio::test]
async fn every_get_is_answered_without_a_request_to_the_reactor() {
    let check = async {
        let (control, job) = furnished().await;
        let app = crate::http::router(without_queue(&control).await, Arc::default());
        let send = async |method: &str, path: &str| {
            let request = HttpRequest::builder().method(method).uri(path).body(Body::empty()).unwrap();
            app.clone().oneshot(request).await.unwrap().status().as_u16()
        };
        assert_eq!(send("DELETE", "/api/v1/volumes/v1").await, 503, "the queue is closed");
        let description: Value = serde_json::from_str(&crate::openapi_json()).unwrap();
        let mut answered = 0;
        for (path, operations) in description["paths"].as_object().unwrap() {
            // Files are in no mirror: the file system of the share looks them up. Neither is what the NFS server knows
            // of its clients and rules, which is listed on demand.
            let of_server = path.starts_with("/api/v1/nfs/") || path == "/api/v1/shares/{share}/hosts/{host}";
            if operations.get("get").is_none() || path.contains("/files") || of_server {
                continue;
            }
            let group = if path.starts_with("/api/v1/portal-groups") { "1" } else { "g1" };
            let path = path.replace("{volume}", "v1").replace("{snapshot}", "v1@monday").replace("{host}", "h1");
            let path = path.replace("{group}", group).replace("{pool}", "p0").replace("{portal}", "1");
            let path = path.replace("{job}", &job).replace("{share}", "s1");
            let query = match path.as_str() {
                "/api/v1/live" => "?topics=array",
                "/api/v1/search" => "?q=v",
                "/api/v1/history" => "?series=array.read_ops",
                _ => "",
            };
            assert_eq!(send("GET", &format!("{path}{query}")).await, 200, "{path}");
            answered += 1;
        }
        assert!(answered >= 28, "{answered} GETs");
    };
    LocalSet::new().run_until(check).await;
}

/// A stalled reactor delays readers only briefly, and `/health` reports it.
#[tokio::test]
async fn a_reactor_that_stands_still_is_no_reason_not_to_answer() {
    let (control, _job) = furnished().await;
    let (array, Requests { queue, pings: _pings, mirror, .. }) = ArrayHandle::channel();
    let freshness = Arc::new(Freshness::default());
    mirror.send_replace(Some(Reading { mirror: control.mirror().await, freshness }));
    assert_eq!(array.read(control::VolumeList::default()).await.unwrap().len(), 1);
    assert_eq!(array.health().await.unwrap(), Health::Healthy);
    let freshness = Arc::new(Freshness::stuck());
    mirror.send_replace(Some(Reading { mirror: control.mirror().await, freshness }));
    assert_eq!(array.health().await.unwrap(), Health::Failed);
    drop((queue, mirror, control));
    assert_eq!(array.read(control::VolumeList::default()).await.unwrap_err(), ControlError::NotRunning);
}

/// Change that waits until the test closes the semaphore.
struct Held(Arc<Semaphore>);

impl control::Request for Held {
    type Reply = ();
    const NAME: &'static str = "held";

    async fn run(&self, _control: &Control) -> Result<(), ControlError> {
        let _closed = self.0.acquire().await;
        Ok(())
    }
}

/// The watchdog's ping was a change among others: sixteen of them that waited, for example for the
/// checkpoint of a growth, kept it waiting too, and systemd ended an array that was alive.
#[tokio::test]
async fn a_ping_and_reads_do_not_wait_for_changes() {
    let check = async {
        let (control, _job) = furnished().await;
        let (array, requests) = ArrayHandle::channel();
        let answering = spawn_local(answer(control, requests));
        let held = Arc::new(Semaphore::new(0));
        let change = |_| {
            let (array, held) = (array.clone(), Held(Arc::clone(&held)));
            spawn_local(async move { array.call(held).await })
        };
        let changes: Vec<_> = (0..2 * CONCURRENT_REQUESTS).map(change).collect();
        // Until the reactor has taken as many as it takes.
        while array.requests.capacity() == QUEUE_LENGTH {
            tokio::task::yield_now().await;
        }
        array.ping().await.unwrap();
        assert_eq!(array.read(control::VolumeList::default()).await.unwrap().len(), 1);
        assert!(changes.iter().all(|change| !change.is_finished()));
        held.close();
        for change in changes {
            change.await.unwrap().unwrap();
        }
        drop(array);
        answering.await.unwrap();
    };
    LocalSet::new().run_until(check).await;
}

/// Measurements were those of the process, so that two arrays in it showed the sum of both.
#[test]
fn each_array_has_its_own_measurements() {
    let ((array, requests), (other, _)) = (ArrayHandle::channel(), ArrayHandle::channel());
    let measured = pool::DataCache { hits: 7, ..Default::default() };
    requests.measurements().data_cache.note(&measured);
    requests.measurements().loads.note(1);
    assert_eq!(array.measurements().data_cache.last(), measured);
    assert_eq!(other.measurements().data_cache.last(), pool::DataCache::default());
    assert_eq!(other.measurements().loads.processor_ns(1), 0);
}
