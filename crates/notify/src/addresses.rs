//! Which addresses a webhook may be at: where nobody has said that it is inside, none that only this machine or this network reaches. What a name
//! stands for is judged when it is connected to, so that no other answer of a name server comes between.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Gives public addresses alone.
#[derive(Debug)]
pub(crate) struct PublicAlone(pub(crate) DefaultResolver);

impl Resolver for PublicAlone {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let mut public = self.empty();
        found.iter().filter(|address| is_public(address.ip())).for_each(|address| public.push(*address));
        match public.is_empty() {
            true => Err(ureq::Error::Io(std::io::Error::other(PRIVATE))),
            false => Ok(public),
        }
    }
}

/// What is said of an address that nobody has allowed.
pub(crate) const PRIVATE: &str = "it leads to an address that only this machine or its network reaches; declare the webhook with `private: true` \
    where that is meant";

/// Whether the whole internet reaches an address. What nobody has given out is not public either.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped().or_else(|| embedded(address)) {
            Some(inner) => is_public_v4(inner),
            // Global unicast alone, without what is for documentation and benchmarks.
            None => {
                let [first, second, ..] = address.segments();
                (first & 0xe000) == 0x2000
                    && !(first == 0x2001 && (second == 0xdb8 || second < 0x200))
                    && (first & 0xfff0) != 0x3ff0
            }
        },
    }
}

/// The address of version 4 that one of version 6 leads to, by translation or a tunnel (RFC 6052, RFC 3056).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (first, second, third, fourth, fifth, sixth) {
        (0x64, 0xff9b, 0, 0, 0, 0) => Some(of(seventh, eighth)),
        (0x2002, ..) => Some(of(second, third)),
        _ => None,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    let protocols = first == 192 && second == 0 && third == 0;
    let benchmarks = first == 198 && (second == 18 || second == 19);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || shared
        || protocols
        || benchmarks
        || first == 0
        || first >= 224)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_this_machine_or_its_network_reaches_is_not_public() {
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
            "192.0.0.8",
            "198.18.0.1",
            "192.0.2.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
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
        ] {
            assert!(public(open), "{open}");
        }
    }
}
