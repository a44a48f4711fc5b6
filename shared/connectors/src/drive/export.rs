//! The export of content that exists only in Google Drive into formats that other programs read.
//! There are several methods for each format, because the first has a limit of about 10 MB that
//! changes without notice.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use domain::connection::SkipReason;
use domain::document::DocumentType;
use domain::ports::{ConnectorError, ItemContent, ProviderAccess};
use http::header::LOCATION;
use remote::ApiAnswer;
use serde::Deserialize;
use serde_json::Value;
use url::{Host, Url};

use super::DriveConnector;
use super::api::{ApiRequest, check_status};
use super::exchange::{read_body, response_media_type, unavailable_error};
use super::failure::ApiFailure;
use super::fetch::file_content;
use super::kinds::{PPTX, XLSX};
use super::markdown::remove_images;

const MARKDOWN: &str = "text/markdown";
const TEXT: &str = "text/plain";
const CSV: &str = "text/csv";

/// The pauses in milliseconds before each poll of a download that is being prepared.
const POLL_PAUSES_MS: [u64; 6] = [500, 1_000, 2_000, 4_000, 6_000, 8_000];
/// The most redirects from an address that the API returned.
const MAX_REDIRECTS: usize = 3;

/// A method to obtain the content in a format.
#[derive(Debug, Clone, Copy)]
enum ExportMethod {
    /// An immediate export of up to about 10 MB.
    Export(&'static str),
    /// A download that the provider prepares in the background.
    Download(&'static str),
    /// The address behind the download menu of the user interface.
    Link(&'static str),
}

use ExportMethod::{Download, Export, Link};

/// The methods, best first. Documents and slides lose little as plain text, so text comes before
/// the slow methods. The only text format of a sheet has just its first table, so it comes last.
const DOCUMENT_METHODS: [ExportMethod; 4] = [
    Export(MARKDOWN),
    Export(TEXT),
    Download(MARKDOWN),
    Link(MARKDOWN),
];
const SHEET_METHODS: [ExportMethod; 4] = [Export(XLSX), Download(XLSX), Link(XLSX), Export(CSV)];
const SLIDE_METHODS: [ExportMethod; 4] = [Export(PPTX), Export(TEXT), Download(PPTX), Link(PPTX)];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DownloadOperation {
    #[serde(default)]
    name: String,
    #[serde(default)]
    done: bool,
    response: Option<DownloadResult>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DownloadResult {
    download_uri: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportLinks {
    #[serde(default)]
    export_links: HashMap<String, String>,
}

impl DriveConnector {
    /// Returns the content from the first method that succeeds. Fails with
    /// [`SkipReason::TooLarge`] when the first content that the provider makes has more than `limit`
    /// bytes, and tries no other method.
    pub(super) async fn export_content(
        &self,
        access: &ProviderAccess,
        item: (&str, Option<String>),
        kind: DocumentType,
        limit: usize,
    ) -> Result<ItemContent, ApiFailure> {
        let methods = match kind {
            DocumentType::CloudSheet => SHEET_METHODS,
            DocumentType::CloudSlide => SLIDE_METHODS,
            _ => DOCUMENT_METHODS,
        };

        let mut too_large = false;
        let mut last_failure = ApiFailure::TooLarge;
        for method in methods {
            match self.export_by_method(access, &item, method, limit).await {
                Ok((bytes, media_type)) => return Ok(exported_content(bytes, media_type)),
                // Another method may have another limit, or offer a format that this one does not.
                Err(failure @ (ApiFailure::TooLarge | ApiFailure::Refused(_))) => {
                    too_large |= matches!(failure, ApiFailure::TooLarge);
                    last_failure = failure;
                }
                Err(failure) => return Err(failure),
            }
        }

        Err(if too_large {
            ApiFailure::TooLarge
        } else {
            last_failure
        })
    }

    async fn export_by_method(
        &self,
        access: &ProviderAccess,
        (id, resource_key): &(&str, Option<String>),
        method: ExportMethod,
        limit: usize,
    ) -> Result<(Bytes, &'static str), ApiFailure> {
        let (response, media_type) = match method {
            Export(media_type) => {
                // This is the only request that does not support shared drives and rejects the
                // parameter for them.
                let request = ApiRequest::get(&["files", id, "export"])
                    .with_query("mimeType", media_type)
                    .with_resource_key(resource_key.clone());
                (self.request_content(access, request).await?, media_type)
            }
            Download(media_type) => (
                self.prepare_download(access, id, resource_key.clone(), media_type)
                    .await?,
                media_type,
            ),
            Link(media_type) => {
                let links: ExportLinks = self
                    .request_file(access, id, "exportLinks", resource_key.clone())
                    .await?;
                let Some(link) = links.export_links.get(media_type) else {
                    return Err(ApiFailure::Refused("noExportLink".into()));
                };
                (
                    self.follow_address(access, link, media_type).await?,
                    media_type,
                )
            }
        };

        if response_media_type(&response) == "text/html" {
            return Err(unavailable_error("a page in place of the content").into());
        }

        let Some(bytes) = read_body(response, limit).await? else {
            // This limit is the caller's, who may raise it. A lighter form would lose content.
            return Err(ConnectorError::Item(SkipReason::TooLarge).into());
        };
        Ok((bytes, media_type))
    }

    /// Lets the provider prepare a download, and requests it.
    async fn prepare_download(
        &self,
        access: &ProviderAccess,
        id: &str,
        resource_key: Option<String>,
        media_type: &str,
    ) -> Result<ApiAnswer, ApiFailure> {
        let request = ApiRequest::post(&["files", id, "download"])
            .with_query("mimeType", media_type)
            .with_resource_key(resource_key);
        let mut operation: DownloadOperation = self.request_json(access, request).await?;
        for pause in POLL_PAUSES_MS {
            if operation.done {
                break;
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let name = operation.name.trim_start_matches("operations/").to_owned();
            operation = self
                .request_json(access, ApiRequest::get(&["operations", &name]))
                .await?;
        }

        if operation.error.is_some() {
            return Err(ApiFailure::Refused("downloadFailed".into()));
        }

        if !operation.done {
            return Err(unavailable_error("the download is still being made").into());
        }

        let Some(DownloadResult {
            download_uri: Some(download),
        }) = operation.response
        else {
            return Err(ApiFailure::Refused("noDownload".into()));
        };
        self.follow_address(access, &download, media_type).await
    }

    /// Requests the content at an address that the API returned. The access token is sent along, so
    /// each redirect is checked. A login page is recognized by its media type.
    async fn follow_address(
        &self,
        access: &ProviderAccess,
        address: &str,
        media_type: &str,
    ) -> Result<ApiAnswer, ApiFailure> {
        let Ok(mut url) = Url::parse(address) else {
            return Err(ApiFailure::Refused("badAddress".into()));
        };
        for _ in 0..=MAX_REDIRECTS {
            if !self.is_provider_address(&url) {
                return Err(ApiFailure::Refused("strangeAddress".into()));
            }

            let response = self.download_content(access, url.clone()).await?;
            if response.status().is_redirection() {
                let Some(target) = redirect_target(&url, &response) else {
                    return Err(unavailable_error("a redirect without a target").into());
                };
                url = target;
                continue;
            }

            let response = check_status(response).await?;
            if response_media_type(&response) != media_type {
                return Err(unavailable_error("a page in place of the content").into());
            }
            return Ok(response);
        }

        Err(unavailable_error("the redirects do not end").into())
    }

    /// Checks whether tokens may be sent to an address.
    fn is_provider_address(&self, url: &Url) -> bool {
        let is_configured_api =
            Url::parse(&self.addresses.api).is_ok_and(|api| api.origin() == url.origin());
        is_configured_api
            || (url.scheme() == "https" && url.port().is_none() && is_content_host(url))
    }
}

/// Returns the address to which a response from `url` redirects.
fn redirect_target(url: &Url, response: &ApiAnswer) -> Option<Url> {
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    url.join(location).ok()
}

fn is_content_host(url: &Url) -> bool {
    let Some(Host::Domain(host)) = url.host() else {
        return false;
    };
    host == "docs.google.com"
        || host.ends_with(".googleusercontent.com")
        || host == "www.googleapis.com"
}

fn exported_content(bytes: Bytes, media_type: &'static str) -> ItemContent {
    let extension = match media_type {
        MARKDOWN => "md",
        TEXT => "txt",
        CSV => "csv",
        XLSX => "xlsx",
        _ => "pptx",
    };

    let bytes = match media_type {
        MARKDOWN => remove_images(&String::from_utf8_lossy(&bytes))
            .into_bytes()
            .into(),
        TEXT | CSV => match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => bytes.slice_ref(rest),
            None => bytes,
        },
        _ => bytes,
    };

    file_content(bytes, extension, media_type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DriveSettings;

    #[test]
    fn tokens_go_to_the_providers_hosts_only() {
        let drive = |api: Option<&str>| {
            DriveConnector::new(&DriveSettings {
                api_url: api.map(str::to_owned),
                ..DriveSettings::default()
            })
            .unwrap()
        };

        let cases = [
            (
                "https://docs.google.com/document/d/x/export?format=md",
                true,
            ),
            ("https://doc-0s.googleusercontent.com/docs/x", true),
            ("https://www.googleapis.com/drive/v3/files/x", true),
            ("http://docs.google.com/x", false),
            ("https://docs.google.com:8443/x", false),
            ("https://docs.google.com.example.org/x", false),
            ("https://googleusercontent.com.example.org/x", false),
            ("https://evilgoogleusercontent.com/x", false),
            ("https://127.0.0.1/x", false),
            ("http://127.0.0.1:7777/x", false),
        ];
        for (address, expected) in cases {
            assert_eq!(
                drive(None).is_provider_address(&Url::parse(address).unwrap()),
                expected,
                "{address}"
            );
        }

        let own_address = Url::parse("http://127.0.0.1:7777/x").unwrap();
        assert!(drive(Some("http://127.0.0.1:7777")).is_provider_address(&own_address));
        assert!(!drive(Some("http://127.0.0.1:7778")).is_provider_address(&own_address));
    }

    #[test]
    fn text_is_handed_over_without_marks_of_its_order() {
        let text = exported_content(Bytes::from_static(b"\xef\xbb\xbfA plan"), TEXT);
        assert_eq!(text.bytes, "A plan");
        assert_eq!(
            exported_content(Bytes::from_static(b"\xff ![](data:,x)"), MARKDOWN).bytes,
            "\u{fffd} "
        );
    }
}
