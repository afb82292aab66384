//! A network that is not public, as an author names it. Resolves nothing, and knows no interface of this machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Host;

/// The most networks of one service.
pub(crate) const MOST_NETWORKS: usize = 16;

/// The ranges that a network may lie in: RFC 1918, and what RFC 6598 shares behind the NAT of a carrier.
const RANGES_4: [(u32, u32); 4] = [
    (0x0a00_0000, 8),
    (0xac10_0000, 12),
    (0xc0a8_0000, 16),
    (0x6440_0000, 10),
];
/// The same of version 6: unique local addresses (RFC 4193).
const RANGE_6: (u128, u32) = (0xfc00 << 112, 7);

/// A network that is not public: `10.1.0.0/16`, `fd12:3456:789a::/48`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PrivateNetwork(String);

/// The addresses in a network: those that share its first address's leading bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRange {
    Four { first: u32, bits: u32 },
    Six { first: u128, bits: u32 },
}

impl AddressRange {
    /// True if an address of version 4 is in it.
    pub const fn has_four(self, address: u32) -> bool {
        match self {
            Self::Four { first, bits } => begins_4(address, first, bits),
            Self::Six { .. } => false,
        }
    }

    /// True if an address of version 6 is in it.
    pub const fn has_six(self, address: u128) -> bool {
        match self {
            Self::Six { first, bits } => begins_6(address, first, bits),
            Self::Four { .. } => false,
        }
    }

    /// Reads `first/bits`. A network has one spelling, and nothing in it is public, of this machine, or of one link.
    fn parse(text: &str) -> Result<Self, String> {
        let form = "expected a network such as 10.1.0.0/16 or fd12:3456:789a::/48";
        let (host, length) = text.split_once('/').ok_or(form)?;
        let bits: u32 = length.parse().map_err(|_| form)?;
        let bracketed = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        let parsed = Host::parse(&bracketed).map_err(|_| form)?;
        let (range, spelled, most) = match parsed {
            Host::Ipv4(four) => {
                let first = u32::from(four);
                (Self::Four { first, bits }, four.to_string(), 32)
            }
            Host::Ipv6(six) => {
                let first = u128::from(six);
                (Self::Six { first, bits }, six.to_string(), 128)
            }
            Host::Domain(_) => return Err(form.to_owned()),
        };
        if bits > most || length != bits.to_string() {
            return Err(form.to_owned());
        }
        if spelled != host {
            return Err(format!("the network {text:?} is written {spelled}/{bits}"));
        }
        range.check()?;
        Ok(range)
    }

    fn check(self) -> Result<(), String> {
        let is_first = match self {
            Self::Four { first, bits } => first & !mask_4(bits) == 0,
            Self::Six { first, bits } => first & !mask_6(bits) == 0,
        };
        if !is_first {
            return Err("the address before `/` is not the first of that network".to_owned());
        }
        let is_private = match self {
            Self::Four { first, bits } => RANGES_4
                .iter()
                .any(|(start, length)| bits >= *length && begins_4(first, *start, *length)),
            Self::Six { first, bits } => bits >= RANGE_6.1 && begins_6(first, RANGE_6.0, RANGE_6.1),
        };
        if is_private {
            return Ok(());
        }
        let rule = "not a private network: it must lie in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 or fc00::/7";
        Err(rule.to_owned())
    }
}

impl PrivateNetwork {
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        AddressRange::parse(text).map(|_| Self(text.to_owned()))
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The addresses of it; none of a text that is no private network.
    pub fn range(&self) -> Option<AddressRange> {
        AddressRange::parse(&self.0).ok()
    }
}

const fn mask_4(bits: u32) -> u32 {
    match u32::MAX.checked_shl(32u32.saturating_sub(bits)) {
        Some(mask) => mask,
        None => 0,
    }
}

const fn mask_6(bits: u32) -> u128 {
    match u128::MAX.checked_shl(128u32.saturating_sub(bits)) {
        Some(mask) => mask,
        None => 0,
    }
}

const fn begins_4(address: u32, start: u32, bits: u32) -> bool {
    address & mask_4(bits) == start & mask_4(bits)
}

const fn begins_6(address: u128, start: u128, bits: u32) -> bool {
    address & mask_6(bits) == start & mask_6(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_private_as_a_whole_and_has_one_spelling() {
        for sound in [
            "10.0.0.0/8",
            "10.1.2.3/32",
            "172.16.0.0/12",
            "192.168.7.0/24",
            "100.64.0.0/10",
            "fc00::/7",
            "fd12:3456:789a::/48",
            "fd00::1/128",
        ] {
            assert_eq!(PrivateNetwork::parse(sound).unwrap().as_str(), sound);
        }
        for (faulty, expect) in [
            ("10.0.0.0", "expected a network"),
            ("10.0.0.0/33", "expected a network"),
            ("10.0.0.0/08", "expected a network"),
            ("example.org/8", "expected a network"),
            ("10.0.0.1/8", "not the first"),
            ("fd12::1/16", "not the first"),
            ("0xa000000/8", "is written 10.0.0.0/8"),
            ("fd00:0::/16", "is written fd00::/16"),
            ("0.0.0.0/0", "not a private network"),
            ("8.0.0.0/6", "not a private network"),
            ("127.0.0.0/8", "not a private network"),
            ("169.254.169.254/32", "not a private network"),
            ("192.168.0.0/15", "not a private network"),
            ("::/0", "not a private network"),
            ("::1/128", "not a private network"),
            ("fe80::/10", "not a private network"),
            ("2001:db8::/32", "not a private network"),
        ] {
            let rule = PrivateNetwork::parse(faulty).unwrap_err();
            assert!(rule.contains(expect), "{faulty}: {rule}");
        }
    }

    #[test]
    fn an_address_lies_in_the_networks_that_it_begins_with() {
        let range = |text: &str| PrivateNetwork::parse(text).unwrap().range().unwrap();
        let four = range("10.1.0.0/16");
        assert!(four.has_four(0x0a01_0000) && four.has_four(0x0a01_ffff));
        assert!(!four.has_four(0x0a02_0000) && !four.has_six(0x0a01_0000));
        let six = range("fd00:1::/32");
        assert!(six.has_six(0xfd00_0001 << 96) && !six.has_six(0xfd00_0002 << 96));
        // What was never parsed gives no way out.
        assert_eq!(PrivateNetwork("0.0.0.0/0".to_owned()).range(), None);
    }
}
