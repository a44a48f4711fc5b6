//! A server for a single test, which gives scripted answers and records the requests.

use std::sync::{Arc, Mutex};

use domain::metadata::Metadata;
use domain::ports::ProviderAccess;
use domain::vault::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::DriveSettings;
use crate::drive::DriveConnector;

/// The access token of tests.
pub(super) const TOKEN: &str = "ya29.hidden-access";

/// A scripted answer to requests whose first line begins with the given text. Answers are given in
/// order, each once.
struct ScriptedAnswer {
    request: String,
    answer: Vec<u8>,
}

/// The scripted server. It ends with the runtime of the test.
pub(super) struct ScriptedServer {
    pub(super) url: String,
    lines: Arc<Mutex<Vec<ScriptedAnswer>>>,
    received: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self {
            url,
            lines: Arc::default(),
            received: Arc::default(),
        };

        let (lines, received) = (server.lines.clone(), server.received.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve_connection(stream, lines.clone(), received.clone()));
            }
        });

        server
    }

    /// Returns a connector to this server.
    pub(super) fn drive_connector(&self) -> DriveConnector {
        DriveConnector::new(&DriveSettings::for_fake_drive(
            &self.url,
            "app",
            "hidden-app-secret",
        ))
        .unwrap()
    }

    /// Scripts an answer with JSON.
    pub(super) fn script_json(
        &self,
        request: &str,
        status: u16,
        body: &serde_json::Value,
    ) -> &Self {
        self.script_answer(
            request,
            status,
            "Content-Type: application/json; charset=UTF-8\r\n",
            body.to_string(),
        )
    }

    /// Scripts an answer with any body.
    pub(super) fn script_answer(
        &self,
        request: &str,
        status: u16,
        headers: &str,
        body: impl AsRef<[u8]>,
    ) -> &Self {
        let body = body.as_ref();
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n",
            body.len()
        );
        self.script_bytes(request, [head.as_bytes(), body].concat())
    }

    /// Scripts an answer with exactly these bytes.
    pub(super) fn script_bytes(&self, request: &str, answer: Vec<u8>) -> &Self {
        self.lines.lock().unwrap().push(ScriptedAnswer {
            request: request.to_owned(),
            answer,
        });
        self
    }

    /// Returns the requests so far, with headers and bodies.
    pub(super) fn recorded_requests(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }

    /// Returns the last request.
    pub(super) fn last_request(&self) -> String {
        self.recorded_requests().pop().unwrap()
    }
}

/// Returns the access data for requests of tests.
pub(super) fn test_access() -> ProviderAccess {
    ProviderAccess {
        token: Some(Secret::new(TOKEN)),
        metadata: Metadata::default(),
    }
}

async fn serve_connection(
    mut stream: TcpStream,
    lines: Arc<Mutex<Vec<ScriptedAnswer>>>,
    received: Arc<Mutex<Vec<String>>>,
) {
    let request = read(&mut stream).await;
    let answer = {
        let mut lines = lines.lock().unwrap();
        let found = lines
            .iter()
            .position(|line| request.starts_with(&line.request));
        found.map(|at| lines.remove(at).answer)
    };

    received.lock().unwrap().push(request);
    let unscripted =
        || b"HTTP/1.1 418 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    let _ = stream.write_all(&answer.unwrap_or_else(unscripted)).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];

    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length:")?
                    .trim()
                    .parse::<usize>()
                    .ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}
