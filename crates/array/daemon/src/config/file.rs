//! Format of the configuration file.

use super::{AbortOfFinishedTask, AuditFailure, PoolBackend, portal_address};
use crate::LogFormat;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) server: Server,
    pub(super) tls: Tls,
    pub(super) iscsi: Iscsi,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nfs: Option<Nfs>,
    #[serde(skip_serializing_if = "Metrics::is_empty")]
    pub(super) metrics: Metrics,
    pub(super) audit: Audit,
    pub(super) history: History,
    pub(super) background: Background,
    pub(super) pool: Vec<Pool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Audit {
    pub(super) on_failure: Option<AuditFailure>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct History {
    pub(super) limit: Option<Size>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Background {
    pub(super) share: Option<u8>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Server {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) listen: Option<SocketAddr>,
    pub(super) socket: Option<PathBuf>,
    pub(super) socket_group: Option<String>,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) memory: Option<Size>,
    pub(super) threads: Option<u8>,
    pub(super) log: Option<String>,
    pub(super) log_format: Option<LogFormat>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Tls {
    pub(super) mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cert: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) names: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Iscsi {
    pub(super) listen: Option<Vec<PortalAddress>>,
    pub(super) advertise: Option<Vec<String>>,
    pub(super) iqn_base: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) port_groups: Option<Vec<u16>>,
    pub(super) explicit_asymmetric_access: Option<bool>,
    pub(super) abort_of_finished_task: Option<AbortOfFinishedTask>,
    pub(super) isns: Option<Vec<SocketAddr>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Nfs {
    pub(super) listen: Option<Vec<PortalAddress>>,
    pub(super) versions: Option<Vec<String>>,
    pub(super) portmap: Option<bool>,
    pub(super) lease_seconds: Option<u64>,
    pub(super) max_clients: Option<u32>,
    pub(super) replay_memory: Option<Size>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Metrics {
    pub(super) listen: Option<SocketAddr>,
}

impl Metrics {
    fn is_empty(&self) -> bool {
        self.listen.is_none()
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Pool {
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backend: Option<PoolBackend>,
    pub(super) path: Option<PathBuf>,
    pub(super) size: Option<Size>,
    pub(super) discard: Option<bool>,
    pub(super) limits: Limits,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) warn: Option<u8>,
    pub(super) critical: Option<u8>,
    /// 0: no limit.
    pub(super) commitment: Option<u32>,
}

/// Listen address of a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortalAddress(pub(super) SocketAddr);

impl Serialize for PortalAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PortalAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        portal_address::parse(&text).map(Self).map_err(D::Error::custom)
    }
}

/// Bytes, written as `"200G"` or as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)]
            .into_iter()
            .find(|(_, shift)| self.0 != 0 && self.0.is_multiple_of(1 << shift))
            .map_or_else(|| self.0.to_string(), |(unit, shift)| format!("{}{unit}", self.0 >> shift));
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a size such as \"200G\"")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Size, E> {
                u64::try_from(value).map(Size).map_err(E::custom)
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Size, E> {
                Ok(Size(value))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Size, E> {
                api::size::parse(value).map(Size).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}
