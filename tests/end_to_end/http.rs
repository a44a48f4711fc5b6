//! A minimal HTTP client for these tests. It opens one connection per request and reports every
//! failure as an error.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// The longest time that an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: u16,
    /// The body as JSON; `null` if it is empty or not JSON.
    pub(crate) body: Value,
}

/// Sends a request and reads the whole answer. `headers` replace the defaults (`host`,
/// `authorization` with the key `local`, a JSON `content-type`).
///
/// # Errors
/// Fails if the server is gone, or ends before the answer is complete.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Reply> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(head(address, method, path, headers, body.len()).as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;

    parse_reply(&answer)
        .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the answer ended early"))
}

fn head(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    length: usize,
) -> String {
    let host = address.to_string();
    let defaults = [
        ("host", host.as_str()),
        ("authorization", "Bearer local"),
        ("content-type", "application/json"),
    ];
    let kept = defaults
        .iter()
        .filter(|(name, _)| !headers.iter().any(|(given, _)| given == name));
    let lines: String = kept
        .chain(headers)
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();

    format!(
        "{method} {path} HTTP/1.1\r\n{lines}content-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

/// Parses an answer; `None` if its end is missing.
fn parse_reply(answer: &[u8]) -> Option<Reply> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let body = &answer[end + 4..];
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });

    if length.is_some_and(|length| body.len() < length) {
        return None;
    }

    let body = serde_json::from_slice(body).unwrap_or(Value::Null);
    Some(Reply { status, body })
}
