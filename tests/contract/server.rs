//! An HTTP server on loopback that answers by a function of the request and records the requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A request: its first line and headers, and its body as far as it is text.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl ReceivedRequest {
    /// Returns the path and the query.
    pub(crate) fn path_and_query(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// A server that stops when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    _accepting: JoinSet<()>,
}

impl Server {
    /// Starts a server that answers each request with the result of `answer`, and then closes the
    /// connection.
    pub(crate) async fn start(
        answer: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (connections, received) = (
            Arc::<AtomicUsize>::default(),
            Arc::<Mutex<Vec<ReceivedRequest>>>::default(),
        );
        let (count, log, answer) = (connections.clone(), received.clone(), Arc::new(answer));
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut serving = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (log, answer) = (log.clone(), answer.clone());
                serving.spawn(async move {
                    if let Some(request) = receive_request(&mut stream).await {
                        let bytes = answer(&request);
                        log.lock().expect("the log").push(request);
                        // A client that has read enough may close the connection.
                        stream.write_all(&bytes).await.ok();
                        stream.shutdown().await.ok();
                    }
                });
            }
        });

        Self {
            address,
            connections,
            received,
            _accepting: accepting,
        }
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn received_requests(&self) -> Vec<ReceivedRequest> {
        self.received.lock().expect("the log").clone()
    }
}

async fn receive_request(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };

    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });

    let mut body = bytes.split_off(end);
    while body.len() < length.unwrap_or(0) {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }

    Some(ReceivedRequest {
        head,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// Builds an answer with a status, header lines that end with a line break, and a body of known
/// length.
pub(crate) fn build_answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Builds a successful answer of this media type.
pub(crate) fn build_page(media_type: &str, body: &[u8]) -> Vec<u8> {
    build_answer("200 OK", &format!("Content-Type: {media_type}\r\n"), body)
}
