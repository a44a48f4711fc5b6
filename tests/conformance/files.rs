//! Conformance tests of [`domain::ports::Blobs`] for clients: objects, addresses to read them and
//! forms to store them.

use std::time::Duration;

use aws::QueueReceiver;
use bytes::Bytes;
use domain::BlobRef;
use domain::ports::{UploadArrival, UploadForm};
use http::{Request, StatusCode};
use testkit::{PUBLIC_URL, multipart_form};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    an_object_is_one_whatever_its_size,
    an_address_reads_one_object_for_its_time,
    a_form_stores_one_object_of_its_size_for_its_time,
    the_arrival_of_an_upload_is_told_with_its_place,
);

const PATH: &str = "container/document/revision/upload";
const DAY: u32 = 24 * 3600;

async fn put(setting: &PortFixture, path: &str, bytes: &'static [u8]) -> BlobRef {
    let put = async || {
        setting
            .ctx()
            .blobs
            .put_object(&setting.alpha, path, Bytes::from_static(bytes))
            .await
    };
    retry_unavailable(put).await.expect("a stored object")
}

async fn read_address(setting: &PortFixture, blob: &BlobRef) -> Option<Bytes> {
    let blobs = std::slice::from_ref(blob);
    let get = async || setting.ctx().blobs.get_intact(&setting.alpha, blobs).await;
    retry_unavailable(get).await.expect("blobs").pop().flatten()
}

async fn call(
    setting: &PortFixture,
    method: &str,
    url: &str,
    kind: &str,
    body: Bytes,
) -> (StatusCode, Bytes) {
    let path = url
        .strip_prefix(PUBLIC_URL)
        .expect("an address of this world");
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "recollect.test");
    let request = request
        .header("content-type", kind)
        .body(body)
        .expect("a request");
    let response = setting
        .app
        .environment
        .services
        .handle_public_request(request)
        .await;

    (response.status(), response.into_body())
}

async fn upload_form(setting: &PortFixture, max: u64) -> UploadForm {
    let now = setting.now();
    let until = now.plus_seconds(900);
    let form = async || {
        setting
            .ctx()
            .blobs
            .sign_upload_form(&setting.alpha, PATH, max, now, until)
            .await
    };
    retry_unavailable(form).await.expect("a form")
}

async fn post(setting: &PortFixture, form: &UploadForm, bytes: &[u8]) -> StatusCode {
    let fields: Vec<(&str, &str)> = form
        .fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let (kind, body) = multipart_form("file", bytes, &fields);
    call(setting, "POST", &form.url, &kind, body).await.0
}

async fn an_object_is_one_whatever_its_size(setting: &PortFixture) {
    for bytes in [&b""[..], b"x", &[7; 100_000]] {
        let path = format!("c/{}", bytes.len());
        let blob = put(setting, &path, bytes).await;
        assert_eq!(blob, BlobRef::Object(path.clone()));
        assert_eq!(
            put(setting, &path, bytes).await,
            blob,
            "storing the same again is harmless"
        );
        assert_eq!(
            read_address(setting, &blob).await,
            Some(Bytes::from_static(bytes))
        );
        assert_eq!(
            read_address(&setting.with_organizations_swapped().await, &blob).await,
            None,
            "another organization's"
        );

        let delete = async || {
            setting
                .ctx()
                .blobs
                .delete(&setting.alpha, std::slice::from_ref(&blob))
                .await
        };
        retry_unavailable(delete).await.expect("a deletion");
        assert_eq!(read_address(setting, &blob).await, None);
    }
}

async fn an_address_reads_one_object_for_its_time(setting: &PortFixture) {
    let blob = put(setting, "c/object", b"Some words.").await;
    put(setting, "c/other", b"Other words.").await;
    let now = setting.now();
    let address = async |blob: &BlobRef, name: Option<&str>| {
        let url = async || {
            setting
                .ctx()
                .blobs
                .sign_download_url(&setting.alpha, blob, name, now, DAY)
                .await
        };
        retry_unavailable(url).await.expect("an answer")
    };
    assert_eq!(
        address(&BlobRef::Inline("c/inline".into()), None).await,
        None,
        "no object"
    );

    for name in [
        None,
        Some("plain.txt"),
        Some("größe \"a\".txt"),
        Some("a\r\nb: c"),
    ] {
        let url = address(&blob, name).await.expect("an address");
        assert_eq!(
            call(setting, "GET", &url, "", Bytes::new()).await,
            (StatusCode::OK, "Some words.".into()),
            "{name:?}"
        );

        for wrong in [
            url.replace("c/object", "c/other"),
            url.replace("alpha", "beta"),
            url.replace("=86400", "=86401"),
        ] {
            assert_ne!(wrong, url);
            assert_eq!(
                call(setting, "GET", &wrong, "", Bytes::new()).await.0,
                StatusCode::FORBIDDEN,
                "{wrong}"
            );
        }

        assert!(
            call(setting, "DELETE", &url, "", Bytes::new())
                .await
                .0
                .is_client_error()
        );
    }

    let url = address(&blob, None).await.expect("an address");
    setting
        .app
        .environment
        .clock
        .advance_seconds(i64::from(DAY) - 60);
    assert_eq!(
        call(setting, "GET", &url, "", Bytes::new()).await.0,
        StatusCode::OK
    );

    setting.app.environment.clock.advance_seconds(120);
    assert_eq!(
        call(setting, "GET", &url, "", Bytes::new()).await.0,
        StatusCode::FORBIDDEN
    );
}

async fn a_form_stores_one_object_of_its_size_for_its_time(setting: &PortFixture) {
    let object = BlobRef::Object(PATH.to_owned());
    let small = upload_form(setting, 10).await;
    for (size, status) in [(0, 400), (11, 400), (1, 204), (10, 204)] {
        assert_eq!(
            post(setting, &small, &vec![b'x'; size]).await,
            status,
            "{size} bytes"
        );
        let stored = read_address(setting, &object)
            .await
            .map(|bytes| bytes.len());
        assert_eq!(stored, (status == 204).then_some(size), "{size} bytes");
    }

    for (name, _) in &small.fields {
        let mut other = small.clone();
        other
            .fields
            .iter_mut()
            .filter(|(field, _)| field == name)
            .for_each(|(_, value)| value.push('0'));
        assert!(
            post(setting, &other, b"tampered").await.is_client_error(),
            "{name}"
        );
        other.fields.retain(|(field, _)| field != name);
        assert!(
            post(setting, &other, b"left out").await.is_client_error(),
            "{name}"
        );
    }

    assert_eq!(
        read_address(setting, &object).await,
        Some(Bytes::from_static(b"xxxxxxxxxx"))
    );
    setting.app.environment.clock.advance_seconds(901);
    assert_eq!(
        post(setting, &small, b"too late").await,
        StatusCode::FORBIDDEN
    );
}

async fn the_arrival_of_an_upload_is_told_with_its_place(setting: &PortFixture) {
    let blobs = &setting.ctx().blobs;
    for message in ["", "text", "[]", "{}", r#"{"org":"alpha"}"#] {
        assert_eq!(blobs.parse_arrivals(message), None, "{message}");
    }
    assert_eq!(
        post(setting, &upload_form(setting, 100).await, b"Some words.").await,
        204
    );

    // Objects that the product itself stores cause no notification.
    put(setting, "container/document/revision/body", b"Ours.").await;
    let system = &setting.app.system;
    let receiver = QueueReceiver::new(
        system.clients.sqs.clone(),
        system.names.maintenance_queue.clone(),
    );
    let mut told = Vec::new();

    for _ in 0..20 {
        let messages = retry_unavailable(async || receiver.receive(Duration::ZERO).await)
            .await
            .expect("messages");
        told.extend(
            messages
                .iter()
                .flat_map(|message| blobs.parse_arrivals(&message.body).unwrap_or_default()),
        );
        setting.app.environment.clock.advance_seconds(1);
    }

    told.dedup();
    assert_eq!(
        told,
        [UploadArrival {
            org: setting.alpha.org().clone(),
            path: PATH.to_owned()
        }]
    );
}
