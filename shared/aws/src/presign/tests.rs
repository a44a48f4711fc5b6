//! Tests of presigned forms and addresses on the embedded S3, which checks signatures as S3 does.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_smithy_types::base64;
use bytes::Bytes;
use domain::ports::{Blobs, Clock, UploadArrival};
use domain::{BlobRef, OrgId, Tenant};
use embedded::{
    ACCESS_KEY_ID, EmbeddedServices, InProcessTransport, REGION, SECRET_ACCESS_KEY, SIGNING_KEY_ID,
};
use http::{Request, Response};
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::{Clients, QueueReceiver, ResourceNames};

const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_500);

/// A process over embedded services whose clock stands at [`NOW`].
struct PresignWorld {
    services: EmbeddedServices,
    clients: Clients,
    names: ResourceNames,
    blobs: Arc<dyn Blobs>,
    acme: Tenant,
    _folder: TempDir,
}

struct FixedClock;

#[async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        NOW
    }

    async fn sleep(&self, _: Duration) {}
}

impl PresignWorld {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = NOW.as_millis().unsigned_abs();
        let services =
            EmbeddedServices::open_with_clock(folder.path(), Arc::new(move || now)).unwrap();
        let config = crate::config_through(
            InProcessTransport::new(services.clone()),
            ACCESS_KEY_ID,
            SECRET_ACCESS_KEY,
            REGION,
        );
        let clients = Clients::new(&config);
        let clients = clients.with_public_endpoint(
            "http://127.0.0.1:8787",
            SIGNING_KEY_ID,
            services.signing_secret(),
        );
        let names = crate::create_missing_resources(&clients, ResourceNames::for_embedded())
            .await
            .unwrap();
        let blobs = crate::build_context(&clients, &names, Arc::new(FixedClock)).blobs;
        let acme = Tenant::for_operator(OrgId::parse("acme").unwrap());

        Self {
            services,
            clients,
            names,
            blobs,
            acme,
            _folder: folder,
        }
    }

    async fn upload_form(&self, max_bytes: u64, seconds: i64) -> UploadForm {
        let until = NOW.plus_seconds(seconds);
        self.blobs
            .sign_upload_form(&self.acme, "d/one two/upload", max_bytes, NOW, until)
            .await
            .unwrap()
    }

    async fn post_form(&self, form: &UploadForm, file: &[u8]) -> u16 {
        let mut body = Vec::new();
        let fields = form
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()));
        for (name, value) in fields.chain([("file", file)]) {
            body.extend(
                format!("--e\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n")
                    .into_bytes(),
            );
            body.extend([value, b"\r\n"].concat());
        }

        body.extend(b"--e--\r\n");
        let request =
            Request::post(&form.url).header("content-type", "multipart/form-data; boundary=e");

        self.services
            .handle_public_request(request.body(Bytes::from(body)).unwrap())
            .await
            .status()
            .as_u16()
    }

    async fn get_url(&self, url: &str) -> Response<Bytes> {
        self.services
            .handle_public_request(Request::get(url).body(Bytes::new()).unwrap())
            .await
    }

    /// Returns the arrivals in the messages of the maintenance queue.
    async fn receive_arrivals(&self) -> Vec<UploadArrival> {
        let queue = QueueReceiver::new(
            self.clients.sqs.clone(),
            self.names.maintenance_queue.clone(),
        );
        let messages = queue.receive(Duration::ZERO).await.unwrap();
        messages
            .iter()
            .flat_map(|message| self.blobs.parse_arrivals(&message.body).unwrap())
            .collect()
    }
}

/// Returns a signer with the configuration of a function on AWS and the short-lived keys of its
/// role.
fn aws_presigner(region: &'static str) -> Presigner {
    let keys = Credentials::new(
        "ASIAEXAMPLE",
        "secret",
        Some("a+token/=".into()),
        None,
        "role",
    );
    let config = SdkConfig::builder()
        .behavior_version(aws_config::BehaviorVersion::latest())
        .region(Region::from_static(region))
        .credentials_provider(SharedCredentialsProvider::new(keys));
    Presigner::new(&config.build())
}

#[tokio::test]
async fn a_form_stores_its_object_and_maintenance_hears_of_it() {
    let world = PresignWorld::new().await;
    let form = world.upload_form(4, 60).await;
    assert_eq!(form.url, "http://127.0.0.1:8787/content");
    assert_eq!(world.post_form(&form, b"text").await, 204);
    let blob = BlobRef::Object("d/one two/upload".into());
    let stored = world
        .blobs
        .get_intact(&world.acme, std::slice::from_ref(&blob))
        .await
        .unwrap();
    assert_eq!(stored, [Some(Bytes::from_static(b"text"))]);
    let arrival = UploadArrival {
        org: world.acme.org().clone(),
        path: "d/one two/upload".into(),
    };

    assert_eq!(world.receive_arrivals().await, [arrival]);
    // An object that the service itself stores is not an arrival.
    world
        .blobs
        .put_object(&world.acme, "d/raw", Bytes::from_static(b"text"))
        .await
        .unwrap();
    assert_eq!(world.receive_arrivals().await, []);
}

#[tokio::test]
async fn a_form_stores_nothing_else() {
    let world = PresignWorld::new().await;
    let form = world.upload_form(4, 60).await;
    assert_eq!(
        (
            world.post_form(&form, b"").await,
            world.post_form(&form, b"texts").await
        ),
        (400, 400)
    );
    assert_eq!(
        world
            .post_form(&world.upload_form(4, 0).await, b"text")
            .await,
        403
    );

    for changed in 0..form.fields.len() {
        let mut form = form.clone();
        form.fields[changed].1.insert(0, 'x');
        assert_eq!(
            world.post_form(&form, b"text").await,
            403,
            "{}",
            form.fields[changed].0
        );
        form.fields.remove(changed);
        assert_eq!(world.post_form(&form, b"text").await, 403);
    }

    let mut form = form.clone();
    form.url = form.url.replace("content", "other");
    assert_eq!(world.post_form(&form, b"text").await, 403);
    assert_eq!(world.receive_arrivals().await, []);
}

#[tokio::test]
async fn an_address_downloads_under_the_name() {
    let world = PresignWorld::new().await;
    let text = Bytes::from_static(b"text");
    let blob = world
        .blobs
        .put_object(&world.acme, "d/\u{fc} +/raw", text.clone())
        .await
        .unwrap();
    let name = Some("\u{dc}ber \"uns\".pdf");
    let url = world
        .blobs
        .sign_download_url(&world.acme, &blob, name, NOW, 60)
        .await
        .unwrap()
        .unwrap();
    assert!(
        url.starts_with("http://127.0.0.1:8787/content/acme/d/"),
        "{url}"
    );
    let response = world.get_url(&url).await;
    assert_eq!((response.status().as_u16(), response.body()), (200, &text));
    let disposition =
        "attachment; filename=\"_ber _uns_.pdf\"; filename*=UTF-8''%C3%9Cber%20%22uns%22.pdf";
    assert_eq!(response.headers()["content-disposition"], disposition);

    let past = NOW.plus_seconds(-61);
    let expired = world
        .blobs
        .sign_download_url(&world.acme, &blob, None, past, 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(world.get_url(&expired).await.status().as_u16(), 403);
    let beta = Tenant::for_operator(OrgId::parse("beta").unwrap());
    let foreign = world
        .blobs
        .sign_download_url(&beta, &blob, None, NOW, 60)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(world.get_url(&foreign).await.status().as_u16(), 404);
    assert_eq!(
        world
            .get_url(&foreign.replace("beta", "acme"))
            .await
            .status()
            .as_u16(),
        403
    );
}

#[tokio::test]
async fn only_objects_have_an_address() {
    let world = PresignWorld::new().await;
    let text = Bytes::from_static(b"text");
    let small = world
        .blobs
        .put(&world.acme, "small", text.clone())
        .await
        .unwrap();
    assert_eq!(
        world
            .blobs
            .sign_download_url(&world.acme, &small, None, NOW, 60)
            .await
            .unwrap(),
        None
    );

    let object = world
        .blobs
        .put_object(&world.acme, "small", text.clone())
        .await
        .unwrap();
    assert_eq!(object, BlobRef::Object("small".into()));
    assert_eq!(
        world
            .blobs
            .get_intact(&world.acme, &[object])
            .await
            .unwrap(),
        [Some(text)]
    );
}

#[tokio::test]
async fn on_aws_the_form_goes_to_the_host_of_the_bucket_with_the_token_of_the_role() {
    let until = NOW.plus_seconds(900);
    let form = aws_presigner("eu-central-1")
        .upload_form("content", "acme/d/upload", 50, NOW, until)
        .await
        .unwrap();
    assert_eq!(form.url, "https://content.s3.eu-central-1.amazonaws.com/");
    let value = |name: &str| {
        form.fields
            .iter()
            .find(|(field_name, _)| field_name == name)
            .unwrap()
            .1
            .as_str()
    };

    assert_eq!(value("x-amz-date"), "20260101T000000Z");
    assert_eq!(
        value("x-amz-credential"),
        "ASIAEXAMPLE/20260101/eu-central-1/s3/aws4_request"
    );
    let policy: Value = serde_json::from_slice(&base64::decode(value("policy")).unwrap()).unwrap();
    let expected = json!({"expiration": "2026-01-01T00:15:00Z", "conditions": [
        {"bucket": "content"},
        ["content-length-range", 1, 50],
        {"key": "acme/d/upload"},
        {"x-amz-algorithm": "AWS4-HMAC-SHA256"},
        {"x-amz-credential": value("x-amz-credential")},
        {"x-amz-date": "20260101T000000Z"},
        {"x-amz-security-token": "a+token/="},
    ]});
    assert_eq!(policy, expected);
    let china = aws_presigner("cn-north-1")
        .upload_form("content", "key", 50, NOW, until)
        .await
        .unwrap();
    assert_eq!(china.url, "https://content.s3.cn-north-1.amazonaws.com.cn/");
}

#[tokio::test]
async fn on_aws_an_address_needs_no_header() {
    let url = aws_presigner("eu-central-1")
        .download_address("content", "acme/d/raw", None, NOW, 60)
        .await
        .unwrap();
    assert!(
        url.starts_with("https://content.s3.eu-central-1.amazonaws.com/acme/d/raw?"),
        "{url}"
    );

    for part in [
        "X-Amz-SignedHeaders=host&",
        "X-Amz-Expires=60&",
        "X-Amz-Security-Token=a%2Btoken%2F%3D",
    ] {
        assert!(format!("{url}&").contains(part), "{part} in {url}");
    }
}

#[tokio::test]
async fn without_a_public_endpoint_that_of_the_process_is_named() {
    let keys = Credentials::new("key", "secret", None, None, "test");
    let config = SdkConfig::builder()
        .behavior_version(aws_config::BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url("http://localhost:4566")
        .credentials_provider(SharedCredentialsProvider::new(keys))
        .build();
    let presigner = Presigner::new(&config);
    let form = presigner
        .upload_form("content", "key", 50, NOW, NOW)
        .await
        .unwrap();
    assert_eq!(form.url, "http://localhost:4566/content");
    let origin = presigner.origin("content", NOW).await.unwrap();
    assert_eq!(origin, "http://localhost:4566");

    let public = presigner.for_endpoint("https://example.org/", "key", "secret");
    let form = public
        .upload_form("content", "key", 50, NOW, NOW)
        .await
        .unwrap();
    assert_eq!(form.url, "https://example.org/content");
    assert!(
        form.fields
            .iter()
            .all(|(name, _)| name != "x-amz-security-token")
    );
}

#[test]
fn any_file_name_makes_a_header() {
    assert_eq!(content_disposition(None), "attachment");
    assert_eq!(
        content_disposition(Some("a b.pdf")),
        "attachment; filename=\"a b.pdf\""
    );
    assert_eq!(
        content_disposition(Some("a;b='c'.pdf")),
        "attachment; filename=\"a;b='c'.pdf\""
    );
    let odd = [
        "",
        "\r\nSet-Cookie: a",
        "../../a\\b",
        "100%.txt",
        "\"",
        "\u{65e5}\u{672c}.txt",
        "\u{0}",
    ];
    for name in odd
        .iter()
        .map(|name| (*name).to_owned())
        .chain(["\u{65e5}".repeat(5000)])
    {
        let header = content_disposition(Some(&name));
        assert!(http::HeaderValue::try_from(&header).is_ok(), "{header}");
        assert!(
            header.len() < 3000 && header.bytes().all(|byte| (32..127).contains(&byte)),
            "{header}"
        );
        assert_eq!(header.matches('"').count(), 2, "{header}");
    }

    assert!(
        content_disposition(Some("it's.t\u{e4}t")).ends_with("filename*=UTF-8''it%27s.t%C3%A4t")
    );
}
