//! Both ends under a counted waker, and under loom over all interleavings of two threads.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// Counts its wake-ups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(not(loom))]
mod in_one_thread {
    use super::*;

    fn counted() -> (std::sync::Arc<Count>, Waker) {
        let count = std::sync::Arc::new(Count::default());
        (count.clone(), Waker::from(count))
    }

    #[test]
    fn a_batch_wakes_a_sleeping_receiver_once_and_an_awake_one_not() {
        let (count, waker) = counted();
        let mut context = Context::from_waker(&waker);
        let (mut sender, mut receiver) = mailbox(100);
        let mut batch = Vec::new();
        assert!(receiver.poll_batch(&mut context, &mut batch).is_pending());
        for message in 0..3 {
            sender.push(message);
        }
        assert!(receiver.poll_batch(&mut context, &mut batch).is_pending(), "nothing is delivered before the flush");
        sender.flush();
        sender.push(3);
        sender.flush();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(receiver.poll_batch(&mut context, &mut batch), Poll::Ready(true));
        assert_eq!(batch, [0, 1, 2, 3]);
    }

    #[test]
    fn a_full_mailbox_has_room_when_its_batch_is_taken() {
        let (count, waker) = counted();
        let mut context = Context::from_waker(&waker);
        let (mut sender, mut receiver) = mailbox(2);
        sender.push(1);
        assert!(!sender.is_full());
        sender.push(2);
        assert!(sender.is_full());
        sender.flush();
        assert!(sender.is_full() && sender.poll_room(&mut context).is_pending());
        assert_eq!(receiver.poll_batch(&mut context, &mut Vec::new()), Poll::Ready(true));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(sender.poll_room(&mut context).is_ready() && !sender.is_full());
    }

    #[test]
    fn an_end_that_is_gone_ends_the_other() {
        let (count, waker) = counted();
        let mut context = Context::from_waker(&waker);
        let (mut sender, mut receiver) = mailbox(2);
        sender.push(1);
        drop(sender);
        let mut batch = Vec::new();
        assert_eq!(receiver.poll_batch(&mut context, &mut batch), Poll::Ready(true), "its last batch comes first");
        batch.clear();
        assert_eq!(receiver.poll_batch(&mut context, &mut batch), Poll::Ready(false));

        let (mut sender, receiver) = mailbox(1);
        sender.push(1);
        sender.flush();
        assert!(sender.poll_room(&mut context).is_pending());
        drop(receiver);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(sender.poll_room(&mut context).is_ready());
    }
}

#[cfg(loom)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod under_loom {
    use super::*;
    use loom::future::block_on;
    use loom::thread;
    use std::future::poll_fn;

    const MESSAGES: usize = 2;

    async fn next(receiver: &mut Receiver<usize>) -> Vec<usize> {
        let mut batch = Vec::new();
        let more = poll_fn(|context| receiver.poll_batch(context, &mut batch)).await;
        assert_eq!(more, !batch.is_empty());
        batch
    }

    /// The receiver sleeps between batches; after a lost wake-up it would not wake again, which loom
    /// reports as a deadlock.
    #[test]
    fn every_message_arrives_in_order() {
        loom::model(|| {
            let (mut sender, mut receiver) = mailbox(10);
            let sending = thread::spawn(move || {
                for message in 0..MESSAGES {
                    sender.push(message);
                    sender.flush();
                }
            });
            let mut received = Vec::new();
            block_on(async {
                loop {
                    let batch = next(&mut receiver).await;
                    if batch.is_empty() {
                        break;
                    }
                    received.extend(batch);
                }
            });
            sending.join().unwrap();
            assert_eq!(received, (0..MESSAGES).collect::<Vec<_>>());
        });
    }

    /// The sender sleeps while the mailbox is full.
    #[test]
    fn a_full_mailbox_goes_on() {
        loom::model(|| {
            let (mut sender, mut receiver) = mailbox(1);
            let sending = thread::spawn(move || {
                block_on(async {
                    for message in 0..2 {
                        poll_fn(|context| sender.poll_room(context)).await;
                        sender.push(message);
                        sender.flush();
                    }
                });
            });
            let mut received = 0;
            block_on(async {
                while received < 2 {
                    let batch = next(&mut receiver).await;
                    assert_eq!(batch, [received]);
                    received += 1;
                }
            });
            sending.join().unwrap();
        });
    }

    /// Each side answers the other, as commands and completions do.
    #[test]
    fn two_mailboxes_carry_a_conversation() {
        loom::model(|| {
            let (mut to_engine, mut commands) = mailbox(10);
            let (mut to_executor, mut completions) = mailbox(10);
            let engine = thread::spawn(move || {
                block_on(async {
                    for command in next(&mut commands).await {
                        to_executor.push(command + 1);
                    }
                    to_executor.flush();
                });
            });
            to_engine.push(1);
            to_engine.flush();
            assert_eq!(block_on(next(&mut completions)), [2]);
            engine.join().unwrap();
        });
    }

    /// Delivers a batch while the receiver goes to sleep. The receiver must see it or be woken.
    fn falling_asleep(
        fall_asleep: impl Fn(&mut Receiver<usize>, &mut Context<'_>) -> Poll<bool> + Send + Sync + Copy + 'static,
    ) {
        loom::model(move || {
            let (mut sender, mut receiver) = mailbox(10);
            let sending = thread::spawn(move || {
                sender.push(1);
                sender.flush();
                sender
            });
            let count = std::sync::Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            let sees = fall_asleep(&mut receiver, &mut Context::from_waker(&waker)).is_ready();
            let _sender = sending.join().unwrap();
            assert!(sees || count.0.load(Ordering::Relaxed) > 0, "a wake-up is lost");
        });
    }

    #[test]
    fn a_receiver_that_goes_to_sleep_misses_nothing() {
        falling_asleep(|receiver, context| receiver.poll_batch(context, &mut Vec::new()));
    }

    /// The check itself: a receiver that has looked, and then sleeps without another look, misses
    /// a batch that is delivered in between.
    #[test]
    #[should_panic(expected = "a wake-up is lost")]
    fn sleeping_without_another_look_is_noticed() {
        falling_asleep(|receiver, context| {
            if !lock(&receiver.shared).delivered.is_empty() {
                return Poll::Ready(true);
            }
            lock(&receiver.shared).receiver = Some(context.waker().clone());
            Poll::Pending
        });
    }
}
