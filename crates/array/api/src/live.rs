//! The live stream: Server-Sent Events of `/api/v1/live`. The comment of each type names its event.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Topics of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LiveQuery {
    /// Topics, separated by spaces: `array`, `primitives`, `busiest`, `volumes:ID,ID` (at most 60
    /// volumes or shares), `changes`, `events`, `jobs`, `alerts`, `connect:HOST` or `connect:HOST,VOLUME` (how far a
    /// host is in using a volume), `lab:RUN` (a run of the laboratory). At most four of each of the last two.
    pub topics: String,
}

/// Request to change the topics of a stream that is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveTopics {
    /// Topics, as in the request for the stream.
    pub topics: String,
}

/// `hello`: the first event of a stream. Its client reads jobs and alerts again, because the end of
/// one before the stream is not announced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveHello {
    /// Number of the stream, to change its topics.
    pub stream: u64,
    /// Revision of the lists from which changes are sent.
    pub revision: u64,
    /// Time of the array.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Version of the program.
    pub version: String,
}

/// `change`: an object was created, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveChange {
    /// Revision of the lists that includes the change.
    #[serde(rename = "rev")]
    pub revision: u64,
    /// `volume`, `snapshot`, `host`, `host-group`, `access`, `share`, `export`, `portal` or
    /// `port-group`.
    pub kind: String,
    /// Id of the object; of a grant or export rule, that of the volume or share.
    pub id: String,
    /// `put` or `deleted`.
    pub op: String,
}

/// `lagged`: changes after this revision, or events, were missed, and the client reads what it shows
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveLagged {
    /// Last revision of which all changes were sent.
    pub from: u64,
    /// Revision from which changes are sent.
    pub revision: u64,
}

/// `bye`: the array ends the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveBye {
    /// `stopping` or `too-slow`.
    pub why: String,
}

/// `alert-ended`: the condition has ended. `alert` has an [`Alert`](crate::Alert).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveAlertEnded {
    /// Stable name of the condition.
    pub code: String,
    /// Name of the affected object.
    pub subject: String,
}
