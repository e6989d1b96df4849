//! Grantee of a grant, by name.

/// Grantee of an access grant: a host, a host group or every initiator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grantee {
    /// Every initiator.
    Any,
    /// A host, by name or id.
    Host(String),
    /// Every member of a host group, by name or id.
    Group(String),
}

impl Grantee {
    /// Name of the host or group as a parameter of an error.
    pub(crate) fn parameter(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Any => None,
            Self::Host(host) => Some(("host", host.clone())),
            Self::Group(group) => Some(("group", group.clone())),
        }
    }
}

impl Grantee {
    /// One word: `any`, the host's name, or `group:NAME`. Names contain no colon.
    pub fn word(&self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::Host(host) => host.clone(),
            Self::Group(group) => format!("group:{group}"),
        }
    }
}

impl std::fmt::Display for Grantee {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host) => write!(formatter, "host {host}"),
            Self::Group(group) => write!(formatter, "host group {group}"),
            Self::Any => formatter.write_str("any host"),
        }
    }
}
