//! Requests to the API.

use std::time::Duration;

use bytes::Bytes;
use domain::ports::{ConnectorError, ProviderAccess};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Method, Request};
use remote::ApiAnswer;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::exchange::{
    MAX_RESPONSE_BYTES, bearer_header, read_body, request_error, unavailable_error,
};
use super::failure::ApiFailure;
use super::{DriveConnector, token_of};

/// The time limit for an answer without content.
const TIMEOUT: Duration = Duration::from_secs(40);
/// The time limit for an answer with content.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(60);
/// The most bytes that are read of an error response.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A request to the API.
#[derive(Clone)]
pub(super) struct ApiRequest<'a> {
    method: Method,
    /// The path segments below `/drive/v3`.
    path: Vec<&'a str>,
    query: Vec<(&'a str, &'a str)>,
    body: Option<Value>,
    /// The resource key of a file that was shared only by its link.
    resource_key: Option<String>,
}

impl<'a> ApiRequest<'a> {
    pub(super) fn get(path: &[&'a str]) -> Self {
        Self {
            method: Method::GET,
            path: path.to_vec(),
            query: Vec::new(),
            body: None,
            resource_key: None,
        }
    }

    pub(super) fn post(path: &[&'a str]) -> Self {
        Self {
            method: Method::POST,
            ..Self::get(path)
        }
    }

    pub(super) fn with_query(mut self, name: &'a str, value: &'a str) -> Self {
        self.query.push((name, value));
        self
    }

    pub(super) fn with_optional_query(self, name: &'a str, value: Option<&'a str>) -> Self {
        match value {
            Some(value) => self.with_query(name, value),
            None => self,
        }
    }

    /// Includes the items of shared drives.
    pub(super) fn all_drives(self) -> Self {
        self.with_query("supportsAllDrives", "true")
    }

    pub(super) fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub(super) fn with_resource_key(mut self, resource_key: Option<String>) -> Self {
        self.resource_key = resource_key;
        self
    }
}

impl DriveConnector {
    /// Sends a request, and returns the JSON of the answer.
    pub(super) async fn request_json<T: DeserializeOwned>(
        &self,
        access: &ProviderAccess,
        request: ApiRequest<'_>,
    ) -> Result<T, ApiFailure> {
        Ok(self.request_json_with_headers(access, request).await?.0)
    }

    /// Sends a request, and returns the JSON of the answer with its headers.
    pub(super) async fn request_json_with_headers<T: DeserializeOwned>(
        &self,
        access: &ProviderAccess,
        request: ApiRequest<'_>,
    ) -> Result<(T, HeaderMap), ApiFailure> {
        let response = self.send_request(access, request, TIMEOUT).await?;
        let headers = response.headers().clone();
        let Some(body) = read_body(response, MAX_RESPONSE_BYTES).await? else {
            return Err(unavailable_error("the answer does not end").into());
        };
        Ok((decode_json(&body)?, headers))
    }

    /// Sends a request, and ignores the body of the answer.
    pub(super) async fn request_and_ignore(
        &self,
        access: &ProviderAccess,
        request: ApiRequest<'_>,
    ) -> Result<(), ApiFailure> {
        self.send_request(access, request, TIMEOUT).await?;
        Ok(())
    }

    /// Sends a request whose answer is content.
    pub(super) async fn request_content(
        &self,
        access: &ProviderAccess,
        request: ApiRequest<'_>,
    ) -> Result<ApiAnswer, ApiFailure> {
        self.send_request(access, request, CONTENT_TIMEOUT).await
    }

    async fn send_request(
        &self,
        access: &ProviderAccess,
        api_request: ApiRequest<'_>,
        timeout: Duration,
    ) -> Result<ApiAnswer, ApiFailure> {
        let mut url = self.api_address(&api_request.path)?;
        if !api_request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&api_request.query);
        }

        let mut request = Request::builder()
            .method(api_request.method)
            .uri(url.as_str())
            .header(AUTHORIZATION, bearer_header(token_of(access)?.expose())?);
        if let Some(resource_key) = api_request.resource_key {
            request = request.header("X-Goog-Drive-Resource-Keys", resource_key);
        }

        let mut body = Bytes::new();
        if let Some(json) = &api_request.body {
            request = request.header(CONTENT_TYPE, "application/json");
            body = json.to_string().into();
        }

        let request = request.body(body).map_err(request_error)?;
        check_status(self.send_to_provider(request, timeout).await?).await
    }

    /// Requests content from an address that the API returned.
    pub(super) async fn download_content(
        &self,
        access: &ProviderAccess,
        url: Url,
    ) -> Result<ApiAnswer, ApiFailure> {
        let request = Request::get(url.as_str())
            .header(AUTHORIZATION, bearer_header(token_of(access)?.expose())?)
            .body(Bytes::new())
            .map_err(request_error)?;
        Ok(self.send_to_provider(request, CONTENT_TIMEOUT).await?)
    }

    fn api_address(&self, path: &[&str]) -> Result<Url, ApiFailure> {
        // An id is exactly one segment of the path, which these are not.
        if path.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(ApiFailure::NotFound);
        }

        let Ok(mut url) = Url::parse(&self.addresses.api) else {
            return Err(fault_error("the API's address").into());
        };
        match url.path_segments_mut() {
            Ok(mut parts) => {
                parts.pop_if_empty().extend(["drive", "v3"]).extend(path);
            }
            Err(()) => return Err(fault_error("the API's address").into()),
        }

        Ok(url)
    }
}

/// Returns a successful response unchanged, and converts any other into an [`ApiFailure`].
pub(super) async fn check_status(response: ApiAnswer) -> Result<ApiAnswer, ApiFailure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let headers = response.headers().clone();
    let body = read_body(response, MAX_ERROR_BYTES)
        .await?
        .unwrap_or_default();
    Err(ApiFailure::of(status.as_u16(), &headers, &body))
}

/// Parses the JSON of an answer. An answer that is not JSON does not come from the API. JSON of
/// another shape means that the API has changed.
fn decode_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ConnectorError> {
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        // The messages of serde about data may quote the data.
        serde_json::error::Category::Data => fault_error("an answer of an unknown shape"),
        _ => unavailable_error("the answer is not from the API"),
    })
}

fn fault_error(message: &str) -> ConnectorError {
    ConnectorError::Fault(message.to_owned())
}
