//! Tests of the services behind a port: all SDK clients on one address, and presigned requests
//! without an SDK.

use std::net::SocketAddr;
use std::time::Duration;

use aws_sdk_s3::presigning::PresigningConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use embedded::{ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use sha2::Sha256;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::support::{self, Fixture, sdk_config};

/// An HTTP client that always connects to one address.
#[derive(Debug, Clone)]
pub(crate) struct PortClient(pub(crate) SocketAddr);

impl HttpClient for PortClient {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for PortClient {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let port = self.clone();
        HttpConnectorFuture::new(async move {
            let (parts, body) = request.try_into_http1x().unwrap().into_parts();
            let body = body
                .collect()
                .await
                .map_err(ConnectorError::user)?
                .to_bytes();
            let response = port.send_request(Request::from_parts(parts, body)).await;
            Ok(HttpResponse::try_from(response.map(SdkBody::from)).unwrap())
        })
    }
}

impl PortClient {
    pub(crate) async fn send_request(&self, mut request: Request<Bytes>) -> Response<Bytes> {
        let host = HeaderValue::try_from(self.0.to_string()).unwrap();
        request.headers_mut().entry("host").or_insert(host);
        let path = request.uri().path_and_query().unwrap().clone();
        *request.uri_mut() = path.into();
        let stream = TcpStream::connect(self.0).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        let response = sender.send_request(request.map(Full::new)).await.unwrap();
        let (parts, body) = response.into_parts();
        Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
    }

    fn sdk_config(&self) -> aws_config::SdkConfig {
        sdk_config(self.clone())
            .into_builder()
            .endpoint_url(format!("http://{}", self.0))
            .build()
    }
}

/// Starts a server. Returns its port, the handle that stops it, and its task.
async fn start_server(
    fixture: &Fixture,
) -> (PortClient, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = PortClient(listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let services = fixture.services.clone();
    let server = tokio::spawn(async move {
        embedded::serve_aws_clients(services, listener, async { drop(stopped.await) }).await;
    });
    (port, stop, server)
}

#[tokio::test]
async fn one_port_answers_all_services() {
    let fixture = Fixture::new();
    let (port, stop, server) = start_server(&fixture).await;
    let dynamodb = aws_sdk_dynamodb::Client::new(&port.sdk_config());
    crate::dynamodb::create_table(&dynamodb).await;
    assert_eq!(
        dynamodb.list_tables().send().await.unwrap().table_names(),
        ["records"]
    );

    let sqs = aws_sdk_sqs::Client::new(&port.sdk_config());
    let url = sqs
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    assert!(url.starts_with(&format!("http://{}/", port.0)), "{url}");
    sqs.send_message()
        .queue_url(&url)
        .message_body("job")
        .send()
        .await
        .unwrap();
    // The process itself sees what came in through the port.
    let received = fixture
        .sqs()
        .receive_message()
        .queue_url("https://any.host/0/work")
        .send()
        .await
        .unwrap();
    assert_eq!(received.messages().len(), 1);

    let s3 = support::s3_client(&port.sdk_config());
    s3.create_bucket().bucket("documents").send().await.unwrap();
    s3.put_object()
        .bucket("documents")
        .key("a")
        .body(vec![7; 3 << 20].into())
        .send()
        .await
        .unwrap();
    let got = s3
        .get_object()
        .bucket("documents")
        .key("a")
        .send()
        .await
        .unwrap();
    assert_eq!(got.body.collect().await.unwrap().to_vec().len(), 3 << 20);

    let kms = aws_sdk_kms::Client::new(&port.sdk_config());
    let sealed = crate::kms::encrypt_text(&kms, "secret", &[]).await;
    assert_eq!(
        crate::kms::decrypt_text(&kms, &sealed, &[]).await,
        Ok("secret".to_owned())
    );

    stop.send(()).unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn pre_signed_urls_upload_and_download_and_cannot_be_changed() {
    let fixture = Fixture::new();
    let (port, _stop, _server) = start_server(&fixture).await;
    let s3 = support::s3_client(&port.sdk_config());
    s3.create_bucket().bucket("documents").send().await.unwrap();
    let expiry = || PresigningConfig::expires_in(Duration::from_secs(60)).unwrap();

    let put = s3
        .put_object()
        .bucket("documents")
        .key("a b")
        .presigned(expiry())
        .await
        .unwrap();
    let request = Request::put(put.uri())
        .body(Bytes::from_static(b"uploaded"))
        .unwrap();
    assert_eq!(port.send_request(request).await.status(), 200);

    let get = s3
        .get_object()
        .bucket("documents")
        .key("a b")
        .response_content_type("text/plain");
    let get = get.presigned(expiry()).await.unwrap();
    let answer = port
        .send_request(Request::get(get.uri()).body(Bytes::new()).unwrap())
        .await;
    assert_eq!(
        (answer.status().as_u16(), answer.body().as_ref()),
        (200, b"uploaded".as_slice())
    );
    assert_eq!(answer.headers()["content-type"], "text/plain");

    let forged_url = get.uri().replace("a%20b", "other");
    assert_eq!(
        port.send_request(Request::get(forged_url).body(Bytes::new()).unwrap())
            .await
            .status(),
        403
    );
    let unsigned = Request::get(format!("http://{}/documents/a%20b", port.0))
        .body(Bytes::new())
        .unwrap();
    assert_eq!(port.send_request(unsigned).await.status(), 403);
}

pub(crate) fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Returns the current time in the format of signatures, from an address that the SDK signs.
async fn signing_time(s3: &aws_sdk_s3::Client) -> String {
    let expiry = PresigningConfig::expires_in(Duration::from_secs(60)).unwrap();
    let signed = s3
        .get_object()
        .bucket("documents")
        .key("any")
        .presigned(expiry)
        .await
        .unwrap();
    let (_, rest) = signed.uri().split_once("X-Amz-Date=").unwrap();
    rest.split('&').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_pre_signed_form_uploads_within_its_policy() {
    let fixture = Fixture::new();
    let (port, _stop, _server) = start_server(&fixture).await;
    let s3 = support::s3_client(&port.sdk_config());
    s3.create_bucket().bucket("documents").send().await.unwrap();
    let time = signing_time(&s3).await;
    let day = &time[..8];
    let scope = format!("{day}/{REGION}/s3/aws4_request");
    let credential = format!("{ACCESS_KEY_ID}/{scope}");
    let policy = format!(
        r#"{{"expiration":"2100-01-01T00:00:00.000Z","conditions":[{{"bucket":"documents"}},{{"key":"form"}},
        ["content-length-range",1,20],{{"x-amz-algorithm":"AWS4-HMAC-SHA256"}},{{"x-amz-credential":"{credential}"}},
        {{"x-amz-date":"{time}"}}]}}"#
    );
    let policy = STANDARD.encode(policy);
    let start = hmac_sha256(format!("AWS4{SECRET_ACCESS_KEY}").as_bytes(), day);
    let key = [REGION, "s3", "aws4_request"]
        .iter()
        .fold(start, |key, part| hmac_sha256(&key, part));
    let signature = hex::encode(hmac_sha256(&key, &policy));

    for (file, expected) in [
        ("short enough", 204),
        ("this file is longer than the policy allows", 400),
    ] {
        let fields = [
            ("key", "form"),
            ("policy", &policy),
            ("x-amz-algorithm", "AWS4-HMAC-SHA256"),
            ("x-amz-credential", &credential),
            ("x-amz-date", &time),
            ("x-amz-signature", &signature),
            ("file", file),
        ];
        let mut body = String::new();
        for (name, value) in fields {
            let file = if name == "file" {
                "; filename=\"f\""
            } else {
                ""
            };
            body += &format!(
                "--edge\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n"
            );
        }
        body += "--edge--\r\n";
        let request = Request::post(format!("http://{}/documents", port.0))
            .header("content-type", "multipart/form-data; boundary=edge")
            .body(Bytes::from(body))
            .unwrap();
        let answer = port.send_request(request).await;
        assert_eq!(answer.status().as_u16(), expected, "{:?}", answer.body());
    }
    let stored = fixture
        .s3()
        .get_object()
        .bucket("documents")
        .key("form")
        .send()
        .await
        .unwrap();
    assert_eq!(
        stored.body.collect().await.unwrap().to_vec(),
        b"short enough"
    );
}

#[tokio::test]
async fn web_pages_cannot_call_services_without_signatures() {
    let fixture = Fixture::new();
    let (port, stop, server) = start_server(&fixture).await;
    let call = |origin: Option<&str>| {
        let request = Request::post("http://port/")
            .header("host", "evil.example")
            .header("x-amz-target", "DynamoDB_20120810.ListTables")
            .header("content-type", "application/x-amz-json-1.0");
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        request.body(Bytes::from_static(b"{}")).unwrap()
    };
    for (origin, status) in [(None, 200), (Some("http://evil.example"), 403)] {
        let answer = port.send_request(call(origin)).await;
        assert_eq!(answer.status(), status, "{origin:?}");
    }
    stop.send(()).unwrap();
    server.await.unwrap();
}
