//! Decides which addresses may be fetched. The default is to deny. The decision is made on the
//! parsed host and on every address of its name, so that no spelling and no resolver leads into an
//! internal network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

use crate::page_url::has_usable_host;

/// The reason why an address is not fetched, as a sentence for the person who gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressRefusal {
    #[error("This is not a web address.")]
    NotAnAddress,
    #[error("Only http and https addresses are fetched.")]
    Scheme,
    #[error("Only the ports 80 and 443 are fetched.")]
    Port,
    #[error("An address with a user name or a password is not fetched.")]
    Credentials,
    #[error("The address does not lead to the public internet.")]
    NotPublic,
}

/// A URL that passed every check that needs no resolver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// A literal address, or a name without a trailing dot. The address has not been vetted yet.
    pub(crate) host: Host<String>,
    pub(crate) port: u16,
}

/// Addresses that may be dialed. Only [`vet_addresses`] creates them.
#[derive(Debug)]
pub(crate) struct VettedAddresses(Vec<SocketAddr>);

impl VettedAddresses {
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.0
    }
}

/// Checks a URL without resolving its name.
pub(crate) fn check_url(url: &Url) -> Result<Target, AddressRefusal> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressRefusal::Scheme);
    }

    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressRefusal::Credentials);
    }

    let port = url
        .port_or_known_default()
        .filter(|port| [80, 443].contains(port))
        .ok_or(AddressRefusal::Port)?;
    if !has_usable_host(url) {
        return Err(AddressRefusal::NotAnAddress);
    }

    let host = match url.host().ok_or(AddressRefusal::NotAnAddress)? {
        Host::Domain(name) => Host::Domain(check_public_name(name)?.to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
    };

    Ok(Target { host, port })
}

/// Returns the reason why an address can never be fetched, as a sentence for the person who gave
/// it. Returns `None` if that depends on the addresses of its name. It reveals nothing that a fetch
/// would not report later.
pub fn url_refusal(url: &Url) -> Option<String> {
    let check = || {
        let target = check_url(url)?;
        match target.host {
            Host::Domain(_) => Ok(()),
            Host::Ipv4(address) => vet_addresses(&[address.into()], target.port).map(drop),
            Host::Ipv6(address) => vet_addresses(&[address.into()], target.port).map(drop),
        }
    };
    check()
        .err()
        .map(|refusal: AddressRefusal| refusal.to_string())
}

/// The zones whose names belong to a machine or to its network, whatever a resolver says about
/// them.
const PRIVATE_ZONES: [&str; 11] = [
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
];

fn check_public_name(name: &str) -> Result<&str, AddressRefusal> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_private = |zone: &&str| {
        name.strip_suffix(*zone)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if !name.contains('.') || PRIVATE_ZONES.iter().any(is_private) {
        return Err(AddressRefusal::NotPublic);
    }
    Ok(name)
}

/// Checks all addresses of a name. One private address among public ones is an attack or a mistake,
/// so the whole name is refused.
pub(crate) fn vet_addresses(
    addresses: &[IpAddr],
    port: u16,
) -> Result<VettedAddresses, AddressRefusal> {
    if !addresses.iter().copied().all(is_public) {
        return Err(AddressRefusal::NotPublic);
    }
    Ok(VettedAddresses(
        addresses
            .iter()
            .map(|address| SocketAddr::new(*address, port))
            .collect(),
    ))
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4
            .iter()
            .any(|(network, prefix_length)| is_in_v4_network(address, *network, *prefix_length)),
        IpAddr::V6(address) => {
            is_in_v6_network(address, GLOBAL_UNICAST_V6.0, GLOBAL_UNICAST_V6.1)
                && !NOT_PUBLIC_V6.iter().any(|(network, prefix_length)| {
                    is_in_v6_network(address, *network, *prefix_length)
                })
        }
    }
}

/// IANA's registry of special-purpose addresses, except for globally reachable unicast.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // shared by carriers
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // a cloud's host agent, on an address that looks public
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local, with the metadata services
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, broadcast
];

/// The only public range of IPv6. All others are special: loopback, mapped and compatible IPv4,
/// NAT64, unique local, link-local, multicast.
const GLOBAL_UNICAST_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments with Teredo, which carries IPv4
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, which carries IPv4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

fn is_in_v4_network(address: Ipv4Addr, network: Ipv4Addr, prefix_length: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix_length
}

fn is_in_v6_network(address: Ipv6Addr, network: Ipv6Addr, prefix_length: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix_length
}
