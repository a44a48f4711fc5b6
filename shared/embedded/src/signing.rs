//! The key that signs addresses of objects and forms for others.
//!
//! The key of the services themselves is public knowledge. This key is random and stays in the data
//! folder.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PercentEncodingMode, SignableBody, SignableRequest, SignatureLocation, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use percent_encoding::percent_decode_str;
use s3s::{S3Error, S3Result, s3_error};
use subtle::ConstantTimeEq;

use crate::folder::{self, LockedFolder};
use crate::{REGION, SIGNING_KEY_ID};

/// The most milliseconds by which the signer's clock may be ahead of ours, as on AWS.
const MAX_AHEAD_MS: i64 = 15 * 60 * 1000;
/// The number of digits of a secret.
const SECRET_DIGITS: usize = 64;

/// The key that signs and checks addresses and forms.
pub(crate) struct SigningKey {
    secret: String,
    identity: Identity,
}

impl SigningKey {
    /// Reads the secret in the folder, or creates it if there never was one.
    pub(crate) fn open(folder: &LockedFolder<'_>) -> anyhow::Result<Self> {
        let secret = load_or_create_secret(folder)
            .with_context(|| format!("cannot use {}", folder::SIGNING_KEY))?;
        let identity = Credentials::new(SIGNING_KEY_ID, &secret, None, None, "embedded").into();
        Ok(Self { secret, identity })
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Checks a signed address, and returns the parameters of its query without the signature. The
    /// address is valid if signing it here gives the same result.
    pub(crate) fn check_address(
        &self,
        (method, host, path, query): (&str, &str, &str, &str),
        now: i64,
    ) -> S3Result<String> {
        let (signature, rest) = split_signature(query)?;
        let (Some(date), Some(validity)) =
            (signature.get("X-Amz-Date"), signature.get("X-Amz-Expires"))
        else {
            return Err(unsigned_error());
        };
        let signed_at = signing_time(date, now)?;
        let Ok(seconds) = validity.parse::<u32>() else {
            return Err(unsigned_error());
        };

        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(Duration::from_secs(seconds.into()));
        let builder = v4::SigningParams::builder()
            .identity(&self.identity)
            .region(REGION)
            .name("s3");
        let params = builder
            .time(system_time(signed_at))
            .settings(settings)
            .build();
        let params = params.map_err(S3Error::internal_error)?.into();

        let address = format!("http://{host}{path}?{rest}");
        let headers = [("host", host)].into_iter();
        let request = SignableRequest::new(method, address, headers, SignableBody::UnsignedPayload);
        let Ok(request) = request else {
            return Err(unsigned_error());
        };
        let Ok(expected) = sign(request, &params) else {
            return Err(unsigned_error());
        };

        let expected = expected.output().params();
        let matches_given = |name: &str, value: &str| match signature.get(name) {
            Some(given) => equals_in_constant_time(given, value),
            None => false,
        };
        if signature.len() != expected.len()
            || !expected
                .iter()
                .all(|(name, value)| matches_given(name, value))
        {
            return Err(s3_error!(
                SignatureDoesNotMatch,
                "The address is not signed with the key of this server"
            ));
        }

        if now > signed_at + i64::from(seconds) * 1000 {
            return Err(s3_error!(AccessDenied, "Request has expired"));
        }

        Ok(rest)
    }

    /// Checks that the policy of a form is signed. Does not check the policy itself.
    pub(crate) fn check_form(&self, form: &BTreeMap<String, String>, now: i64) -> S3Result<()> {
        let require_field = |name: &str| match form.get(name) {
            Some(value) => Ok(value.as_str()),
            None => Err(unsigned_error()),
        };
        let date = require_field("x-amz-date")?;
        let signed_at = signing_time(date, now)?;

        let credential = format!(
            "{SIGNING_KEY_ID}/{}/{REGION}/s3/aws4_request",
            date.get(..8).unwrap_or(date)
        );

        let key = v4::generate_signing_key(&self.secret, system_time(signed_at), REGION, "s3");
        let signature = v4::calculate_signature(key, require_field("policy")?.as_bytes());
        let is_valid = require_field("x-amz-algorithm")? == "AWS4-HMAC-SHA256"
            && require_field("x-amz-credential")? == credential
            && equals_in_constant_time(require_field("x-amz-signature")?, &signature);

        if is_valid {
            Ok(())
        } else {
            Err(s3_error!(
                SignatureDoesNotMatch,
                "The form is not signed with the key of this server"
            ))
        }
    }
}

fn unsigned_error() -> S3Error {
    s3_error!(AccessDenied, "Ask the API for a signed address or form")
}

/// Compares two texts in constant time, so that the time does not reveal how much of `given` is
/// right.
fn equals_in_constant_time(given: &str, expected: &str) -> bool {
    given.as_bytes().ct_eq(expected.as_bytes()).into()
}

/// Splits a query into the parameters of its signature, decoded, and the other parameters, as they
/// are.
fn split_signature(query: &str) -> S3Result<(BTreeMap<&str, String>, String)> {
    let mut signature = BTreeMap::new();
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some((name, value)) if name.starts_with("X-Amz-") => {
                let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
                if signature.insert(name, value).is_some() {
                    return Err(unsigned_error());
                }
            }
            _ => rest.push(pair),
        }
    }

    Ok((signature, rest.join("&")))
}

/// Parses the time of a signature, in milliseconds. It must not be in the future.
fn signing_time(text: &str, now: i64) -> S3Result<i64> {
    let Ok(time) = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", text) else {
        return Err(unsigned_error());
    };
    let Ok(time) = jiff::tz::TimeZone::UTC.to_timestamp(time) else {
        return Err(unsigned_error());
    };

    let time = time.as_millisecond();
    if (0..=now.saturating_add(MAX_AHEAD_MS)).contains(&time) {
        Ok(time)
    } else {
        Err(unsigned_error())
    }
}

fn system_time(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms.unsigned_abs())
}

/// Returns the secret in the folder, or creates it if there never was one.
fn load_or_create_secret(folder: &LockedFolder<'_>) -> anyhow::Result<String> {
    let make_secret = || hex::encode(rand::random::<[u8; SECRET_DIGITS / 2]>()).into_bytes();
    let secret = String::from_utf8(folder.get_or_create_key(folder::SIGNING_KEY, make_secret)?)?;
    anyhow::ensure!(
        secret.len() == SECRET_DIGITS,
        "it has to have {SECRET_DIGITS} digits: restore it from a backup, or delete it together with MANIFEST to have a \
         new one, which voids the links to files that were handed out"
    );
    Ok(secret)
}
