//! Presigned access of others to one object: an address to read it, a form to store it.

use std::time::{Duration, SystemTime};

use aws_config::{Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sigv4::sign::v4;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use domain::ports::{PortResult, UploadForm};
use domain::{PortError, Timestamp};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::error::port_error;

/// The longest validity of an address that S3 accepts, in seconds.
const MAX_VALIDITY_SECONDS: u32 = 7 * 24 * 60 * 60;
/// The longest file name in an address, in characters.
const MAX_NAME_CHARS: usize = 200;
/// The characters of a file name that are escaped in a header (RFC 5987, all but `attr-char`).
const ESCAPED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// A signer with the keys of one configuration, for one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Presigner {
    s3: aws_sdk_s3::Client,
    credentials: Option<SharedCredentialsProvider>,
    region: Option<Region>,
}

impl Presigner {
    /// Creates a signer for the endpoint and with the keys of `config`. S3 itself is addressed by
    /// the host of the bucket, as it demands of new buckets. Another endpoint is addressed by path,
    /// which every endpoint understands.
    pub(crate) fn new(config: &SdkConfig) -> Self {
        let uses_path_style = config.endpoint_url().is_some();
        let s3 = aws_sdk_s3::config::Builder::from(config)
            .force_path_style(uses_path_style)
            .build();
        Self {
            s3: aws_sdk_s3::Client::from_conf(s3),
            credentials: config.credentials_provider(),
            region: config.region().cloned(),
        }
    }

    /// Returns the same signer for another endpoint and with other keys.
    pub(crate) fn for_endpoint(&self, endpoint: &str, access_key: &str, secret_key: &str) -> Self {
        let keys = Credentials::new(access_key, secret_key, None, None, "fixed");
        let credentials = SharedCredentialsProvider::new(keys);
        let config = self
            .s3
            .config()
            .to_builder()
            .endpoint_url(endpoint)
            .force_path_style(true);
        let s3 = config.credentials_provider(credentials.clone()).build();

        Self {
            s3: aws_sdk_s3::Client::from_conf(s3),
            credentials: Some(credentials),
            region: self.region.clone(),
        }
    }

    /// Returns an address that downloads the object.
    pub(crate) async fn download_address(
        &self,
        bucket: &str,
        key: &str,
        name: Option<&str>,
        now: Timestamp,
        seconds: u32,
    ) -> PortResult<String> {
        let config = PresigningConfig::builder().start_time(system_time(now));
        let config = config
            .expires_in(Duration::from_secs(
                seconds.clamp(1, MAX_VALIDITY_SECONDS).into(),
            ))
            .build();
        let get = self.s3.get_object().bucket(bucket).key(key);
        let get = get.response_content_disposition(content_disposition(name));
        let signed = get.presigned(config.map_err(internal_error)?).await;

        Ok(signed.map_err(port_error)?.uri().to_owned())
    }

    /// Returns a form that stores the object.
    pub(crate) async fn upload_form(
        &self,
        bucket: &str,
        key: &str,
        max_bytes: u64,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<UploadForm> {
        let Some(region) = &self.region else {
            return Err(internal_error("no AWS region is configured"));
        };
        let Some(provider) = &self.credentials else {
            return Err(internal_error("no AWS credentials are configured"));
        };
        let region = region.as_ref();
        let keys = match provider.provide_credentials().await {
            Ok(keys) => keys,
            Err(error) => return Err(PortError::Unavailable(Box::new(error))),
        };

        let date = format_time(now)?.replace(['-', ':'], "");
        let day = date.split('T').next().unwrap_or_default();
        let credential = format!("{}/{day}/{region}/s3/aws4_request", keys.access_key_id());
        let mut fields = vec![
            ("key", key.to_owned()),
            ("x-amz-algorithm", "AWS4-HMAC-SHA256".to_owned()),
            ("x-amz-credential", credential),
            ("x-amz-date", date.clone()),
        ];
        if let Some(token) = keys.session_token() {
            fields.push(("x-amz-security-token", token.to_owned()));
        }

        let mut conditions = vec![
            json!({"bucket": bucket}),
            json!(["content-length-range", 1, max_bytes]),
        ];
        for (name, value) in &fields {
            conditions.push(json!({*name: value}));
        }
        let policy = json!({"expiration": format_time(until)?, "conditions": conditions});
        let policy = aws_smithy_types::base64::encode(policy.to_string());

        let signing_key =
            v4::generate_signing_key(keys.secret_access_key(), system_time(now), region, "s3");
        fields.push((
            "x-amz-signature",
            v4::calculate_signature(signing_key, policy.as_bytes()),
        ));
        fields.push(("policy", policy));
        let url = self.bucket_address(bucket, now).await?;

        Ok(UploadForm {
            url,
            fields: fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        })
    }

    /// Returns the origin of the addresses and forms for objects of the bucket.
    pub(crate) async fn origin(&self, bucket: &str, now: Timestamp) -> PortResult<String> {
        let address = self.bucket_address(bucket, now).await?;
        let Some((scheme, rest)) = address.split_once("://") else {
            return Err(internal_error("the SDK has composed an unknown address"));
        };
        let host = rest.split('/').next().unwrap_or_default();
        Ok(format!("{scheme}://{host}"))
    }

    /// Returns the address to which the SDK itself would send a request about the bucket.
    async fn bucket_address(&self, bucket: &str, now: Timestamp) -> PortResult<String> {
        let object_url = self.download_address(bucket, "o", None, now, 1).await?;
        let path_url = object_url.split('?').next().unwrap_or_default();
        let Some(address) = path_url.strip_suffix("/o") else {
            return Err(internal_error("the SDK has composed an unknown address"));
        };
        let has_path = match address.split_once("://") {
            Some((_, rest)) => rest.contains('/'),
            None => false,
        };

        Ok(if has_path {
            address.to_owned()
        } else {
            format!("{address}/")
        })
    }
}

fn internal_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> PortError {
    PortError::Internal(error.into())
}

fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.as_millis().unsigned_abs())
}

/// Formats a time in whole seconds, as in `2026-01-01T00:00:00Z`.
fn format_time(at: Timestamp) -> PortResult<String> {
    DateTime::from_secs(at.as_millis().div_euclid(1000))
        .fmt(Format::DateTime)
        .map_err(internal_error)
}

/// Returns the header `Content-Disposition` of a download (RFC 6266). It has the name in characters
/// that every client reads and, if that is not the whole name, the name itself as well.
fn content_disposition(name: Option<&str>) -> String {
    let Some(name) = name else {
        return "attachment".to_owned();
    };

    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let is_plain =
        |letter: char| (letter.is_ascii_graphic() && !r#""%\/"#.contains(letter)) || letter == ' ';
    let ascii_name: String = name
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect();
    let escaped = utf8_percent_encode(&name, &ESCAPED);

    if ascii_name == name {
        format!("attachment; filename=\"{ascii_name}\"")
    } else {
        format!("attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{escaped}")
    }
}

#[cfg(test)]
mod tests;
