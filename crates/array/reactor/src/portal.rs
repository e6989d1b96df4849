//! Address of a portal as hosts see it.

use control::Portal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// `ADDRESS:PORT` for hosts: the listen address, or for an unspecified one the address of the
/// interface with the default route; without such a route, the loopback address.
pub fn advertised(listen: SocketAddr) -> String {
    if !listen.ip().is_unspecified() {
        // The zone of a link-local address is local to this machine.
        return SocketAddr::new(listen.ip(), listen.port()).to_string();
    }
    let address = match listen.ip() {
        IpAddr::V4(_) => outgoing_v4().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V6(_) => outgoing_v4().or_else(outgoing_v6).unwrap_or(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    };
    SocketAddr::new(address, listen.port()).to_string()
}

/// `ADDRESS:PORT` of a portal for a host whose connection came to `local`; `None` if the host
/// cannot reach the portal there. A configured address is returned unchanged.
pub(crate) fn reached_at(portal: &Portal, configured: bool, local: Option<SocketAddr>) -> Option<String> {
    let Some(local) = local.filter(|_| !configured) else { return Some(portal.advertised.clone()) };
    let address = local.ip().to_canonical();
    let listen = portal.listen;
    if listen.ip().is_unspecified() {
        // Such a portal is reached at the connection's own address, unless that is IPv6 and the
        // portal IPv4 only.
        let listens_there = listen.is_ipv6() || address.is_ipv4();
        return listens_there.then(|| SocketAddr::new(address, listen.port()).to_string());
    }
    // A link-local address is valid only on its own link, a loopback address only on its own
    // machine.
    let other_link = zone(listen).is_some() && zone(listen) != zone(local);
    let other_machine = listen.ip().is_loopback() && !address.is_loopback();
    (!other_link && !other_machine).then(|| portal.advertised.clone())
}

/// Zone of a link-local address.
fn zone(address: SocketAddr) -> Option<u32> {
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => Some(v6.scope_id()),
        _ => None,
    }
}

/// Source address of packets to the documentation network (RFC 5737). Connecting a UDP socket sends
/// nothing.
fn outgoing_v4() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

/// Source address of packets to the IPv6 documentation network (RFC 3849).
fn outgoing_v6() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::{advertised, reached_at};
    use control::Portal;
    use std::net::SocketAddr;

    #[test]
    fn an_unspecified_address_is_never_advertised() {
        for listen in ["0.0.0.0:3260", "[::]:3260"] {
            let told: SocketAddr = advertised(listen.parse().expect("an address")).parse().expect("an address");
            assert!(!told.ip().is_unspecified());
            assert_eq!(told.port(), 3260);
        }
    }

    #[test]
    fn a_specific_address_is_told_as_it_is() {
        for (listen, told) in [("192.0.2.7:860", "192.0.2.7:860"), ("[fe80::7%3]:3260", "[fe80::7]:3260")] {
            assert_eq!(advertised(listen.parse().expect("an address")), told);
        }
    }

    /// Regression: a discovery over IPv6 named a portal bound to 0.0.0.0 with the connection's IPv6
    /// address, where nothing listens. Hosts logged in to it in vain, and multipath showed a failed
    /// path.
    #[test]
    fn a_portal_is_named_only_where_it_listens() {
        for (listen, local, told) in [
            ("0.0.0.0:3260", "192.0.2.7:5000", Some("192.0.2.7:3260")),
            ("0.0.0.0:3260", "[::ffff:192.0.2.7]:5000", Some("192.0.2.7:3260")),
            ("0.0.0.0:3260", "[2001:db8::7]:5000", None),
            ("[::]:3260", "[2001:db8::7]:5000", Some("[2001:db8::7]:3260")),
            ("[::]:3260", "[::ffff:192.0.2.7]:5000", Some("192.0.2.7:3260")),
            ("192.0.2.8:3260", "[2001:db8::7]:5000", Some("192.0.2.8:3260")),
            ("[::1]:3260", "[2001:db8::7]:5000", None),
            ("127.0.0.1:3260", "[::1]:5000", Some("127.0.0.1:3260")),
            ("[fe80::7%3]:3260", "[fe80::7%3]:5000", Some("[fe80::7]:3260")),
            ("[fe80::7%3]:3260", "[fe80::7%4]:5000", None),
        ] {
            let listen: SocketAddr = listen.parse().expect("an address");
            let portal = Portal { listen, advertised: advertised(listen) };
            let local = local.parse().expect("an address");
            assert_eq!(reached_at(&portal, false, Some(local)).as_deref(), told, "{listen} from {local}");
        }
    }

    /// Behind address translation only the configuration has the address that hosts reach.
    /// Regression: a portal on every address was still named with the connection's address.
    #[test]
    fn a_configured_address_is_told_as_it_is() {
        let listen = "0.0.0.0:3260".parse().expect("an address");
        let portal = Portal { listen, advertised: "array.example.org:3260".to_owned() };
        let local = "10.0.0.7:5000".parse().ok();
        assert_eq!(reached_at(&portal, true, local).as_deref(), Some("array.example.org:3260"));
    }
}
