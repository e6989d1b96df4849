//! What is told of alerts, to whom and when, and its delivery by e-mail, webhook and syslog.
//!
//! [`Notices`] decides, without I/O, clock or random numbers: times and ids are arguments. It compares what each
//! channel was told last with what holds, so that nothing is told twice and nothing is lost. A step *plans*
//! [`Change`]s, and is otherwise as before; the owner stores the changes and then applies them. What is stored is
//! enough to go on after a restart.
//!
//! `render` makes the bytes of a message, also without I/O. `delivery` alone talks to peers; each try has a limit
//! of time, and takes a bounded part of what a peer sends.
#![forbid(unsafe_code)]

mod channel;
mod condition;
mod delivery;
mod ended;
mod error;
mod notice;
mod notices;
mod quiet;
mod render;

pub use channel::{ChannelRecord, NewChannel};
pub use condition::{Acknowledged, Alert, Condition, Telling, alert_id};
pub use delivery::{TIME_LIMIT, send, send_audit};
pub use ended::{EndedAlert, EndedKey, ToldBefore};
pub use error::{ChannelError, Class};
pub use notice::{AuditLine, Delivery, Kind, Message, Notice};
pub use notices::{Change, Dispatch, NOTIFICATION_FAILING, Notices};
pub use render::Sender;
