use super::*;

const MIB: usize = 1 << 20;

fn accounts(limit_bytes: usize, count: usize) -> (Rc<DataMemory>, Vec<Account>) {
    let budget = DataMemory::new(Budget::new(limit_bytes, limit_bytes / 2));
    let accounts = (0..count).map(|_| Account::new(budget.clone(), Rc::default())).collect();
    (budget, accounts)
}

/// The total stays within the limit plus one request for any number of connections, and waiting
/// connections are served in order.
#[test]
fn connections_share_the_budget_in_turn() {
    let (budget, accounts) = accounts(16 * MIB, 40);
    let granted: Vec<usize> = (0..40).filter(|at| accounts[*at].take(8 * MIB, true)).collect();
    assert_eq!(granted, [0, 1], "one within the budget, one beyond it");
    // Every connection gets its small share, ahead of the queue.
    assert!(accounts[39].take(SHARE_BYTES, true));
    accounts[0].give_back(8 * MIB);
    assert!(!accounts[3].take(8 * MIB, true), "it is not its turn");
    assert!(accounts[2].take(8 * MIB, true));
    assert!(!accounts[2].waits());
    drop(accounts);
    assert!(budget.waiting.borrow().is_empty());
    assert_eq!((budget.used_bytes.get(), budget.exceeded.get()), (0, false));
}

/// Each next connection finds free memory, however much the earlier ones hold.
#[test]
fn no_connection_takes_what_others_need() {
    let (_budget, accounts) = accounts(64 * MIB, 6);
    for (at, account) in accounts.iter().enumerate() {
        let mut taken = 0;
        while account.take_unsolicited(64 << 10) {
            taken += 64 << 10;
        }
        let share = (64 * MIB) >> (at + 1);
        assert!((share - SHARE_BYTES..=share + SHARE_BYTES).contains(&taken), "{at}: {taken}");
        assert!(account.was_refused() && !account.was_refused());
    }
}

/// Receive buffers that short data keeps have half of the budget, of all threads together.
#[test]
fn receive_buffers_kept_by_short_data_are_bounded() {
    let (one, accounts) = accounts(16 * MIB, 2);
    let taken = |account: &Account| (0..1000).filter(|_| account.stays_in_place()).count();
    assert_eq!(taken(&accounts[0]) * RECEIVE_BYTES, 8 * MIB);
    assert!(!accounts[1].stays_in_place());
    accounts[1].left_place(3);
    assert_eq!(taken(&accounts[0]), 3);
    let other = DataMemory::new(Arc::clone(&one.budget));
    let third = Account::new(Rc::clone(&other), Rc::default());
    assert_eq!(taken(&third) * RECEIVE_BYTES, 4 * MIB);
    accounts[0].left_place(33);
    assert_eq!(taken(&accounts[0]), 1);
}

/// A connection that waits for much memory does not block small requests of others that fit.
#[test]
fn small_requests_pass_large_ones_that_do_not_fit() {
    let (_budget, accounts) = accounts(64 * MIB, 6);
    while accounts[0].take(4 * MIB, false) {}
    accounts[0].withdraw();
    assert!(accounts[1].take(16 * MIB, true), "half of the rest");
    assert!(accounts[2].take(16 * MIB, true), "beyond the budget");
    assert!(!accounts[3].take(16 * MIB, true), "one at a time");
    assert!(accounts[4].take(MIB, true) && accounts[4].take(MIB, true));
    // The large request is served when the other one has ended, even if small ones keep arriving.
    accounts[2].give_back(16 * MIB);
    assert!(accounts[5].take(4 * MIB, true));
    assert!(accounts[3].take(16 * MIB, true));
}

/// A connection that holds much waits behind connections that hold less, even if these came later.
#[test]
fn who_holds_less_comes_first() {
    let (_budget, accounts) = accounts(16 * MIB, 3);
    assert!(accounts[0].take(8 * MIB, true));
    assert!(accounts[1].take(16 * MIB, true), "beyond the budget");
    assert!(!accounts[0].take(4 * MIB, true));
    assert!(!accounts[2].take(8 * MIB, true));
    accounts[1].give_back(16 * MIB);
    assert!(!accounts[0].take(4 * MIB, true));
    assert!(accounts[2].take(8 * MIB, true));
}

/// Memory beyond the budget goes only to tasks that depend on no other task, so that it is released
/// again.
#[test]
fn only_the_oldest_task_goes_beyond_the_budget() {
    let (_budget, accounts) = accounts(16 * MIB, 2);
    while accounts[0].take_unsolicited(MIB) {}
    assert!(!accounts[1].take(16 * MIB, false));
    assert!(!accounts[0].take(16 * MIB, false));
    assert!(accounts[0].take(16 * MIB, true), "the others may wait for this one");
    assert!(accounts[1].take(0, false), "what needs nothing does not wait");
}

/// Threads lease what they use, and nothing is left leased when it is returned.
#[test]
fn threads_share_the_budget() {
    let budget = Budget::new(16 * MIB, 8 * MIB);
    let [one, other] = [(); 2].map(|()| DataMemory::new(Arc::clone(&budget)));
    let account = |memory: &Rc<DataMemory>| Account::new(Rc::clone(memory), Rc::default());
    let (first, second) = (account(&one), account(&other));
    assert!(first.take(8 * MIB, false));
    assert_eq!(budget.free_bytes(), 8 * MIB);
    assert!(!second.take(8 * MIB, false), "it would leave no memory free");
    assert!(second.take(4 * MIB, false), "half of the rest");
    assert_eq!(budget.free_bytes(), 4 * MIB);
    // A buffer that one thread returns is taken by the other.
    first.give_back(8 * MIB);
    assert!(second.take(2 * MIB, false));
    drop((first, second));
    drop((one, other));
    assert_eq!(budget.free_bytes(), 16 * MIB);
}
