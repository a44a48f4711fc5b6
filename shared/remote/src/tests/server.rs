//! A server that counts its connections and answers by a script, and networks that lead to it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::fetch::FetchLimits;
use crate::{Fetcher, Network};

/// The public address that the server claims to have.
pub(super) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));

/// One request as received.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Received {
    pub(super) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A test server. It stops when it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Received>>>,
    _accepting: JoinSet<()>,
}

impl Server {
    /// Starts a server that answers each request with the bytes that `answer` returns, and then
    /// closes the connection.
    pub(super) async fn start(
        answer: impl Fn(&Received) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&received), Arc::new(answer));
        let mut server = Self::start_raw(move |mut stream| {
            let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
            async move {
                let Some(request) = receive_request(&mut stream).await else {
                    return;
                };
                let bytes = answer(&request);
                log.lock().unwrap().push(request);
                write_last_bytes(&mut stream, &bytes).await;
            }
        })
        .await;
        server.received = received;

        server
    }

    /// Starts a server that answers with `bytes` whatever is sent first, be it a request or the
    /// start of TLS.
    pub(super) async fn start_plain(bytes: &'static [u8]) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        let mut server = Self::start_raw(move |mut stream| {
            let log = Arc::clone(&log);
            async move {
                let mut first_bytes = vec![0; 1024];
                let length = stream.read(&mut first_bytes).await.unwrap_or_default();
                let head = String::from_utf8_lossy(&first_bytes[..length]).into_owned();
                log.lock().unwrap().push(Received {
                    head,
                    body: Vec::new(),
                });
                write_last_bytes(&mut stream, bytes).await;
            }
        })
        .await;
        server.received = received;

        server
    }

    /// Starts a server that hands each connection to `serve`.
    pub(super) async fn start_raw<F, S>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> S + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut serving = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                serving.spawn(serve(stream));
            }
        });

        Self {
            address,
            connections,
            received: Arc::default(),
            _accepting: accepting,
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Returns a network in which every address leads to this server, and `resolve` answers
    /// look-ups.
    pub(super) fn network(
        &self,
        resolve: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static,
    ) -> Network {
        let address = self.address;
        Network::simulated(resolve, move |_, _| Some(address))
    }

    /// Returns a fetcher for which every name has a public address and every address leads to this
    /// server.
    pub(super) fn fetcher(&self) -> Fetcher {
        Fetcher::with_limits(self.network(|_| vec![PUBLIC]), quick_limits())
    }
}

/// Returns the standard limits, except for those that a test would have to wait for.
pub(super) fn quick_limits() -> FetchLimits {
    FetchLimits {
        total_timeout: Duration::from_secs(10),
        first_byte_timeout: Duration::from_secs(5),
        retry_pause: Duration::from_millis(1),
        ..FetchLimits::STANDARD
    }
}

/// Reads one request with a body of known length.
pub(super) async fn receive_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(head_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break head_end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };

    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let mut received = Received {
        head,
        body: bytes.split_off(head_end),
    };

    let length = received
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while received.body.len() < length {
        if stream.read_buf(&mut received.body).await.ok()? == 0 {
            return None;
        }
    }

    Some(received)
}

/// Writes the last bytes of a connection. Errors are ignored, because the client may have hung up.
pub(super) async fn write_last_bytes(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) {
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
}

/// Returns an answer of status 200 with these header lines.
pub(super) fn ok_answer(headers: &str, body: &[u8]) -> Vec<u8> {
    build_answer("200 OK", headers, body)
}

/// Returns an answer with a status, header lines that each end with a line break, and a body of
/// known length.
pub(super) fn build_answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Returns a redirect to `location`.
pub(super) fn redirect_answer(location: &str) -> Vec<u8> {
    build_answer("302 Found", &format!("Location: {location}\r\n"), b"")
}
