//! Networks of IP addresses.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// Network of IPv4 or IPv6 addresses. Bits behind the prefix are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

/// Reason why a text is not a network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NetworkError {
    /// Not `ADDRESS/PREFIX`.
    #[error("a network is ADDRESS/PREFIX, such as 10.0.0.0/24 or fd00::/64")]
    Malformed,
    /// The prefix is longer than the address.
    #[error("the prefix is at most {most} bits long")]
    PrefixTooLong {
        /// Bits of the address.
        most: u8,
    },
    /// Bits behind the prefix are set.
    #[error("bits behind the prefix are set: the network of this address is {0}")]
    HostBits(Network),
    /// IPv4 network inside IPv6.
    #[error("IPv4 networks are given as such, not inside IPv6")]
    Mapped,
}

impl Network {
    /// Creates a network.
    pub fn new(address: IpAddr, prefix_bits: u8) -> Result<Self, NetworkError> {
        if address.to_canonical() != address {
            return Err(NetworkError::Mapped);
        }
        let (most, network) = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix_bits.into())).unwrap_or(0);
                (32, IpAddr::V4((address.to_bits() & mask).into()))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix_bits.into())).unwrap_or(0);
                (128, IpAddr::V6((address.to_bits() & mask).into()))
            }
        };
        if prefix_bits > most {
            return Err(NetworkError::PrefixTooLong { most });
        }
        let network = Self { address: network, prefix_bits };
        if network.address != address { Err(NetworkError::HostBits(network)) } else { Ok(network) }
    }

    /// First address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Length of the prefix in bits.
    pub const fn prefix_bits(&self) -> u8 {
        self.prefix_bits
    }
}

/// `ADDRESS/PREFIX`.
impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix_bits)
    }
}

/// `ADDRESS/PREFIX`.
impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = text.split_once('/').ok_or(NetworkError::Malformed)?;
        let address = address.parse().map_err(|_| NetworkError::Malformed)?;
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NetworkError::Malformed);
        }
        Self::new(address, prefix.parse().unwrap_or(u8::MAX))
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{Network, NetworkError};

    #[test]
    fn a_network_has_one_text() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "10.0.0.11/32", "fd00::/8", "::/0", "fd00::5/128"] {
            assert_eq!(text.parse::<Network>().map(|network| network.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "host/8", "10.0.0.0/8/8"] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError::Malformed), "{text}");
        }
        for (text, most) in [("10.0.0.0/33", 32), ("10.0.0.0/1000", 32), ("fd00::/129", 128)] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError::PrefixTooLong { most }), "{text}");
        }
        assert_eq!("::ffff:10.0.0.0/104".parse::<Network>(), Err(NetworkError::Mapped));
        let message = "10.0.5.1/16".parse::<Network>().map_err(|error| error.to_string());
        assert!(message.is_err_and(|message| message.ends_with("is 10.0.0.0/16")));
    }
}
