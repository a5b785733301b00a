//! Which addresses are public.
//!
//! IPv4 is public unless a range of the IANA special-purpose registry holds it. IPv6 is public only within the global
//! unicast block and outside of what it embeds or reserves: forms that carry an IPv4 address inside (mapped, NAT64, 6to4,
//! Teredo) are refused whatever they carry.

use ipnet::{Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The name of the range that makes `address` one that data may not reach; none if it is public.
#[must_use]
pub fn forbidden_range(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => V4.iter().find(|(net, _)| net.contains(&v4)).map(|(_, name)| *name),
        IpAddr::V6(v6) => V6
            .iter()
            .find(|(net, _)| net.contains(&v6))
            .map(|(_, name)| *name)
            .or_else(|| (!GLOBAL_UNICAST.contains(&v6)).then_some("outside of global unicast")),
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(start: [u16; 4], bits: u8) -> Ipv6Net {
    let [a, b, c, d] = start;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), bits)
}

const V4: [(Ipv4Net, &str); 19] = [
    (v4(255, 255, 255, 255, 32), "broadcast"),
    (v4(169, 254, 169, 254, 32), "cloud metadata"),
    (v4(168, 63, 129, 16, 32), "cloud metadata"),
    (v4(100, 100, 100, 200, 32), "cloud metadata"),
    (v4(192, 0, 0, 192, 32), "cloud metadata"),
    (v4(0, 0, 0, 0, 8), "this network"),
    (v4(10, 0, 0, 0, 8), "private"),
    (v4(100, 64, 0, 0, 10), "carrier-grade NAT"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    (v4(169, 254, 0, 0, 16), "link-local"),
    (v4(172, 16, 0, 0, 12), "private"),
    (v4(192, 0, 0, 0, 24), "protocol assignments"),
    (v4(192, 0, 2, 0, 24), "documentation"),
    (v4(192, 88, 99, 0, 24), "6to4 relay"),
    (v4(192, 168, 0, 0, 16), "private"),
    (v4(198, 18, 0, 0, 15), "benchmarking"),
    (v4(198, 51, 100, 0, 24), "documentation"),
    (v4(203, 0, 113, 0, 24), "documentation"),
    (v4(224, 0, 0, 0, 3), "multicast or reserved"),
];

const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0], 3);

const V6: [(Ipv6Net, &str); 17] = [
    (Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128), "unspecified"),
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), "loopback"),
    (Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96), "IPv4-mapped"),
    (Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96), "IPv4-translated"),
    (Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 96), "IPv4-compatible"),
    (Ipv6Net::new_assert(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254), 128), "cloud metadata"),
    (v6([0x0064, 0xff9b, 0, 0], 96), "NAT64"),
    (v6([0x0064, 0xff9b, 1, 0], 48), "NAT64"),
    (v6([0x0100, 0, 0, 0], 64), "discard-only"),
    (v6([0x2001, 0, 0, 0], 32), "Teredo"),
    (v6([0x2001, 0, 0, 0], 23), "protocol assignments"),
    (v6([0x2001, 0x0db8, 0, 0], 32), "documentation"),
    (v6([0x2002, 0, 0, 0], 16), "6to4"),
    (v6([0x3fff, 0, 0, 0], 20), "documentation"),
    (v6([0xfc00, 0, 0, 0], 7), "unique local"),
    (v6([0xfe80, 0, 0, 0], 9), "link-local"),
    (v6([0xff00, 0, 0, 0], 8), "multicast"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cases: &[(&str, Option<&str>)]) {
        for (address, expected) in cases {
            assert_eq!(forbidden_range(address.parse().unwrap()), *expected, "{address}");
        }
    }

    #[test]
    fn ipv4_ranges_hold_their_edges() {
        check(&[
            ("0.0.0.0", Some("this network")),
            ("0.255.255.255", Some("this network")),
            ("1.0.0.0", None),
            ("9.255.255.255", None),
            ("10.0.0.0", Some("private")),
            ("10.255.255.255", Some("private")),
            ("11.0.0.0", None),
            ("100.63.255.255", None),
            ("100.64.0.0", Some("carrier-grade NAT")),
            ("100.100.100.200", Some("cloud metadata")),
            ("100.127.255.255", Some("carrier-grade NAT")),
            ("100.128.0.0", None),
            ("127.0.0.1", Some("loopback")),
            ("127.255.255.254", Some("loopback")),
            ("128.0.0.0", None),
            ("168.63.129.16", Some("cloud metadata")),
            ("168.63.129.17", None),
            ("169.253.255.255", None),
            ("169.254.0.1", Some("link-local")),
            ("169.254.169.254", Some("cloud metadata")),
            ("169.255.0.0", None),
            ("172.15.255.255", None),
            ("172.16.0.0", Some("private")),
            ("172.31.255.255", Some("private")),
            ("172.32.0.0", None),
            ("192.0.0.8", Some("protocol assignments")),
            ("192.0.0.192", Some("cloud metadata")),
            ("192.0.1.0", None),
            ("192.0.2.1", Some("documentation")),
            ("192.88.99.1", Some("6to4 relay")),
            ("192.167.255.255", None),
            ("192.168.0.0", Some("private")),
            ("192.169.0.0", None),
            ("198.17.255.255", None),
            ("198.18.0.0", Some("benchmarking")),
            ("198.19.255.255", Some("benchmarking")),
            ("198.20.0.0", None),
            ("198.51.100.7", Some("documentation")),
            ("203.0.113.7", Some("documentation")),
            ("223.255.255.255", None),
            ("224.0.0.1", Some("multicast or reserved")),
            ("239.255.255.255", Some("multicast or reserved")),
            ("240.0.0.1", Some("multicast or reserved")),
            ("255.255.255.255", Some("broadcast")),
            ("8.8.8.8", None),
        ]);
    }

    #[test]
    fn ipv6_ranges_hold_their_edges() {
        check(&[
            ("::", Some("unspecified")),
            ("::1", Some("loopback")),
            ("::2", Some("IPv4-compatible")),
            ("::7f00:1", Some("IPv4-compatible")),
            ("::ffff:8.8.8.8", Some("IPv4-mapped")),
            ("::ffff:127.0.0.1", Some("IPv4-mapped")),
            ("::ffff:0:127.0.0.1", Some("IPv4-translated")),
            ("64:ff9b::8.8.8.8", Some("NAT64")),
            ("64:ff9b:1::1", Some("NAT64")),
            ("100::1", Some("discard-only")),
            ("1fff:ffff::1", Some("outside of global unicast")),
            ("2000::1", None),
            ("2001::1", Some("Teredo")),
            ("2001:1::1", Some("protocol assignments")),
            ("2001:2::1", Some("protocol assignments")),
            ("2001:10::1", Some("protocol assignments")),
            ("2001:1ff:ffff::1", Some("protocol assignments")),
            ("2001:200::1", None),
            ("2001:db8::1", Some("documentation")),
            ("2001:4860:4860::8888", None),
            ("2002:7f00:1::1", Some("6to4")),
            ("2003::1", None),
            ("2606:4700::1111", None),
            ("3ffe::1", None),
            ("3fff::1", Some("documentation")),
            ("3fff:1000::1", None),
            ("4000::1", Some("outside of global unicast")),
            ("5f00::1", Some("outside of global unicast")),
            ("fc00::1", Some("unique local")),
            ("fd00:ec2::254", Some("cloud metadata")),
            ("fdff::1", Some("unique local")),
            ("fe80::1", Some("link-local")),
            ("fec0::1", Some("link-local")),
            ("ff02::1", Some("multicast")),
        ]);
    }
}
