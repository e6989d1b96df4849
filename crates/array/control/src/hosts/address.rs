//! IP addresses of hosts. Clients of shares are known by address; one address belongs to one host.

use super::HostError;
use crate::error::ControlError;
use std::net::IpAddr;

/// Largest number of addresses of one host.
const MAX_ADDRESSES: usize = 64;

/// Checks the addresses of a host. Returns them in their canonical form without duplicates: an IPv4
/// address inside IPv6 is the IPv4 address.
pub(super) fn addresses_of(addresses: &[IpAddr]) -> Result<Vec<IpAddr>, ControlError> {
    let mut checked: Vec<IpAddr> = Vec::new();
    for address in addresses.iter().map(IpAddr::to_canonical) {
        if let Some(reason) = fault(address) {
            return Err(HostError::InvalidAddress { address, reason }.into());
        }
        if !checked.contains(&address) {
            checked.push(address);
        }
        if checked.len() > MAX_ADDRESSES {
            let reason = "a host has at most 64 addresses";
            return Err(HostError::InvalidAddress { address, reason }.into());
        }
    }
    Ok(checked)
}

/// Reason why no host can have the address.
fn fault(address: IpAddr) -> Option<&'static str> {
    if address.is_unspecified() {
        return Some("it stands for every address");
    }
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    (broadcast || address.is_multicast()).then_some("it stands for several hosts")
}
