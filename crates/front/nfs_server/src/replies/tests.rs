//! Kept replies: their time, their memory, and which calls are the same.

use super::*;
use crate::testing::ready;

const NOW: Duration = Duration::from_secs(1000);

fn key(xid: u32) -> Key {
    Key::new(IpAddr::from([10, 0, 0, 1]), xid, 8, Some(0), b"arguments")
}

fn after(seconds: u64) -> Duration {
    NOW + Duration::from_secs(seconds)
}

/// Executes a call with this reply. Panics if it is a repetition.
fn execute(replies: &Replies, xid: u32, reply: &[u8], now: Duration) {
    match ready(replies.begin(key(xid), now)) {
        Begin::Execute(ticket) => assert!(ticket.finish(reply, now)),
        Begin::Repeat(_) | Begin::Superseded => panic!("{xid} is a repetition"),
    }
}

fn repeats(replies: &Replies, xid: u32, now: Duration) -> bool {
    match ready(replies.begin(key(xid), now)) {
        Begin::Repeat(reply) => {
            assert!(!reply.is_empty());
            true
        }
        Begin::Execute(_) => false,
        Begin::Superseded => panic!("nobody else repeats"),
    }
}

#[test]
fn a_reply_is_kept_for_120_seconds_after_its_last_use() {
    let replies = Replies::default();
    execute(&replies, 1, b"reply", NOW);
    execute(&replies, 2, b"reply", NOW);
    assert!(repeats(&replies, 1, after(120)));
    assert!(!repeats(&replies, 2, after(121)));
    assert!(repeats(&replies, 1, after(240)));
    assert!(!repeats(&replies, 1, after(361)));
    assert_eq!(replies.held_bytes(), 0);
}

#[test]
fn memory_is_bounded_and_the_least_recently_used_leave() {
    let replies = Replies::default();
    let reply = vec![7; 1000];
    for xid in 0..20_000 {
        execute(&replies, xid, &reply, NOW);
        assert!(replies.held_bytes() <= MOST_BYTES);
        assert!(xid == 0 || repeats(&replies, 0, NOW));
    }
    assert!(replies.held_bytes() > MOST_BYTES - 2000);
    let fit = u32::try_from(MOST_BYTES / (ENTRY_BYTES + 1000)).unwrap_or(0);
    assert!(repeats(&replies, 20_000 - fit + 1, NOW) && !repeats(&replies, 20_000 - fit, NOW));
    assert_eq!(replies.counts().evicted, u64::from(20_000 - fit));
}

#[test]
fn a_key_has_what_makes_a_call() {
    let client = IpAddr::from([10, 0, 0, 1]);
    let long = vec![1; 300];
    let base = Key::new(client, 1, 8, Some(0), &long);
    let changed = |at: usize| {
        let mut other = long.clone();
        other[at] = 2;
        Key::new(client, 1, 8, Some(0), &other)
    };
    assert_eq!(Key::new("::ffff:10.0.0.1".parse().unwrap_or(client), 1, 8, Some(0), &long), base);
    assert_ne!(Key::new(IpAddr::from([10, 0, 0, 2]), 1, 8, Some(0), &long), base);
    assert_ne!(Key::new(client, 2, 8, Some(0), &long), base);
    assert_ne!(Key::new(client, 1, 9, Some(0), &long), base);
    assert_ne!(Key::new(client, 1, 8, None, &long), base);
    assert_ne!(Key::new(client, 1, 8, Some(0), &long[..299]), base);
    assert_ne!(changed(0), base);
    assert_ne!(changed(255), base);
    assert_eq!(changed(256), base);
}

#[test]
fn a_ticket_without_a_reply_leaves_nothing() {
    let replies = Replies::default();
    assert!(!repeats(&replies, 1, NOW));
    assert!(!repeats(&replies, 1, NOW));
    assert_eq!((replies.held_bytes(), replies.counts()), (0, ReplyCounts::default()));
}

/// Calls that begin, wait and end in any order: one execution, and a call that gets the reply.
#[test]
fn any_order_of_repetitions_gives_one_reply_to_one_call() {
    use std::cell::Cell;
    use std::task::{Context, Poll, Waker};
    for seed in 0..300 {
        let random = random::Random::new(seed);
        let replies = Replies::default();
        let (executing, executed) = (Cell::new(0_u32), Cell::new(0_u32));
        let sent = Cell::new(0_u32);
        let call = async |gate: &Cell<bool>| match replies.begin(key(1), NOW).await {
            Begin::Execute(ticket) => {
                executing.set(executing.get() + 1);
                assert_eq!(executing.get(), 1, "seed {seed}: two executions at a time");
                poll_fn(|_| if gate.get() { Poll::Ready(()) } else { Poll::Pending }).await;
                executing.set(0);
                executed.set(executed.get() + 1);
                sent.set(sent.get() + u32::from(ticket.finish(b"reply", NOW)));
            }
            Begin::Repeat(_) => sent.set(sent.get() + 1),
            Begin::Superseded => {}
        };
        let gate = Cell::new(false);
        let mut calls: Vec<_> = (0..5).map(|_| Some(Box::pin(call(&gate)))).collect();
        let task = &mut Context::from_waker(Waker::noop());
        for step in 0..100 {
            gate.set(step > 20);
            // In the end each call gets its turn.
            let index = if step < 80 { random.index(calls.len()) } else { step % calls.len() };
            if calls[index].as_mut().is_some_and(|call| call.as_mut().poll(task).is_ready()) {
                calls[index] = None;
            }
        }
        assert!(calls.iter().all(Option::is_none), "seed {seed}: a call waits for nothing");
        assert_eq!(executed.get(), 1, "seed {seed}");
        assert!(sent.get() >= 1, "seed {seed}: nobody gets the reply");
    }
}
