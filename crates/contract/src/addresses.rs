//! Which addresses of the network everybody reaches: what is written by somebody else, a link or the target of a webhook, may lead to no other
//! one unless the owner of this machine has said so.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address that is reached in the end: one of version 4 may be written as one of version 6.
pub fn innermost(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => v6.to_ipv4_mapped().or_else(|| embedded(v6)).map_or(address, IpAddr::V4),
    }
}

/// The address of version 4 that one of version 6 leads to, by translation or a tunnel (RFC 6052, RFC 3056, RFC 4291).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (first, second, third, fourth, fifth, sixth) {
        (0x64, 0xff9b, 0, 0, 0, 0) => Some(of(seventh, eighth)),
        (0, 0, 0, 0, 0, 0) if seventh != 0 => Some(of(seventh, eighth)),
        (0x2002, ..) => Some(of(second, third)),
        _ => None,
    }
}

/// Whether the whole internet reaches an address, in whatever spelling. What nobody has given out is not public either.
pub fn is_public(address: IpAddr) -> bool {
    match innermost(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            // Global unicast alone, without what is for protocols, documentation and benchmarks.
            let [first, second, ..] = address.segments();
            (first & 0xe000) == 0x2000
                && !(first == 0x2001 && (second == 0xdb8 || second < 0x200))
                && (first & 0xfff0) != 0x3ff0
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    let protocols = first == 192 && second == 0 && third == 0;
    let benchmarks = first == 198 && (second == 18 || second == 19);
    let to_relays = first == 192 && second == 88 && third == 99;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || shared
        || protocols
        || benchmarks
        || to_relays
        || first == 0
        || first >= 224)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_this_machine_or_its_network_reaches_is_not_public_in_any_spelling() {
        let public = |text: &str| is_public(text.parse().unwrap());
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.8",
            "192.0.0.192",
            "192.88.99.1",
            "198.18.0.1",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::a9fe:a9fe",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "100::1",
            "4000::1",
        ] {
            assert!(!public(private), "{private}");
        }
        for open in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700:4700::1111",
            "64:ff9b::101:101",
            "2002:101:101::",
            "::ffff:1.1.1.1",
        ] {
            assert!(public(open), "{open}");
        }
    }
}
