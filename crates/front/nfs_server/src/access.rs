//! Export rules: the hosts that may use a share, and the identity that their callers get.
//!
//! The most exact rule decides alone: one that names the host, then one of a group, then the network
//! with the longest prefix, then the rule for any host. Of equally exact ones the first decides.

use onc_rpc::auth::Credential;
use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use vfs::{Anonymous, Caller, Squash};

/// Default user and group of anonymous callers.
pub const ANONYMOUS: Anonymous = Anonymous { user: unit::NOBODY, group: unit::NOBODY };

/// First port that every user of a host may use.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// Network of IPv4 or IPv6 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

impl Network {
    /// Creates a network. `None`: a prefix longer than the address. Bits behind the prefix are ignored.
    pub fn new(address: IpAddr, prefix_bits: u8) -> Option<Self> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        (prefix_bits <= most).then_some(Self { address, prefix_bits })
    }

    /// Whether the address is one of the network. IPv4 and IPv6 networks have no address in common.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix_bits)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix_bits)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

/// `address/prefix`.
impl fmt::Display for Network {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.address, self.prefix_bits)
    }
}

/// Hosts that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// One host, by its addresses.
    Host(BTreeSet<IpAddr>),
    /// Group of hosts, by the addresses of all of them.
    Group(BTreeSet<IpAddr>),
    /// All hosts of a network.
    Network(Network),
    /// All hosts.
    Any,
}

impl Hosts {
    /// How exactly the rule names an address, larger for more exact; `None` if it does not.
    fn exactness(&self, address: IpAddr) -> Option<u32> {
        const GROUP: u32 = 1000;
        const HOST: u32 = 2000;
        match self {
            Self::Host(addresses) => addresses.contains(&address).then_some(HOST),
            Self::Group(addresses) => addresses.contains(&address).then_some(GROUP),
            Self::Network(network) => network.contains(address).then_some(1 + u32::from(network.prefix_bits)),
            Self::Any => Some(0),
        }
    }
}

/// Export rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Hosts that it is about.
    pub hosts: Hosts,
    /// Whether every change is refused.
    pub read_only: bool,
    /// Identifiers that become the anonymous ones.
    pub squash: Squash,
    /// Anonymous user and group.
    pub anonymous: Anonymous,
    /// Whether calls have to come from a port below 1024.
    pub privileged_port: bool,
}

impl Rule {
    /// Rule with defaults: read and write, from any port, anonymous callers as [`ANONYMOUS`]. User 0 of a
    /// named host is user 0; elsewhere it is squashed.
    pub const fn new(hosts: Hosts) -> Self {
        let squash = match hosts {
            Hosts::Host(_) | Hosts::Group(_) => Squash::None,
            Hosts::Network(_) | Hosts::Any => Squash::Root,
        };
        Self { hosts, read_only: false, squash, anonymous: ANONYMOUS, privileged_port: false }
    }
}

/// Rules of a share. Without any, no host may use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(pub Vec<Rule>);

/// Permission of one caller for one share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    /// Identity for the file system.
    pub caller: Caller,
    /// Whether the rule refuses every change.
    pub read_only: bool,
}

/// Reason why a caller may not use a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No rule names the host; it must not learn that the share exists.
    NoRule,
    /// The rule wants a privileged port.
    UnprivilegedPort,
}

impl Rules {
    /// Position of the rule that decides about an address.
    pub fn deciding(&self, address: IpAddr) -> Option<usize> {
        let address = address.to_canonical();
        let exact = |(position, rule): (usize, &Rule)| Some((rule.hosts.exactness(address)?, position));
        // Of equal ones the last would win: from behind, so that it is the first.
        let exact = self.0.iter().enumerate().rev().filter_map(exact);
        exact.max_by_key(|(exactness, _)| *exactness).map(|(_, position)| position)
    }

    /// Rule that decides about an address.
    pub fn rule(&self, address: IpAddr) -> Option<&Rule> {
        self.0.get(self.deciding(address)?)
    }

    /// Permission of a caller: the client's address and port, and its credential.
    pub fn permit(&self, client: SocketAddr, credential: &Credential) -> Result<Permit, Refusal> {
        let rule = self.rule(client.ip()).ok_or(Refusal::NoRule)?;
        if rule.privileged_port && client.port() >= FIRST_UNPRIVILEGED_PORT {
            return Err(Refusal::UnprivilegedPort);
        }
        let caller = match credential {
            Credential::Sys(sys) => Caller::new(sys.uid, sys.gid, &sys.gids, rule.squash, rule.anonymous),
            Credential::None | Credential::TlsProbe => Caller::anonymous(rule.anonymous),
        };
        Ok(Permit { caller, read_only: rule.read_only })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onc_rpc::auth::AuthSys;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|_| panic!("{text}"))
    }

    fn network(text: &str, prefix_bits: u8) -> Hosts {
        Hosts::Network(Network::new(address(text), prefix_bits).unwrap_or_else(|| panic!("{text}")))
    }

    fn sys(uid: u32) -> Credential {
        let machine_name = "client".into();
        Credential::Sys(AuthSys { stamp: 0, machine_name, uid, gid: uid, gids: vec![0, 7].into() })
    }

    /// Position of the rule that decides.
    fn decides(rules: &Rules, text: &str) -> Option<usize> {
        rules.deciding(address(text))
    }

    fn rules(hosts: impl IntoIterator<Item = Hosts>) -> Rules {
        Rules(hosts.into_iter().map(Rule::new).collect())
    }

    #[test]
    fn the_most_exact_rule_decides() {
        let rules = rules([
            Hosts::Any,
            network("10.0.0.0", 8),
            network("10.1.0.0", 16),
            Hosts::Group([address("10.1.0.5"), address("10.1.0.6")].into()),
            Hosts::Host([address("10.1.0.5"), address("fd00::5")].into()),
            network("fd00::", 8),
        ]);
        for (client, rule) in [
            ("192.168.0.1", 0),
            ("10.2.0.1", 1),
            ("10.1.0.1", 2),
            ("10.1.0.6", 3),
            ("10.1.0.5", 4),
            ("fd00::5", 4),
            ("fd00::6", 5),
            ("fe80::1", 0),
            ("::ffff:10.1.0.5", 4),
            ("::ffff:10.2.0.1", 1),
        ] {
            assert_eq!(decides(&rules, client), Some(rule), "{client}");
        }
    }

    #[test]
    fn of_equal_rules_the_first_decides() {
        let mut rules = rules([Hosts::Any, Hosts::Any]);
        rules.0[0].read_only = true;
        assert_eq!(rules.rule(address("1.2.3.4")).map(|rule| rule.read_only), Some(true));
    }

    #[test]
    fn a_prefix_of_0_has_all_addresses_of_its_family() {
        let (four, six) = (rules([network("1.2.3.4", 0)]), rules([network("::", 0)]));
        assert_eq!((decides(&four, "9.9.9.9"), decides(&four, "fd00::1")), (Some(0), None));
        assert_eq!((decides(&six, "9.9.9.9"), decides(&six, "fd00::1")), (None, Some(0)));
        let host = rules([network("10.0.0.1", 32), network("fd00::1", 128)]);
        assert_eq!((decides(&host, "10.0.0.1"), decides(&host, "10.0.0.2")), (Some(0), None));
        assert_eq!((decides(&host, "fd00::1"), decides(&host, "fd00::2")), (Some(1), None));
        assert_eq!(Network::new(address("10.0.0.1"), 33), None);
    }

    #[test]
    fn without_a_rule_there_is_no_permit() {
        let client = SocketAddr::new(address("10.0.0.1"), 700);
        assert_eq!(Rules::default().permit(client, &sys(0)), Err(Refusal::NoRule));
        assert_eq!(rules([network("10.1.0.0", 16)]).permit(client, &sys(0)), Err(Refusal::NoRule));
    }

    #[test]
    fn a_privileged_port_is_below_1024() {
        let mut rules = rules([Hosts::Any]);
        rules.0[0].privileged_port = true;
        let permit = |port| rules.permit(SocketAddr::new(address("10.0.0.1"), port), &sys(0)).err();
        assert_eq!((permit(1023), permit(1024)), (None, Some(Refusal::UnprivilegedPort)));
    }

    #[test]
    fn named_hosts_keep_user_0_and_others_lose_it() {
        let client = SocketAddr::new(address("10.0.0.1"), 700);
        let user = |hosts, credential| {
            let permit = rules([hosts]).permit(client, &credential);
            permit.map(|permit| (permit.caller.user(), permit.caller.is_in(0)))
        };
        let host = Hosts::Host([address("10.0.0.1")].into());
        assert_eq!(user(host.clone(), sys(0)), Ok((0, true)));
        assert_eq!(user(Hosts::Group([address("10.0.0.1")].into()), sys(0)), Ok((0, true)));
        assert_eq!(user(network("10.0.0.0", 8), sys(0)), Ok((65534, false)));
        assert_eq!(user(Hosts::Any, sys(1000)), Ok((1000, false)));
        assert_eq!(user(host, Credential::None), Ok((65534, false)));
    }

    #[test]
    fn a_rule_names_the_anonymous_identity_and_refuses_changes() {
        let rule = Rule {
            squash: Squash::All,
            anonymous: Anonymous { user: 5, group: 6 },
            read_only: true,
            ..Rule::new(Hosts::Any)
        };
        let permit = Rules(vec![rule]).permit(SocketAddr::new(address("10.0.0.1"), 2000), &sys(1000));
        let found = permit.map(|permit| (permit.caller.user(), permit.caller.group(), permit.read_only));
        assert_eq!(found, Ok((5, 6, true)));
    }
}
