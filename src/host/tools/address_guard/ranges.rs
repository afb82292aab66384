//! The ranges of addresses, public or not. Data, and one look-up; resolves nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of an address, as far as a guard is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressKind {
    /// This machine.
    Loopback,
    /// Of a private network, and what it is called: a contract may name it.
    Private(&'static str),
    Public,
    /// A description of it.
    Special(&'static str),
}

/// The name of the service that gives the machines of a cloud their keys. A cloud may put it anywhere: in private networks,
/// too.
const METADATA: &str = "the metadata service of a cloud";

/// Prefixes that a contract may name networks in.
const PRIVATE_4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "an address behind a carrier's NAT",
    ),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
];
/// The same of version 6.
const PRIVATE_6: (Ipv6Addr, u32, &str) = (
    Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0),
    7,
    "a unique local address",
);

/// Prefixes that are no public addresses (the registries of IANA, RFC 6890 and later), and the services of hosts of machines that stand on
/// public ones.
const SPECIAL_4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, "an address of this network"),
    (Ipv4Addr::new(100, 100, 100, 200), 32, METADATA),
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA),
    (
        Ipv4Addr::new(169, 254, 0, 0),
        16,
        "a link-local address, where clouds have their metadata service",
    ),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "an address of a protocol"),
    (
        Ipv4Addr::new(192, 0, 2, 0),
        24,
        "an address for documentation",
    ),
    (
        Ipv4Addr::new(192, 31, 196, 0),
        24,
        "an address of a protocol",
    ),
    (
        Ipv4Addr::new(192, 52, 193, 0),
        24,
        "an address of a protocol",
    ),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay of 6to4"),
    (
        Ipv4Addr::new(192, 175, 48, 0),
        24,
        "an address of a protocol",
    ),
    (
        Ipv4Addr::new(198, 18, 0, 0),
        15,
        "an address for benchmarks",
    ),
    (
        Ipv4Addr::new(198, 51, 100, 0),
        24,
        "an address for documentation",
    ),
    (
        Ipv4Addr::new(203, 0, 113, 0),
        24,
        "an address for documentation",
    ),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// Only [`GLOBAL_6`] is handed out at all; these are named for the message, or lie within it.
const SPECIAL_6: &[(Ipv6Addr, u32, &str)] = &[
    (
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0),
        96,
        "an address of version 4 in one of version 6",
    ),
    (
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0),
        96,
        "an address of version 4 behind NAT64",
    ),
    (
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0),
        48,
        "an address of version 4 behind NAT64",
    ),
    (
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
        32,
        "an address of version 4 behind Teredo",
    ),
    (
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
        23,
        "an address of a protocol",
    ),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "an address for documentation",
    ),
    (
        Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0),
        16,
        "an address of version 4 behind 6to4",
    ),
    (
        Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0),
        48,
        "an address of a protocol",
    ),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "an address for documentation",
    ),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32, METADATA),
    (
        Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
        128,
        METADATA,
    ),
    (
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0),
        10,
        "a link-local address",
    ),
    (
        Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0),
        8,
        "a multicast address",
    ),
];
const GLOBAL_6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

impl AddressKind {
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(four) if four.is_loopback() => Self::Loopback,
            IpAddr::V6(six) if six.is_loopback() => Self::Loopback,
            IpAddr::V4(four) => {
                let within = |(start, bits, _): &&(Ipv4Addr, u32, &str)| {
                    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or_default();
                    u32::from(four) & mask == u32::from(*start)
                };
                if let Some((_, _, what)) = SPECIAL_4.iter().find(within) {
                    return Self::Special(what);
                }
                let found = PRIVATE_4.iter().find(within);
                found.map_or(Self::Public, |(_, _, what)| Self::Private(what))
            }
            IpAddr::V6(six) => {
                let within = |start: Ipv6Addr, bits: u32| {
                    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or_default();
                    u128::from(six) & mask == u128::from(start)
                };
                let found = SPECIAL_6
                    .iter()
                    .find(|(start, bits, _)| within(*start, *bits));
                match found {
                    Some((_, _, what)) => Self::Special(what),
                    None if within(PRIVATE_6.0, PRIVATE_6.1) => Self::Private(PRIVATE_6.2),
                    None if within(GLOBAL_6.0, GLOBAL_6.1) => Self::Public,
                    None => Self::Special("a reserved address"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_that_is_not_public_is_named() {
        for (address, expect) in [
            ("0.0.0.0", "this network"),
            ("10.1.2.3", "private"),
            ("100.64.0.1", "carrier"),
            ("100.100.100.200", "metadata"),
            ("100.127.255.255", "carrier"),
            ("168.63.129.16", "metadata"),
            ("169.254.169.254", "metadata"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.192", "protocol"),
            ("192.88.99.1", "6to4"),
            ("192.168.0.1", "private"),
            ("198.19.255.255", "benchmarks"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "reserved"),
            ("::7f00:1", "reserved"),
            ("::ffff:127.0.0.1", "version 4 in one"),
            ("::ffff:8.8.8.8", "version 4 in one"),
            ("64:ff9b::a9fe:a9fe", "NAT64"),
            ("64:ff9b:1::1", "NAT64"),
            ("100::1", "reserved"),
            ("2001::1", "Teredo"),
            ("2001:20::1", "protocol"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "6to4"),
            ("3fff::1", "documentation"),
            ("5f00::1", "reserved"),
            ("fc00::1", "unique local"),
            ("fd00:ec2::254", "metadata"),
            ("fd20:ce::254", "metadata"),
            ("fe80::1", "link-local"),
            ("fec0::1", "reserved"),
            ("ff02::1", "multicast"),
        ] {
            let kind = AddressKind::of(address.parse().unwrap());
            match kind {
                AddressKind::Special(what) | AddressKind::Private(what) => {
                    assert!(what.contains(expect), "{address}: {what}");
                    let by_name = ["private", "carrier", "unique local"];
                    let is_private = matches!(kind, AddressKind::Private(_));
                    assert_eq!(is_private, by_name.contains(&expect), "{address}");
                }
                other => panic!("{address}: {other:?}"),
            }
        }
        for loopback in ["127.0.0.1", "127.255.255.255", "::1"] {
            let kind = AddressKind::of(loopback.parse().unwrap());
            assert_eq!(kind, AddressKind::Loopback, "{loopback}");
        }
        for public in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "168.63.129.17",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "223.255.255.255",
            "2001:4860:4860::8888",
            "2606:4700::1111",
        ] {
            let kind = AddressKind::of(public.parse().unwrap());
            assert_eq!(kind, AddressKind::Public, "{public}");
        }
    }
}
