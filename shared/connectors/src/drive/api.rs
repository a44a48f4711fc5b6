//! Requests to the API.

use std::time::Duration;

use domain::ports::{Access, ConnectorError};
use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::failure::Failure;
use super::http::{MAX_ANSWER, body, unavailable, unreachable};
use super::{Drive, token_of};

/// The time limit for an answer without content.
const PATIENCE: Duration = Duration::from_secs(40);
/// The time limit for an answer with content.
const PATIENCE_CONTENT: Duration = Duration::from_secs(60);
/// The most bytes that are read of an error response.
const MAX_ERROR: usize = 64 * 1024;

/// A request to the API.
#[derive(Clone)]
pub(super) struct Call<'a> {
    method: Method,
    /// The path segments below `/drive/v3`.
    path: Vec<&'a str>,
    query: Vec<(&'a str, &'a str)>,
    body: Option<Value>,
    /// The resource key of a file that was shared only by its link.
    key: Option<String>,
}

impl<'a> Call<'a> {
    pub(super) fn get(path: &[&'a str]) -> Self {
        Self {
            method: Method::GET,
            path: path.to_vec(),
            query: Vec::new(),
            body: None,
            key: None,
        }
    }

    pub(super) fn post(path: &[&'a str]) -> Self {
        Self {
            method: Method::POST,
            ..Self::get(path)
        }
    }

    pub(super) fn with(mut self, name: &'a str, value: &'a str) -> Self {
        self.query.push((name, value));
        self
    }

    pub(super) fn maybe(self, name: &'a str, value: Option<&'a str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Includes the items of shared drives.
    pub(super) fn all_drives(self) -> Self {
        self.with("supportsAllDrives", "true")
    }

    pub(super) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub(super) fn key(mut self, key: Option<String>) -> Self {
        self.key = key;
        self
    }
}

impl Drive {
    /// Sends a request, and returns the JSON of the answer.
    pub(super) async fn json<T: DeserializeOwned>(
        &self,
        access: &Access,
        call: Call<'_>,
    ) -> Result<T, Failure> {
        Ok(self.dated(access, call).await?.0)
    }

    /// Sends a request, and returns the JSON of the answer with its headers.
    pub(super) async fn dated<T: DeserializeOwned>(
        &self,
        access: &Access,
        call: Call<'_>,
    ) -> Result<(T, HeaderMap), Failure> {
        let response = self.send(access, call, PATIENCE).await?;
        let headers = response.headers().clone();
        let body = body(response, MAX_ANSWER)
            .await?
            .ok_or_else(|| unavailable("an answer without end"))?;
        Ok((decode(&body)?, headers))
    }

    /// Sends a request, and ignores the body of the answer.
    pub(super) async fn done(&self, access: &Access, call: Call<'_>) -> Result<(), Failure> {
        self.send(access, call, PATIENCE).await.map(drop)
    }

    /// Sends a request whose answer is content.
    pub(super) async fn content(
        &self,
        access: &Access,
        call: Call<'_>,
    ) -> Result<Response, Failure> {
        self.send(access, call, PATIENCE_CONTENT).await
    }

    async fn send(
        &self,
        access: &Access,
        call: Call<'_>,
        patience: Duration,
    ) -> Result<Response, Failure> {
        let url = self.address(&call.path)?;
        let client = self.http.client().await?;
        let mut request = client
            .request(call.method, url)
            .query(&call.query)
            .timeout(patience);
        request = request.bearer_auth(token_of(access)?.expose());
        if let Some(key) = call.key {
            request = request.header("X-Goog-Drive-Resource-Keys", key);
        }

        if let Some(body) = &call.body {
            request = request.json(body);
        }

        accept(request.send().await.map_err(unreachable)?).await
    }

    /// Requests content from an address that the API returned.
    pub(super) async fn download(&self, access: &Access, url: Url) -> Result<Response, Failure> {
        let client = self.http.client().await?;
        let request = client
            .get(url)
            .timeout(PATIENCE_CONTENT)
            .bearer_auth(token_of(access)?.expose());
        Ok(request.send().await.map_err(unreachable)?)
    }

    fn address(&self, path: &[&str]) -> Result<Url, Failure> {
        // An id is exactly one segment of the path, which these are not.
        if path.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(Failure::Gone);
        }
        let mut url = Url::parse(&self.addresses.api).map_err(|_| fault("the API's address"))?;
        let mut parts = url
            .path_segments_mut()
            .map_err(|()| fault("the API's address"))?;
        parts.pop_if_empty().extend(["drive", "v3"]).extend(path);
        drop(parts);
        Ok(url)
    }
}

/// Returns a successful response unchanged, and converts any other into a [`Failure`].
pub(super) async fn accept(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let headers = response.headers().clone();
    let body = body(response, MAX_ERROR).await?.unwrap_or_default();
    Err(Failure::of(status.as_u16(), &headers, &body))
}

/// Parses the JSON of an answer. An answer that is not JSON does not come from the API. JSON of
/// another shape means that the API has changed.
fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, ConnectorError> {
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        // The messages of serde about data may quote the data.
        serde_json::error::Category::Data => fault("an answer of an unknown shape"),
        _ => unavailable("no answer of the API"),
    })
}

fn fault(what: &str) -> ConnectorError {
    ConnectorError::Fault(what.to_owned())
}
