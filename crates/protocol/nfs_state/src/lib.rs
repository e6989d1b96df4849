//! State of an NFSv4.1 and 4.2 server without I/O (RFC 8881, RFC 7862): clients, sessions with their exactly-once
//! replies, stateids, opens with share reservations, byte-range locks, leases, the grace period and callbacks.
//!
//! [`State`] has it all. Time is an argument: a [`Duration`](std::time::Duration) since any fixed instant of this run.
//! Errors are the statuses that the operation returns; after an error everything is as before. A server calls, for each
//! COMPOUND:
//!
//! 1. For one that begins with EXCHANGE_ID, CREATE_SESSION, BIND_CONN_TO_SESSION, DESTROY_SESSION or DESTROY_CLIENTID,
//!    the method of that name. For all others [`State::sequence`]. [`Sequenced::Replay`] is the whole reply;
//!    [`Sequenced::Uncached`] the result of SEQUENCE, with `RETRY_UNCACHED_REP` for the operation after it, if there
//!    is one. [`Sequenced::Run`] has the limits of the reply, and the [`ClientRef`] for step 2.
//! 2. The methods of its operations, with stateids from [`CurrentStateid`], which belongs to one COMPOUND:
//!    * OPEN: [`State::prepare_open`] before anything is looked up or created, [`State::reserve_open`] before the
//!      file is created, [`State::end_reservation`] and [`State::open`] when it is known, and [`State::undo_open`] if
//!      a truncation after it fails. [`delegation`] is the answer to wishes for one.
//!    * READ, WRITE, SETATTR of the size, and the operations of RFC 7862: [`State::check_io`]. NFSv3 has
//!      [`State::check_anonymous_io`].
//!    * REMOVE, and RENAME onto a file: [`State::check_remove`].
//!    * [`State::close`], [`State::open_downgrade`], [`State::lock`], [`State::lock_test`], [`State::unlock`],
//!      [`State::test_stateid`], [`State::free_stateid`], [`State::reclaim_complete`].
//!    * An asynchronous COPY: [`State::begin_copy`]; at its end [`State::queue_callback`], or [`State::end_copy`].
//! 3. After each call [`State::take_record_change`] until it has none: the changes must be durable before any reply
//!    that is caused by the call is sent. And [`State::take_released`]: files without opens, whose hold ends. A file
//!    gets its hold when [`Opened::first`] says so.
//! 4. [`State::complete`] with the encoded reply, before it is sent. It has to be called for each [`Admitted`]; the
//!    slot is in use until then.
//!
//! Besides: [`State::advance`] at least once a second, [`State::connection_closed`], and [`State::next_callback`] after
//! each step. What a client lost it is told by the status flags of SEQUENCE.
//!
//! Left out on purpose: delegations, layouts, directory notifications, state protection, sessions that survive a
//! restart.
#![forbid(unsafe_code)]

mod callbacks;
mod caller;
mod clients;
mod current;
mod files;
mod grace;
mod ids;
mod limits;
mod mutations;
mod records;
mod sessions;
mod state;
mod table;

pub use callbacks::{CallbackId, Referring};
pub use caller::{Caller, ConnectionId, Fingerprint, Principal, Request};
pub use current::CurrentStateid;
pub use files::{CopyDenied, FileKey, Holdings};
pub use limits::{Config, ConfigError, Identity, Limits, MAX_LEASE, MIN_LEASE};
#[cfg(feature = "mutations")]
pub use mutations::set_mutation;
pub use mutations::{Mutation, leaves_out};
pub use records::{Record, RecordChange};
pub use state::{
    Admitted, Callback, CallbackAnswer, ClientRef, ClientStanding, ClientView, Io, IoAccess, LockView, OpenRequest,
    OpenReservation, OpenView, Opened, Page, Sequenced, SessionView, State, Totals, delegation,
};
