//! Notation of a portal's listen address: `ADDRESS:PORT`, IPv6 in brackets, a link-local address
//! with its zone (RFC 6874: `[fe80::1%eth0]:3260`), by number or by the name of the interface.

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

/// Parses an address. Errors are sentences for the administrator.
pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    let address = match text.parse() {
        Ok(address) => address,
        Err(_) => with_named_zone(text)?,
    };
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0 => Err(format!(
            "{text}: a link-local address needs the interface it is on: [{}%INTERFACE]:{}",
            v6.ip(),
            v6.port()
        )),
        address => Ok(address),
    }
}

fn with_named_zone(text: &str) -> Result<SocketAddr, String> {
    let wrong = || format!("{text:?} is no address: ADDRESS:PORT, [IPV6]:PORT or [IPV6%INTERFACE]:PORT is");
    let (host, port) = text.strip_prefix('[').and_then(|rest| rest.rsplit_once("]:")).ok_or_else(wrong)?;
    let (ip, zone) = host.split_once('%').ok_or_else(wrong)?;
    let Ok(IpAddr::V6(ip)) = ip.parse() else { return Err(wrong()) };
    let port: u16 = port.parse().map_err(|_| wrong())?;
    let any = socket(AddressFamily::INET6, SocketType::DGRAM, None).map_err(|error| format!("{text}: {error}"))?;
    let index = name_to_index(&any, zone).map_err(|_| format!("{text}: there is no interface {zone}"))?;
    Ok(SocketAddr::V6(SocketAddrV6::new(ip, port, 0, index)))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn addresses_of_every_kind() {
        for text in ["0.0.0.0:3260", "192.0.2.1:860", "[::]:3260", "[2001:db8::1]:3260", "[fe80::1%2]:3260"] {
            assert_eq!(parse(text).map(|address| address.to_string()), Ok(text.to_owned()));
        }
        // The loopback interface is the first one on every machine.
        assert_eq!(parse("[fe80::1%lo]:3260").map(|address| address.to_string()), Ok("[fe80::1%1]:3260".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, word) in [
            ("3260", "no address"),
            ("[fe80::1]:3260", "needs the interface"),
            ("[fe80::1%nonesuch]:3260", "no interface nonesuch"),
            ("[192.0.2.1%lo]:3260", "no address"),
            ("[fe80::1%lo]", "no address"),
            ("[fe80::1%lo]:99999", "no address"),
        ] {
            let message = parse(text).map_err(|message| message.contains(word));
            assert_eq!(message, Err(true), "{text}");
        }
    }
}
