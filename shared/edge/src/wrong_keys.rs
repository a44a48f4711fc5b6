//! Counts refused keys by the address of their client.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use domain::Timestamp;

/// The wrong keys of one address within [`WINDOW_SECONDS`] that are answered as usual. A
/// misconfigured program may try a few times.
const MAX_IN_WINDOW: u32 = 20;
/// The length in seconds of the window in which wrong keys are counted.
const WINDOW_SECONDS: i64 = 60;
/// The most addresses that are remembered at a time, so that strangers cannot fill the memory:
/// about a megabyte.
const MAX_ADDRESSES: usize = 10_000;

/// The wrong keys that this process has seen recently. A process has one of these.
#[derive(Debug, Clone, Default)]
pub(crate) struct WrongKeys(Arc<Mutex<HashMap<IpAddr, Window>>>);

#[derive(Debug, Clone, Copy)]
struct Window {
    end: Timestamp,
    failures: u32,
}

impl WrongKeys {
    /// Counts a wrong key. Returns the seconds that its client has to wait if there have been too
    /// many.
    pub(crate) fn count_wrong_key(&self, client: IpAddr, now: Timestamp) -> Option<u64> {
        let client = network_of(client);
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MAX_ADDRESSES && !windows.contains_key(&client) {
            windows.retain(|_, window| window.end > now);
            if windows.len() >= MAX_ADDRESSES {
                windows.clear();
            }
        }

        let new_window = Window {
            end: now.plus_seconds(WINDOW_SECONDS),
            failures: 0,
        };

        let window = windows.entry(client).or_insert(new_window);
        if window.end <= now {
            *window = new_window;
        }

        window.failures = window.failures.saturating_add(1);
        let wait = now.seconds_until(window.end).max(1);

        (window.failures > MAX_IN_WINDOW).then(|| wait.unsigned_abs())
    }
}

/// Returns the network that an address belongs to: the first 64 bits of an IPv6 address, because a
/// household has 2^64 of them.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000).plus_seconds(seconds)
    }

    #[test]
    fn many_wrong_keys_of_one_address_have_to_wait_until_the_minute_is_over() {
        let keys = WrongKeys::default();
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        for _ in 0..MAX_IN_WINDOW {
            assert_eq!(keys.count_wrong_key(one, at(0)), None);
        }
        assert_eq!(keys.count_wrong_key(one, at(10)), Some(50));
        assert_eq!(
            keys.count_wrong_key(other, at(10)),
            None,
            "another client is not meant"
        );
        assert_eq!(keys.count_wrong_key(one, at(60)), None, "a new minute");
    }

    #[test]
    fn a_household_is_one_client() {
        let keys = WrongKeys::default();
        let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 1, 2, 3, 4, 5, last]);
        for last in 0..20 {
            assert_eq!(keys.count_wrong_key(address(last), at(0)), None);
        }
        assert!(keys.count_wrong_key(address(99), at(0)).is_some());
    }

    #[test]
    fn strangers_of_many_addresses_do_not_fill_the_memory() {
        let keys = WrongKeys::default();
        for number in 0..3 * MAX_ADDRESSES as u32 {
            keys.count_wrong_key(IpAddr::from(number.to_be_bytes()), at(0));
        }
        assert!(keys.0.lock().unwrap().len() <= MAX_ADDRESSES);
    }
}
