//! Names and addresses of peers and of this machine.

mod machine;

pub(crate) use machine::machine_addresses;

use std::net::{IpAddr, Ipv6Addr};

/// Part of an address that has one owner: an IPv4 address or an IPv6 /64.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// True for a DNS name or an IP address.
pub(crate) fn is_name(name: &str) -> bool {
    rustls::pki_types::ServerName::try_from(name).is_ok()
}
