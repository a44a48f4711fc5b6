//! Requests to Amazon Bedrock, signed by the role of the process in place of a key.
//!
//! Both endpoints of Bedrock that speak OpenAI's protocol take signatures of AWS (version 4).

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningError, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::header::{CONTENT_TYPE, HeaderValue};
use url::Url;

use crate::settings::RoleCredentials;

/// An endpoint of Bedrock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BedrockEndpoint {
    /// The name of the service in signatures.
    service: &'static str,
    region: String,
}

impl BedrockEndpoint {
    /// Returns the endpoint at an address, or `None` if the address is not one of Bedrock.
    pub(super) fn at(url: &Url) -> Option<Self> {
        let host = url.host_str().filter(|_| url.scheme() == "https")?;
        let (name, rest) = host.split_once('.')?;
        let (region, domain) = rest.split_once('.')?;
        let service = match (name, domain) {
            ("bedrock-runtime", "amazonaws.com") => "bedrock",
            ("bedrock-mantle", "api.aws") => "bedrock-mantle",
            _ => return None,
        };
        Some(Self {
            service,
            region: region.to_owned(),
        })
    }

    /// Returns the headers that sign a POST request at this time.
    ///
    /// # Errors
    /// [`SigningError`] if the request cannot be signed.
    pub(super) fn sign(
        &self,
        (url, media_type, body): (&Url, &str, &[u8]),
        role: &RoleCredentials,
        now: SystemTime,
    ) -> Result<Vec<(String, HeaderValue)>, SigningError> {
        let session_token = role.session_token.as_ref();
        let identity = Credentials::new(
            &role.access_key_id,
            role.secret_access_key.expose(),
            session_token.map(|token| token.expose().to_owned()),
            None,
            "role",
        )
        .into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .expect("every parameter is given")
            .into();

        let headers = [(CONTENT_TYPE.as_str(), media_type)].into_iter();
        let request =
            SignableRequest::new("POST", url.as_str(), headers, SignableBody::Bytes(body))?;
        let (instructions, _) = sign(request, &params)?.into_parts();
        let (headers, _) = instructions.into_parts();

        let mut signed = Vec::with_capacity(headers.len());
        for header in headers {
            let mut value = HeaderValue::from_str(header.value()).expect("a signature is ASCII");
            value.set_sensitive(true);
            signed.push((header.name().to_owned(), value));
        }
        Ok(signed)
    }
}

/// Returns the time to sign at.
#[expect(
    clippy::disallowed_methods,
    reason = "AWS compares the time of a signature with its own"
)]
pub(super) fn current_time() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by it")]

    use std::time::{Duration, UNIX_EPOCH};

    use domain::Secret;

    use super::*;

    fn at(url: &str) -> Option<BedrockEndpoint> {
        BedrockEndpoint::at(&Url::parse(url).unwrap())
    }

    #[test]
    fn only_bedrock_gets_signatures() {
        let runtime = at("https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1").unwrap();
        assert_eq!(
            (runtime.service, &*runtime.region),
            ("bedrock", "eu-west-1")
        );
        let mantle = at("https://bedrock-mantle.us-east-2.api.aws/v1").unwrap();
        assert_eq!(
            (mantle.service, &*mantle.region),
            ("bedrock-mantle", "us-east-2")
        );
        for other in [
            "http://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1",
            "https://bedrock-runtime.eu-west-1.amazonaws.com.example.com/v1",
            "https://bedrock-runtime.example.com/v1",
            "https://api.openai.com/v1",
            "https://[::1]/v1",
        ] {
            assert_eq!(at(other), None, "{other}");
        }
    }

    /// The signature was computed by botocore 1.44 (`SigV4Auth`) for the same request.
    #[test]
    fn signatures_are_those_of_another_implementation() {
        let url = Url::parse(
            "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1/chat/completions",
        )
        .unwrap();
        let role = RoleCredentials {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: Some(Secret::new("a-session")),
        };
        let request = (&url, "application/json", br#"{"model":"m"}"#.as_slice());
        let now = UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        let endpoint = BedrockEndpoint::at(&url).unwrap();
        let headers = endpoint.sign(request, &role, now).unwrap();
        let header = |name: &str| {
            let (_, value) = headers.iter().find(|(given, _)| given == name)?;
            value.to_str().ok()
        };
        assert_eq!(header("x-amz-date"), Some("20150830T123600Z"));
        assert_eq!(header("x-amz-security-token"), Some("a-session"));
        assert_eq!(
            header("authorization"),
            Some(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/bedrock/aws4_request, \
                 SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, \
                 Signature=85057a3ce9d8a653e56fcc0f03328e7288a667e630de6be7113f26d64de5b225"
            )
        );
    }
}
