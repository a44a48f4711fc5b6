//! The address of a page, preceded by the resolver's answer. Only public addresses are ever dialed.

#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::pin;
use std::task::{Context, Waker};

use libfuzzer_sys::fuzz_target;
use remote::{Fetcher, Network, PageFetcher, parse_page_url};

fuzz_target!(|input: &[u8]| {
    let Some((octets, url)) = input.split_first_chunk::<16>() else {
        return;
    };
    let url = String::from_utf8_lossy(url);
    if let Some(parsed) = parse_page_url(&url) {
        fuzz::checks::check_page_url(&parsed);
    }
    let v4 = Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    let answer = if octets[..12] == [0; 12] {
        IpAddr::V4(v4)
    } else {
        Ipv6Addr::from(*octets).into()
    };
    let dial = |ip: IpAddr, port| {
        fuzz::checks::check_dialed(ip, port);
        None
    };
    let fetcher = Fetcher::new(Network::simulated(move |_| vec![answer], dial));
    let _time = fuzz::shared_runtime().enter();
    // The poll stops at the pause before the second attempt, which would make the same requests.
    let _ = pin!(fetcher.fetch_page(&url)).poll(&mut Context::from_waker(Waker::noop()));
});
