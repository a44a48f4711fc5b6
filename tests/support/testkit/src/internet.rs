//! A simulated internet for tests: each name claims a public address and leads to a server on
//! loopback.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use remote::Network;

/// The names of a simulated internet. A clone is the same internet.
#[derive(Debug, Clone, Default)]
pub struct TestInternet {
    hosts: Arc<Mutex<HashMap<String, Host>>>,
}

#[derive(Debug, Clone, Copy)]
struct Host {
    public_ip: IpAddr,
    server: SocketAddr,
}

impl TestInternet {
    /// Makes `name` resolve to the address `public_ip`, and connects the ports 80 and 443 of that
    /// address to `server`.
    pub fn add_host(&self, name: &str, public_ip: IpAddr, server: SocketAddr) {
        self.lock()
            .insert(name.to_owned(), Host { public_ip, server });
    }

    /// Returns the network through which this internet is reached.
    pub fn as_network(&self) -> Network {
        let (names, servers) = (self.clone(), self.clone());
        let resolve = move |name: &str| {
            names
                .lock()
                .get(name)
                .map(|host| host.public_ip)
                .into_iter()
                .collect()
        };

        let dial = move |ip: IpAddr, _port: u16| {
            servers
                .lock()
                .values()
                .find(|host| host.public_ip == ip)
                .map(|host| host.server)
        };

        Network::simulated(resolve, dial)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Host>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
