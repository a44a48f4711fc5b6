//! A bucket on a public port, and requests to it from outside. Where signatures matter, the
//! requests are made without the SDK.

use std::time::Duration;

use aws_sdk_s3::presigning::PresigningConfig;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use embedded::{EmbeddedServices, REGION, SIGNING_KEY_ID};
use http::{Method, Request, Response};
use http_body_util::Full;
use serde_json::json;
use server::{RequestBody, ServerLimits};
use tokio::net::TcpListener;

use crate::port::{PortClient, hmac_sha256};
use crate::support::{self, Fixture, config_with};

/// A bucket, and a port to which anybody may connect.
pub(crate) struct PublicBucket {
    pub(crate) fixture: Fixture,
    pub(crate) port: PortClient,
}

impl PublicBucket {
    pub(crate) async fn new() -> Self {
        let fixture = Fixture::new();
        fixture
            .s3()
            .create_bucket()
            .bucket("content")
            .send()
            .await
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = PortClient(listener.local_addr().unwrap());
        let services = fixture.services.clone();
        let answer = move |_, request| answer_request(services.clone(), request);
        // The server ends with the runtime of the test.
        tokio::spawn(server::serve_http(
            listener,
            ServerLimits::default(),
            answer,
            std::future::pending(),
        ));

        Self { fixture, port }
    }

    /// Returns a client that signs addresses for the port with `key`.
    pub(crate) fn s3_client_with_key(&self, key: &str, secret: &str) -> aws_sdk_s3::Client {
        let config = config_with(self.port.clone(), key, secret).into_builder();
        support::s3_client(
            &config
                .endpoint_url(format!("http://{}", self.port.0))
                .build(),
        )
    }

    pub(crate) fn own_signer(&self) -> aws_sdk_s3::Client {
        self.s3_client_with_key(SIGNING_KEY_ID, self.fixture.services.signing_secret())
    }

    pub(crate) fn for_seconds(&self, seconds: u64) -> PresigningConfig {
        let config = PresigningConfig::builder().start_time(self.fixture.now());
        config
            .expires_in(Duration::from_secs(seconds))
            .build()
            .unwrap()
    }

    pub(crate) async fn send_request(&self, method: Method, url: &str) -> Response<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(url)
            .body(Bytes::new())
            .unwrap();
        self.port.send_request(request).await
    }

    /// Posts a form. Returns the status and the code of the error, if there is one.
    pub(crate) async fn post_form(&self, form: &SignedForm) -> (u16, String) {
        self.post_raw("content", form.body()).await
    }

    pub(crate) async fn post_raw(&self, bucket: &str, body: Vec<u8>) -> (u16, String) {
        let request = Request::post(format!("http://{}/{bucket}", self.port.0))
            .header("content-type", "multipart/form-data; boundary=----edge")
            .body(body.into())
            .unwrap();
        status_and_code(&self.port.send_request(request).await)
    }

    pub(crate) async fn stored_object(&self, key: &str) -> Option<Vec<u8>> {
        let object = self
            .fixture
            .s3()
            .get_object()
            .bucket("content")
            .key(key)
            .send()
            .await
            .ok()?;
        Some(object.body.collect().await.unwrap().to_vec())
    }
}

async fn answer_request(
    services: EmbeddedServices,
    request: Request<RequestBody>,
) -> Response<Full<Bytes>> {
    services.handle_public_body(request).await.map(Full::new)
}

/// Returns the status and the code of the error, if there is one.
pub(crate) fn status_and_code(response: &Response<Bytes>) -> (u16, String) {
    let body = String::from_utf8_lossy(response.body());
    let code = body
        .split("<Code>")
        .nth(1)
        .and_then(|rest| rest.split("</Code>").next());
    (
        response.status().as_u16(),
        code.unwrap_or_default().to_owned(),
    )
}

/// A form for the key `a b/upload` of 1 to 20 bytes. It is valid for ten minutes and signed without
/// the SDK.
#[derive(Clone)]
pub(crate) struct SignedForm {
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) file: Vec<u8>,
}

/// The key for which [`Form::new`] is valid.
pub(crate) const KEY: &str = "a b/upload";

impl SignedForm {
    pub(crate) fn new(public_bucket: &PublicBucket) -> Self {
        Self::sign_form(
            public_bucket,
            (
                SIGNING_KEY_ID,
                public_bucket.fixture.services.signing_secret(),
            ),
            20,
        )
    }

    pub(crate) fn sign_form(
        public_bucket: &PublicBucket,
        (key_id, secret): (&str, &str),
        max_bytes: u64,
    ) -> Self {
        let time = |time_after: u64| {
            jiff::Timestamp::try_from(public_bucket.fixture.now() + Duration::from_secs(time_after))
                .unwrap()
        };

        let date = time(0).strftime("%Y%m%dT%H%M%SZ").to_string();
        let day = &date[..8];
        let credential = format!("{key_id}/{day}/{REGION}/s3/aws4_request");
        let policy = json!({
            "expiration": format!("{:.3}", time(600)),
            "conditions": [
                {"bucket": "content"},
                ["eq", "$key", KEY],
                ["starts-with", "$x-amz-meta-note", "n"],
                ["content-length-range", 1, max_bytes],
                {"x-amz-algorithm": "AWS4-HMAC-SHA256"},
                {"x-amz-credential": credential},
                {"x-amz-date": date},
            ],
        });

        let policy = STANDARD.encode(policy.to_string());
        let start = hmac_sha256(format!("AWS4{secret}").as_bytes(), day);
        let key = [REGION, "s3", "aws4_request"]
            .iter()
            .fold(start, |key, part| hmac_sha256(&key, part));
        let signature: String = hmac_sha256(&key, &policy)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let fields = [
            ("key", KEY),
            ("x-amz-meta-note", "none"),
            ("policy", &policy),
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &date),
            ("X-Amz-Signature", &signature),
        ];
        let fields = fields
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();

        Self {
            fields,
            file: b"text".to_vec(),
        }
    }

    pub(crate) fn with_field(&self, name: &str, value: &str) -> Self {
        let mut form = self.clone();
        form.fields
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        form.fields.push((name.to_owned(), value.to_owned()));
        form
    }

    pub(crate) fn with_file(&self, file: &[u8]) -> Self {
        Self {
            file: file.to_vec(),
            ..self.clone()
        }
    }

    pub(crate) fn field_value(&self, name: &str) -> &str {
        &self
            .fields
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .unwrap()
            .1
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let part_head =
            |name: &str| format!("------edge\r\nContent-Disposition: form-data; name=\"{name}\"");
        let mut body = Vec::new();
        for (name, value) in &self.fields {
            body.extend(format!("{}\r\n\r\n{value}\r\n", part_head(name)).into_bytes());
        }
        let head = "; filename=\"my file.pdf\"\r\nContent-Type: application/pdf\r\n\r\n";
        body.extend(format!("{}{head}", part_head("file")).into_bytes());
        body.extend(&self.file);
        body.extend(b"\r\n------edge--\r\n");
        body
    }
}
