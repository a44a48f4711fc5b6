//! Sends one request over one HTTP/1.1 connection and reads the answer within a limit.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Host;

use crate::tls::Tls;

/// The largest head of an answer in bytes. The library itself limits the number of header fields to
/// 100.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// A connection, plain or secure.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Starts TLS on the connection if `is_secure` is set.
pub(crate) async fn open_stream(
    tcp: TcpStream,
    is_secure: bool,
    host: &Host<String>,
    tls: &Tls,
) -> std::io::Result<Box<dyn ByteStream>> {
    Ok(if is_secure {
        Box::new(tls.connect_tls(host, tcp).await?)
    } else {
        Box::new(tcp)
    })
}

/// An answer whose body has not been read yet. Dropping it closes the connection.
pub(crate) struct OpenAnswer {
    pub(crate) response: Response<Incoming>,
    _driver: JoinSet<()>,
}

/// The reason why a body could not be read.
pub(crate) enum BodyError {
    TooLarge,
    Interrupted,
}

/// Sends a request and waits for the head of its answer.
pub(crate) async fn send_request<B>(
    stream: Box<dyn ByteStream>,
    request: Request<B>,
) -> hyper::Result<OpenAnswer>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // A failure of the connection also ends the request or its body, and is reported there.
        let _ = connection.await;
    });

    Ok(OpenAnswer {
        response: sender.send_request(request).await?,
        _driver: driver,
    })
}

impl OpenAnswer {
    /// Reads the body of at most `limit` bytes.
    pub(crate) async fn read_body(mut self, limit: usize) -> Result<Bytes, BodyError> {
        let min_size = self.response.body().size_hint().lower();
        if usize::try_from(min_size).map_or(true, |min_size| min_size > limit) {
            return Err(BodyError::TooLarge);
        }
        match Limited::new(self.response.body_mut(), limit)
            .collect()
            .await
        {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
            Err(_) => Err(BodyError::Interrupted),
        }
    }
}
