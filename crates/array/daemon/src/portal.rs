//! What hosts are told about a portal that listens on every address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// `ADDRESS:PORT` for hosts: the address listened on, or for an unspecified one the address of the interface with the default route;
/// without such a route, the loopback address.
pub fn advertised(listen: SocketAddr) -> String {
    if !listen.ip().is_unspecified() {
        // The zone of a link-local address is this machine's business.
        return SocketAddr::new(listen.ip(), listen.port()).to_string();
    }
    let address = match listen.ip() {
        IpAddr::V4(_) => outgoing_v4().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V6(_) => outgoing_v4().or_else(outgoing_v6).unwrap_or(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    };
    SocketAddr::new(address, listen.port()).to_string()
}

/// The address packets to the documentation network (RFC 5737) would leave from. Connecting a UDP socket sends nothing.
fn outgoing_v4() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

/// The same for IPv6 (RFC 3849).
fn outgoing_v6() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::advertised;
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
}
