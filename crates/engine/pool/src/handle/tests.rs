#![expect(clippy::unwrap_used, reason = "tests")]

mod difference;
mod look_and_read;
mod replica;

use crate::{
    BlockNumber, BlockRange, Catalog, CatalogChange, Core, ObjectId, Options, Outcome as Decision, Pool, Stability,
    View, Volume, initial_root,
};
use block::{BlockDevice, BlockError, Durability, Extent};
use bytes::Bytes;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use media::{FormatOptions, LocalMedia, SimDisk, SimOptions};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Waker};

type SimMedia = LocalMedia<SimDisk>;

/// Pool over a simulated disk, and an executor that polls a future only when it was woken.
struct Rig {
    pool: Pool<SimMedia>,
    executor: LocalPool,
}

/// Output of a spawned future.
struct Outcome<T>(Rc<RefCell<Option<T>>>);

impl<T> Outcome<T> {
    fn take(&self) -> Option<T> {
        self.0.borrow_mut().take()
    }
}

fn options() -> Options {
    Options { memory_bytes: 16 << 20, incarnation: 1, ..Options::default() }
}

impl Rig {
    fn new() -> Self {
        let disk = SimDisk::new(SimOptions::new(7, 2048 * 24));
        let uuid = [7; 16];
        let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(disk, format).unwrap();
        let (core, _) = Core::open(media, options(), &mut |_| {}).unwrap();
        Self { pool: Pool::new(core), executor: LocalPool::new() }
    }

    /// Polls `future` once, and then whenever it is woken and the executor runs.
    fn start<T: 'static>(&mut self, future: impl Future<Output = T> + 'static) -> Outcome<T> {
        let outcome = Rc::new(RefCell::new(None));
        let place = Rc::clone(&outcome);
        self.executor.spawner().spawn_local(async move { *place.borrow_mut() = Some(future.await) }).unwrap();
        self.executor.run_until_stalled();
        Outcome(outcome)
    }

    /// Runs `future` to its end, with the disk's completions.
    fn run<T: 'static>(&mut self, future: impl Future<Output = T> + 'static) -> T {
        let outcome = self.start(future);
        for _ in 0..10_000 {
            if let Some(output) = outcome.take() {
                return output;
            }
            self.turn();
        }
        panic!("a future never ends");
    }

    /// One turn of a reactor: the disk, the pool, the futures.
    fn turn(&mut self) {
        self.pool.with_core(Core::wait);
        self.pool.pump(4);
        self.executor.run_until_stalled();
    }

    fn volume(&mut self, blocks: u64) -> Volume<SimMedia> {
        let id = self.pool.new_object_id();
        let pool = self.pool.clone();
        let change = CatalogChange::CreateVolume { id, size_bytes: blocks * 512 };
        self.run(async move { pool.commit(vec![change]).await }).unwrap();
        self.pool.volume(id)
    }
}

fn write(
    volume: &Volume<SimMedia>,
    lba: u64,
    blocks: u64,
    byte: u8,
) -> impl Future<Output = Result<(), BlockError>> + 'static {
    let volume = volume.clone();
    let data = Bytes::from(vec![byte; blocks as usize * 512]);
    async move { volume.write(Extent::new(lba, blocks), data, Durability::AsConfigured).await }
}

fn read(volume: &Volume<SimMedia>, lba: u64, blocks: u64) -> impl Future<Output = Result<Bytes, BlockError>> + 'static {
    let volume = volume.clone();
    async move { volume.read(Extent::new(lba, blocks)).await }
}

/// Regression: the handle kept the result of each operation in a table beside the waker of its
/// future. When submitting an operation also finished others (a stopping pool fails all operations
/// in flight), the first of their results replaced a waker that was never called: that command hung
/// permanently, its connection could not end, and its initiator could not log in again.
#[test]
fn a_submit_that_finishes_other_operations_wakes_all_of_them() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let waiting: Vec<_> = (0..3).map(|at| rig.start(write(&volume, at * 8, 8, 1))).collect();
    assert!(waiting.iter().all(|outcome| outcome.0.borrow().is_none()), "they wait for their log frame");
    rig.pool.with_core(|core| core.stop("a test"));
    let last = rig.start(write(&volume, 64, 8, 1));
    rig.pool.pump(0);
    rig.executor.run_until_stalled();
    for outcome in waiting.iter().chain([&last]) {
        assert!(matches!(outcome.take(), Some(Err(BlockError::PoolStopped { .. }))));
    }
}

#[test]
fn operations_finished_while_the_core_was_borrowed_are_delivered_by_the_next_submit() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let waiting: Vec<_> = (0..3).map(|at| rig.start(write(&volume, at * 8, 8, 1))).collect();
    rig.pool.with_core(|core| core.checkpoint()).unwrap();
    assert_eq!(rig.start(read(&volume, 0, 1)).take(), Some(Ok(Bytes::from(vec![1; 512]))));
    for outcome in waiting {
        assert_eq!(outcome.take(), Some(Ok(())));
    }
}

#[test]
fn a_dropped_future_does_not_undo_its_operation_and_disturbs_no_other() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let other = rig.start(write(&volume, 8, 8, 2));
    {
        // Polled once and dropped: the write is submitted, and its future is gone.
        let mut abandoned = std::pin::pin!(write(&volume, 0, 8, 1));
        let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
        assert!(abandoned.as_mut().poll(context).is_pending());
    }
    while other.0.borrow().is_none() {
        rig.turn();
    }
    assert_eq!(other.take(), Some(Ok(())));
    assert_eq!(rig.run(read(&volume, 0, 1)), Ok(Bytes::from(vec![1; 512])));
}

#[test]
fn a_pump_is_asked_for_once_between_pumps() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let asked = Rc::new(RefCell::new(0));
    let count = Rc::clone(&asked);
    rig.pool.on_work(move || *count.borrow_mut() += 1);
    let (first, second) = (rig.start(write(&volume, 0, 8, 1)), rig.start(write(&volume, 8, 8, 1)));
    assert_eq!(*asked.borrow(), 1);
    rig.turn();
    let third = rig.start(write(&volume, 16, 8, 1));
    assert_eq!(*asked.borrow(), 2);
    for _ in 0..20 {
        rig.turn();
    }
    assert!([first, second, third].iter().all(|outcome| outcome.take() == Some(Ok(()))));
}

#[test]
fn a_deleted_volume_is_gone() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let captured = volume.clone();
    let capture = rig.run(async move { captured.capture(&[Extent::new(0, 16)]).await }).unwrap();
    assert!(capture.read_only());
    capture.discard();
    assert_eq!(rig.run(read(&capture, 0, 1)), Err(BlockError::Gone));
    let (pool, id) = (rig.pool.clone(), ObjectId(volume.volume().0));
    rig.run(async move { pool.commit(vec![CatalogChange::DeleteObject { id }]).await }).unwrap();
    assert_eq!(rig.run(write(&volume, 0, 8, 1)), Err(BlockError::Gone));
    assert_eq!((volume.block_count(), volume.volume().0), (0, id.0));
}

/// The rule that the simulation of the whole array leaves out reintroduces the bug at its original
/// place.
#[cfg(feature = "mutations")]
#[test]
fn the_rule_lost_wakeup_loses_a_wakeup() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let waiting: Vec<_> = (0..3).map(|at| rig.start(write(&volume, at * 8, 8, 1))).collect();
    crate::leave_out(Some(crate::Mutation::WakeEach));
    crate::stop_in_submit(Some(0));
    let last = rig.start(write(&volume, 64, 8, 1));
    crate::leave_out(None);
    assert!(last.take().is_some());
    rig.executor.run_until_stalled();
    let ended: Vec<bool> = waiting.iter().map(|outcome| outcome.take().is_some()).collect();
    assert_eq!(ended, [false, true, true]);
}

/// Two pools: the pool under test, and a foreign one.
struct Contract([Rig; 2]);

impl block::contract::Fixture for Contract {
    type Device = Volume<SimMedia>;

    fn device(&mut self, block_count: u64) -> Volume<SimMedia> {
        self.0[0].volume(block_count)
    }

    fn foreign(&mut self, block_count: u64) -> Option<Volume<SimMedia>> {
        // Regression: with the same object number in both pools, the content of the own volume was
        // cloned instead of the foreign one's.
        Some(self.0[1].volume(block_count))
    }

    fn turn(&mut self) {
        self.0.iter_mut().for_each(Rig::turn);
    }
}

/// Regression: a copy from a volume of another pool cloned the volume with the same number in its
/// own pool.
#[test]
fn volumes_keep_the_contract_of_block_devices() {
    block::contract::holds(Contract([Rig::new(), Rig::new()]));
}

#[test]
fn a_transaction_is_a_future_of_its_output() {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    let id = ObjectId(block::BlockDevice::volume(&volume).0);
    let transact = |pool: &Pool<SimMedia>, stability| {
        let pool = pool.clone();
        let increment = move |view: &mut View<'_>| {
            let number = view.block(id, BlockNumber::new(5))?[7] + 1;
            view.edit(id, BlockNumber::new(5), 7..8)?.fill(number);
            Ok(Decision::Commit(number))
        };
        async move { pool.transact_lent(increment, stability, |_, number| number).await }
    };
    let unstable = rig.start(transact(&rig.pool, Stability::Unstable));
    assert_eq!(unstable.take(), Some(Ok(1)), "it does not wait for its frame");
    let durable = rig.start(transact(&rig.pool, Stability::Durable));
    assert_eq!(durable.take(), None, "it waits for its frame");
    assert_eq!(rig.pool.try_view(|view| Ok(view.block(id, BlockNumber::new(5))?[7])), Some(Ok(2)));
    for _ in 0..100 {
        rig.turn();
    }
    assert_eq!(durable.take(), Some(Ok(2)));
    let pool = rig.pool.clone();
    let beyond = move |view: &mut View<'_>| Ok(Decision::Nothing(view.block(id, BlockNumber::new(1 << 20))?[0]));
    let refused = rig.run(async move { pool.transact_lent(beyond, Stability::Durable, |_, byte| byte).await });
    assert!(matches!(refused, Err(crate::Failure::Block(BlockError::OutOfRange { .. }))), "{refused:?}");
}

#[test]
fn a_volume_tells_how_much_of_a_range_is_mapped() {
    let mut rig = Rig::new();
    let volume = rig.volume(8000);
    let of = |volume: &Volume<SimMedia>, first: u64, count: u64| {
        let (volume, range) = (volume.clone(), BlockRange::new(BlockNumber::new(first), count));
        async move { volume.mapped_bytes(range).await }
    };
    let writer = volume.clone();
    let data = Bytes::from(vec![1; 3 * 4096]);
    rig.run(async move { writer.write(Extent::new(16, 24), data, Durability::AsConfigured).await }).unwrap();
    assert_eq!(rig.run(of(&volume, 0, 1000)), Ok(3 * 4096));
    assert_eq!(rig.run(of(&volume, 3, 1)), Ok(4096));
    assert!(matches!(rig.run(of(&volume, 999, 2)), Err(BlockError::OutOfRange { .. })));
}

/// A pool with an object whose second block is on the disk alone.
fn cold() -> (Rig, ObjectId) {
    let mut rig = Rig::new();
    let volume = rig.volume(4096);
    rig.run(write(&volume, 8, 8, 1)).unwrap();
    rig.pool.with_core(Core::checkpoint).unwrap();
    let disk = rig.pool.with_core(|core| core.media().disk().clone());
    let (core, _) = Core::open(LocalMedia::open(disk).unwrap(), options(), &mut |_| {}).unwrap();
    let id = ObjectId(volume.volume().0);
    (Rig { pool: Pool::new(core), executor: LocalPool::new() }, id)
}

fn first_byte(view: &mut View<'_>, object: ObjectId) -> Result<u8, crate::Missing> {
    Ok(view.block(object, BlockNumber::new(1))?[0])
}

/// Adds 1 to a byte, by a future that borrows.
async fn increment(pool: &Pool<SimMedia>, object: ObjectId, attempts: &Cell<u32>) -> Result<u8, crate::Failure> {
    let attempt = |view: &mut View<'_>| {
        attempts.set(attempts.get() + 1);
        let byte = first_byte(view, object)? + 1;
        view.edit(object, BlockNumber::new(1), 0..1)?.fill(byte);
        Ok(Decision::Commit(byte))
    };
    pool.transact_lent(attempt, Stability::Unstable, |view, byte| {
        assert_eq!(first_byte(view, object), Ok(byte), "it follows in the same step");
        byte
    })
    .await
}

#[test]
fn a_lent_transaction_is_attempted_when_its_future_is_polled() {
    let (mut rig, object) = cold();
    let attempts = Rc::new(Cell::new(0));
    let (pool, counted) = (rig.pool.clone(), Rc::clone(&attempts));
    let outcome = rig.start(async move { increment(&pool, object, &counted).await });
    assert_eq!((attempts.get(), outcome.take()), (1, None));
    for _ in 0..1000 {
        // Neither disk nor pool make an attempt.
        let before = attempts.get();
        rig.pool.with_core(Core::wait);
        rig.pool.pump(4);
        assert_eq!(attempts.get(), before);
        rig.executor.run_until_stalled();
    }
    assert_eq!(outcome.take(), Some(Ok(2)));
    // With everything in memory it is ready at its first poll.
    let made = attempts.get();
    let (pool, counted) = (rig.pool.clone(), Rc::clone(&attempts));
    let outcome = rig.start(async move { increment(&pool, object, &counted).await });
    assert_eq!((outcome.take(), attempts.get()), (Some(Ok(3)), made + 1));
}

#[test]
fn a_lent_transaction_that_is_dropped_before_its_execution_changes_nothing() {
    for turns in 0..40 {
        let (mut rig, object) = cold();
        let (pool, attempts) = (rig.pool.clone(), Cell::new(0));
        let mut future = Box::pin(increment(&pool, object, &attempts));
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        for _ in 0..turns {
            rig.pool.with_core(Core::wait);
            rig.pool.pump(4);
        }
        drop(future);
        rig.turn();
        let pool = rig.pool.clone();
        let found = rig.run(async move {
            let look = |view: &mut View<'_>| first_byte(view, object).map(Decision::Nothing);
            pool.transact_lent(look, Stability::Unstable, |_, byte| byte).await
        });
        assert_eq!(found, Ok(1), "after {turns} turns");
        assert!(rig.pool.0.lent.borrow().is_empty() && !rig.pool.with_core(|core| core.busy()));
        assert_eq!(rig.pool.with_core(|core| core.pinned()), 0, "after {turns} turns");
    }
}

#[test]
fn a_lent_transaction_ends_with_the_pool() {
    let (mut rig, object) = cold();
    let pool = rig.pool.clone();
    let outcome = rig.start(async move { increment(&pool, object, &Cell::new(0)).await });
    rig.pool.with_core(|core| core.stop("a test"));
    rig.turn();
    assert!(matches!(outcome.take(), Some(Err(crate::Failure::Block(BlockError::PoolStopped { .. })))));
    let pool = rig.pool.clone();
    let outcome = rig.start(async move { increment(&pool, object, &Cell::new(0)).await });
    assert!(matches!(outcome.take(), Some(Err(crate::Failure::Block(BlockError::PoolStopped { .. })))));
}
