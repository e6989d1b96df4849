#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;
use crate::SystemEnvironment;
use control::memory::MemoryCatalog;
use control::memory::live::MemoryLive;
use control::{ArrayOptions, Limits, Portal, PortalOptions, VolumeCreate};
use tokio::task::{LocalSet, spawn_local};

/// `control` over an array in memory with a volume.
async fn control() -> Rc<Control> {
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 3260));
    let live = Rc::new(MemoryLive::default());
    live.portals.replace(vec![Portal { listen, advertised: listen.to_string() }]);
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
    let create = VolumeCreate { name: "v1".to_owned(), size_bytes: Some(1 << 20), ..VolumeCreate::default() };
    control.execute(create).await.unwrap();
    control
}

/// A stalled reactor delays readers only briefly, and `/health` reports it.
#[tokio::test]
async fn a_reactor_that_stands_still_is_no_reason_not_to_answer() {
    let control = control().await;
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
        let control = control().await;
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

/// The processor time was noted once a second, beside the publications: a sample had that of
/// no second, or of two.
#[tokio::test]
async fn a_publication_notes_the_processor_time() {
    let check = async {
        let control = control().await;
        let (array, requests) = ArrayHandle::channel();
        let answering = spawn_local(answer(control, requests));
        let mut before = 0;
        for _ in 0..3 {
            array.read(control::VolumeList::default()).await.unwrap();
            let noted = array.measurements().loads.processor_ns(0);
            assert!(noted > before, "{noted} after {before}");
            before = noted;
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
