//! Addresses of this machine, as the kernel lists them for this process.
//!
//! Both lists belong to a process, so that they are readable in a service with `ProcSubset=pid`, and they
//! need no netlink socket, which `RestrictAddressFamilies` does not permit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Routes of IPv4, those to this machine among them.
const ROUTES: &str = "/proc/self/net/fib_trie";
/// Addresses of IPv6.
const ADDRESSES: &str = "/proc/self/net/if_inet6";

/// Addresses of the machine in order, those of the loopback interface among them. Errors: a list cannot be
/// read. A kernel without one of the two protocols has no list of it.
pub(crate) fn machine_addresses() -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    if let Some(list) = open(ROUTES)? {
        addresses.extend(of_routes(list)?.into_iter().map(IpAddr::V4));
    }
    if let Some(list) = open(ADDRESSES)? {
        addresses.extend(of_addresses(list)?.into_iter().map(IpAddr::V6));
    }
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

fn open(path: &str) -> io::Result<Option<BufReader<File>>> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::new(file))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Addresses in the trie of routes: leaves (`|-- ADDRESS`) with a route to the machine of full length
/// (`/32 host LOCAL`) below them. Each address is in several tables.
fn of_routes(list: impl BufRead) -> io::Result<Vec<Ipv4Addr>> {
    let mut addresses: Vec<Ipv4Addr> = Vec::new();
    let mut leaf = None;
    for line in list.lines() {
        let line = line?;
        let line = line.trim_start();
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if line.starts_with("+--") {
            leaf = None;
        } else if line.starts_with("/32 host LOCAL")
            && let Some(address) = leaf.take()
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// Addresses in the first column: 32 hexadecimal digits each.
fn of_addresses(list: impl BufRead) -> io::Result<Vec<Ipv6Addr>> {
    let mut addresses = Vec::new();
    for line in list.lines() {
        let line = line?;
        let digits = line.split(' ').next().unwrap_or_default();
        if digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            addresses.extend(u128::from_str_radix(digits, 16).map(Ipv6Addr::from_bits));
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use std::net::UdpSocket;

    const TRIE: &str = "Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/31 1 0 0
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
     |-- 192.0.2.2
        /24 link UNICAST
        /32 host LOCAL tos=16
     |-- 192.0.2.255
        /32 link BROADCAST
Local:
     |-- 192.0.2.2
        /32 host LOCAL
Id 200:
     |-- 198.51.100.7
        /32 host LOCAL
";

    #[test]
    fn routes_to_the_machine_are_its_addresses() {
        let found: Vec<String> = of_routes(TRIE.as_bytes()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.1", "192.0.2.2", "198.51.100.7"]);
    }

    #[test]
    fn addresses_are_read_from_their_digits() {
        let list =
            "fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n00000000000000000000000000000001 01 80 10 80 lo\n";
        let found: Vec<String> = of_addresses(list.as_bytes()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["fe80::fc:ff:fe00:1", "::1"]);
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            "/32 host LOCAL",
            "|-- 192.0.2.2",
            "|-- 192.0.2.2\n+-- 192.0.2.0/24 1 0 0\n/32 host LOCAL",
            "|-- 192.0.2.256\n/32 host LOCAL",
            "|-- 192.0.2.2\n|-- none\n/32 host LOCAL",
            "|-- 192.0.2.2\n/320 host LOCAL\n/32 host",
            "|-- \u{fe80}\n/32 host LOCAL\n|--\n/32 host LOCAL\n\0\0\n",
        ] {
            assert_eq!(of_routes(text.as_bytes()).unwrap(), [] as [Ipv4Addr; 0], "{text:?}");
        }
        for text in [
            "",
            "1",
            "+0000000000000000000000000000001 01",
            "0000000000000000000000000000000g 01",
            "000000000000000000000000000000001 01",
            "\u{fe80}00000000000000000000000000001 01",
        ] {
            assert_eq!(of_addresses(text.as_bytes()).unwrap(), [] as [Ipv6Addr; 0], "{text:?}");
        }
        assert!(of_routes(b"|-- \xff\xfe".as_slice()).is_err() && of_addresses(b"\xff".as_slice()).is_err());
    }

    /// Every address to which a socket can be bound here is found.
    #[test]
    fn the_addresses_of_this_machine_are_found() {
        let found = machine_addresses().unwrap();
        assert!(found.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)), "{found:?}");
        let has_version_6 = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
        assert_eq!(found.contains(&IpAddr::V6(Ipv6Addr::LOCALHOST)), has_version_6, "{found:?}");
        for address in found.iter().filter(|address| address.is_ipv4()) {
            UdpSocket::bind((*address, 0)).unwrap();
        }
    }
}
