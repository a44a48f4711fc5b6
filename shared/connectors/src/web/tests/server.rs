//! A server that simulates several hosts of the internet.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, Response};
use remote::{Fetcher, Network};

use crate::web::WebCrawler;
use crate::web::robots::RecentRobots;

/// An answer: its status, headers and body.
type FakeAnswer = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// The simulated hosts with their pages. They record the requests.
#[derive(Clone, Default)]
pub(super) struct FakeWeb {
    pages: Arc<Mutex<BTreeMap<String, FakeAnswer>>>,
    requested: Arc<Mutex<Vec<(String, Instant)>>>,
}

impl FakeWeb {
    pub(super) fn put_answer(
        &self,
        address: &str,
        status: u16,
        headers: &[(&'static str, &str)],
        body: impl Into<Vec<u8>>,
    ) {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        self.pages
            .lock()
            .expect("no panic")
            .insert(address.to_owned(), (status, headers, body.into()));
    }

    pub(super) fn put_page(&self, address: &str, body: &str) {
        self.put_answer(
            address,
            200,
            &[("content-type", "text/html; charset=utf-8")],
            body,
        );
    }

    pub(super) fn put_redirect(&self, address: &str, to: &str) {
        self.put_answer(address, 301, &[("location", to)], "");
    }

    fn answer_request(&self, request: &Request<Body>) -> Response<Body> {
        let host = request
            .headers()
            .get("host")
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default();
        let address = format!("{host}{}", request.uri());
        let agent = request
            .headers()
            .get("user-agent")
            .and_then(|agent| agent.to_str().ok());
        assert!(agent.is_some_and(|agent| agent.to_ascii_lowercase().starts_with("recollect/")));
        let page = self.pages.lock().expect("no panic").get(&address).cloned();
        self.requested
            .lock()
            .expect("no panic")
            .push((address, Instant::now()));

        let (status, headers, body) = page.unwrap_or((404, Vec::new(), b"nothing".to_vec()));
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        response.body(body.into()).expect("an answer")
    }

    /// Returns the number of requests for an address.
    pub(super) fn request_count(&self, address: &str) -> usize {
        self.requested
            .lock()
            .expect("no panic")
            .iter()
            .filter(|(asked, _)| asked == address)
            .count()
    }

    /// Returns the shortest time between two requests.
    pub(super) fn shortest_pause(&self) -> Duration {
        let requested = self.requested.lock().expect("no panic");
        requested
            .windows(2)
            .map(|pair| pair[1].1 - pair[0].1)
            .min()
            .unwrap_or_default()
    }

    /// Returns a crawler that sees only these hosts.
    pub(super) async fn new_crawler(&self) -> WebCrawler {
        let web = self.clone();
        let answer = move |request: Request<Body>| {
            let web = web.clone();
            async move { web.answer_request(&request) }
        };

        let app = axum::Router::new().fallback(answer);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let server: SocketAddr = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, app).await });
        let addresses: HashMap<&str, Ipv4Addr> = HashMap::from([
            ("tides.example", Ipv4Addr::new(93, 184, 216, 34)),
            ("www.tides.example", Ipv4Addr::new(93, 184, 216, 34)),
            ("other.example", Ipv4Addr::new(93, 184, 216, 35)),
            ("inside.example", Ipv4Addr::new(10, 0, 0, 7)),
        ]);
        let resolve = move |name: &str| {
            addresses
                .get(name)
                .map(|ip| IpAddr::V4(*ip))
                .into_iter()
                .collect()
        };

        let fetcher = Fetcher::new(Network::simulated(resolve, move |_, _| Some(server)));
        WebCrawler {
            fetcher: Arc::new(fetcher),
            default_pause: Duration::ZERO,
            retry_pause: Duration::ZERO,
            robots: RecentRobots::default(),
            last_page: Arc::default(),
        }
    }
}
