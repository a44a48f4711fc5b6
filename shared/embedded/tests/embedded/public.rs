//! Tests of uploads and other requests from outside, over plain HTTP as browsers speak it.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use embedded::{ACCESS_KEY_ID, EmbeddedServices, SECRET_ACCESS_KEY, SIGNING_KEY_ID};
use http::Request;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stranger::{KEY, PublicBucket, SignedForm, status_and_code};
use crate::support::Fixture;

#[tokio::test]
async fn a_signed_form_stores_its_object_whatever_the_order_of_its_fields() {
    let public_bucket = PublicBucket::new().await;
    let mut form = SignedForm::new(&public_bucket);
    for rotation in 0..form.fields.len() {
        form.fields.rotate_left(1);
        form.file = format!("turn {rotation}").into_bytes();
        assert_eq!(public_bucket.post_form(&form).await, (204, String::new()));
        assert_eq!(public_bucket.stored_object(KEY).await.unwrap(), form.file);
    }
}

#[tokio::test]
async fn a_form_that_is_not_as_it_was_signed_is_refused() {
    let public_bucket = PublicBucket::new().await;
    let form = SignedForm::new(&public_bucket);

    let policy = String::from_utf8(STANDARD.decode(form.field_value("policy")).unwrap()).unwrap();
    let tampered = STANDARD.encode(policy.replace("1,20", "1,2000"));
    assert_ne!(tampered, form.field_value("policy"));
    let earlier_date = form.field_value("x-amz-date").replace("T08", "T07");
    let known_key_form =
        SignedForm::sign_form(&public_bucket, (ACCESS_KEY_ID, SECRET_ACCESS_KEY), 20);
    let own_name = SignedForm::sign_form(&public_bucket, (SIGNING_KEY_ID, SECRET_ACCESS_KEY), 20);
    let signature = form.field_value("x-amz-signature");

    let cases = [
        (
            "another key",
            form.with_field("key", "a b/other"),
            "AccessDenied",
        ),
        ("no key", form.with_field("key", ""), "AccessDenied"),
        (
            "another bucket",
            form.with_field("bucket", "other"),
            "AccessDenied",
        ),
        (
            "a value without the prefix",
            form.with_field("x-amz-meta-note", "other"),
            "AccessDenied",
        ),
        (
            "a field without a condition",
            form.with_field("content-type", "text/html"),
            "AccessDenied",
        ),
        (
            "a tampered policy",
            form.with_field("policy", &tampered),
            "SignatureDoesNotMatch",
        ),
        (
            "no policy",
            form.with_field("policy", ""),
            "SignatureDoesNotMatch",
        ),
        (
            "a tampered time",
            form.with_field("x-amz-date", &earlier_date),
            "AccessDenied",
        ),
        (
            "no time",
            form.with_field("x-amz-date", "today"),
            "AccessDenied",
        ),
        (
            "half a signature",
            form.with_field("x-amz-signature", &signature[..32]),
            "SignatureDoesNotMatch",
        ),
        (
            "the key that everybody knows",
            known_key_form,
            "SignatureDoesNotMatch",
        ),
        (
            "the secret that everybody knows",
            own_name,
            "SignatureDoesNotMatch",
        ),
    ];

    for (case, form, code) in cases {
        assert_eq!(
            public_bucket.post_form(&form).await,
            (403, code.to_owned()),
            "{case}"
        );
    }

    assert_eq!(
        public_bucket.post_form(&form.with_file(&[b'x'; 21])).await,
        (400, "EntityTooLarge".to_owned())
    );
    assert_eq!(
        public_bucket.post_form(&form.with_file(b"")).await,
        (400, "EntityTooSmall".to_owned())
    );
    assert_eq!(
        public_bucket.post_raw("other", form.body()).await,
        (403, "AccessDenied".to_owned())
    );

    assert_eq!(public_bucket.stored_object(KEY).await, None);
    assert_eq!(
        public_bucket
            .post_form(&form.with_file(&[b'x'; 20]))
            .await
            .0,
        204
    );
}

#[tokio::test]
async fn a_form_expires_in_the_time_of_the_services() {
    let public_bucket = PublicBucket::new().await;
    let form = SignedForm::new(&public_bucket);
    public_bucket.fixture.advance_ms(599_000);
    assert_eq!(public_bucket.post_form(&form).await.0, 204);
    public_bucket.fixture.advance_ms(1000);
    assert_eq!(
        public_bucket.post_form(&form).await,
        (403, "AccessDenied".to_owned())
    );
}

#[tokio::test]
async fn a_body_that_is_not_a_form_is_refused() {
    let public_bucket = PublicBucket::new().await;
    let form = SignedForm::new(&public_bucket);
    let valid_body = form.body();
    let file = valid_body
        .windows(11)
        .position(|bytes| bytes == b"name=\"file\"")
        .unwrap();
    let mut duplicated = form.clone();
    duplicated.fields.push(("key".to_owned(), KEY.to_owned()));
    let mut oversized = form.clone();
    oversized
        .fields
        .extend((0..60).map(|n| (format!("x-ignore-{n}"), String::new())));
    let bodies = [
        Vec::new(),
        b"text".to_vec(),
        valid_body[..file].to_vec(),
        duplicated.body(),
        oversized.body(),
    ];
    for body in bodies {
        assert_eq!(
            public_bucket.post_raw("content", body).await,
            (400, "MalformedPOSTRequest".to_owned())
        );
    }

    let request = Request::post(format!("http://{}/content", public_bucket.port.0))
        .body(valid_body.into())
        .unwrap();
    assert_eq!(
        status_and_code(&public_bucket.port.send_request(request).await),
        (403, "AccessDenied".to_owned())
    );
    assert_eq!(public_bucket.stored_object(KEY).await, None);
}

#[tokio::test]
async fn what_is_refused_is_refused_before_a_byte_of_its_file() {
    let public_bucket = PublicBucket::new().await;

    let large = SignedForm::sign_form(
        &public_bucket,
        (
            SIGNING_KEY_ID,
            public_bucket.fixture.services.signing_secret(),
        ),
        50 << 20,
    );
    let expired = large.clone();
    public_bucket.fixture.advance_ms(601_000);
    let form = SignedForm::new(&public_bucket);

    let cases = [
        (
            "a wrong signature",
            form.with_field("x-amz-signature", &"0".repeat(64)),
            403,
        ),
        ("an expired policy", expired, 403),
        ("another key", form.with_field("key", "a b/other"), 403),
        (
            "a field without a condition",
            form.with_field("acl", "public-read"),
            403,
        ),
        (
            "fields that are too long",
            form.with_field("x-ignore-long", &"x".repeat(65 * 1024)),
            400,
        ),
        ("a file that is too large", form.with_file(&[b'x'; 21]), 400),
    ];

    for (case, form, status) in cases {
        assert_eq!(
            refusal_of_beginning(&public_bucket, "POST", "/content", &form).await,
            status,
            "{case}"
        );
    }

    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let status = refusal_of_beginning(&public_bucket, method, "/content/a", &form).await;
        assert_eq!(status, 403, "{method}");
    }

    assert_eq!(public_bucket.stored_object(KEY).await, None);
}

/// Announces 50 MB and sends a form up to the end of its file, without the end of the form. Returns
/// the status of the answer.
async fn refusal_of_beginning(
    public_bucket: &PublicBucket,
    method: &str,
    path: &str,
    form: &SignedForm,
) -> u16 {
    let mut stream = TcpStream::connect(public_bucket.port.0).await.unwrap();
    let length = 50 << 20;
    let kind = "content-type: multipart/form-data; boundary=----edge";
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: a\r\n{kind}\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let body = form.body();
    // The reader keeps back a few bytes that could be the beginning of the end. These are more.
    let sent = [
        &body[..body.len() - "\r\n------edge--\r\n".len()],
        &[b'x'; 64],
    ]
    .concat();
    stream.write_all(&sent).await.unwrap();
    let mut answer = [0; 12];
    let read = tokio::time::timeout(Duration::from_secs(10), stream.read_exact(&mut answer)).await;
    read.expect("an answer before the file").unwrap();

    std::str::from_utf8(&answer[9..]).unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_comes_before_the_file_is_bounded() {
    let public_bucket = PublicBucket::new().await;
    let endless = format!(
        "------edge\r\nContent-Disposition: form-data; name=\"{}",
        "x".repeat(8 << 20)
    );
    assert_eq!(
        public_bucket
            .post_raw("content", endless.into_bytes())
            .await,
        (400, "MalformedPOSTRequest".to_owned())
    );
}

#[tokio::test]
async fn forms_of_unusual_clients_are_read() {
    let public_bucket = PublicBucket::new().await;
    let text = String::from_utf8(SignedForm::new(&public_bucket).body()).unwrap();
    let heads = [
        // .NET
        text.replace(
            "name=\"file\"; filename=\"my file.pdf\"",
            "name=file; filename=a.pdf; filename*=utf-8''a.pdf",
        ),
        // OkHttp
        text.replace(
            "application/pdf\r\n",
            "application/pdf\r\nContent-Length: 4\r\n",
        ),
        text.replace("my file.pdf", "\u{fc}ber \\\"uns\\\".pdf"),
        text.replace("filename=\"my file.pdf\"", "filename=\"\""),
    ];

    for (number, body) in heads.into_iter().enumerate() {
        assert_ne!(body, text);
        let body = body.replace("\r\n\r\ntext\r\n", &format!("\r\n\r\ntext {number}\r\n"));
        assert_eq!(
            public_bucket.post_raw("content", body.into_bytes()).await.0,
            204,
            "{number}"
        );
        assert_eq!(
            public_bucket.stored_object(KEY).await.unwrap(),
            format!("text {number}").into_bytes()
        );
    }
}

#[tokio::test]
async fn a_form_carries_fifty_megabytes_of_any_bytes() {
    let public_bucket = PublicBucket::new().await;
    let size = 50 << 20;
    let key = (
        SIGNING_KEY_ID,
        public_bucket.fixture.services.signing_secret(),
    );
    let mut file = b"\r\n------edg\r\r\n--".repeat(size / 17 + 1);
    file.truncate(size);
    let form = SignedForm::sign_form(&public_bucket, key, size as u64).with_file(&file);
    assert_eq!(public_bucket.post_form(&form).await, (204, String::new()));
    assert!(public_bucket.stored_object(KEY).await.unwrap() == file);
}

#[tokio::test]
async fn the_secret_is_one_for_a_folder_and_another_for_the_next() {
    let fixture = Fixture::new();
    let secret = fixture.services.signing_secret().to_owned();
    assert_eq!(secret.len(), 64);
    assert_eq!(fixture.reopen().signing_secret(), secret);
    assert_ne!(Fixture::new().services.signing_secret(), secret);
    let file = fixture.folder.path().join("signing.key");

    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&file).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn processes_that_open_a_new_folder_at_a_time_share_its_secret() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        EmbeddedServices::open(folder.path())
            .unwrap()
            .signing_secret()
            .to_owned()
    };

    let secrets: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });

    assert!(
        secrets.iter().all(|secret| *secret == secrets[0]),
        "{secrets:?}"
    );
}

#[tokio::test]
async fn a_form_tells_the_queue_of_the_bucket() {
    let public_bucket = PublicBucket::new().await;
    let sqs = public_bucket.fixture.sqs();
    let url = crate::notifications::watch_uploads(&public_bucket.fixture, "content").await;
    assert_eq!(
        public_bucket
            .post_form(&SignedForm::new(&public_bucket))
            .await
            .0,
        204
    );
    let got = sqs
        .receive_message()
        .queue_url(&url)
        .max_number_of_messages(10)
        .send()
        .await
        .unwrap();
    let [message] = got.messages() else {
        panic!("{got:?}")
    };

    let event: Value = serde_json::from_str(message.body().unwrap()).unwrap();
    assert_eq!(event["Records"][0]["eventName"], "ObjectCreated:Post");
    assert_eq!(event["Records"][0]["s3"]["object"]["key"], "a+b/upload");
    assert_eq!(
        public_bucket
            .post_form(&SignedForm::new(&public_bucket).with_field("key", "other/upload"))
            .await
            .0,
        403
    );
    let got = sqs.receive_message().queue_url(&url).send().await.unwrap();
    assert_eq!(got.messages().len(), 0);
}

#[tokio::test]
async fn requests_of_any_shape_are_refused_quietly() {
    let public_bucket = PublicBucket::new().await;
    let get = public_bucket
        .own_signer()
        .get_object()
        .bucket("content")
        .key("a");
    let url = get
        .presigned(public_bucket.for_seconds(60))
        .await
        .unwrap()
        .uri()
        .to_owned();
    let (_, query) = url.split_once('?').unwrap();
    for host in [
        "", " ", "a b", "@", "a@b", "?", "a?b", "#", "a/b", "[::", "a:b:c", ":", "\u{e9}", "%",
    ] {
        let request = Request::get(format!("/content/a?{query}")).header("host", host.as_bytes());
        let answer = public_bucket
            .fixture
            .services
            .handle_public_request(request.body(Bytes::new()).unwrap())
            .await;
        assert_eq!(answer.status(), 403, "{host}");
    }

    let dates = [
        "",
        "today",
        "19700101T000000Z",
        "00000101T000000Z",
        "99991231T235959Z",
        "-9990101T000000Z",
    ];
    let expiries = ["", "-1", "4294967295", "99999999999999999999", "1e3"];
    let dates = dates.map(|date| format!("X-Amz-Date={date}&X-Amz-Expires=60&X-Amz-Signature=0"));
    let day = "X-Amz-Date=20270115T080000Z";
    let expiries = expiries.map(|expiry| format!("{day}&X-Amz-Expires={expiry}&X-Amz-Signature=0"));
    let queries = ["&&", "=&=", "X-Amz-Date", "%", "%FF=%FF", "X-Amz-Date=%FF"].map(str::to_owned);

    for query in dates.into_iter().chain(expiries).chain(queries) {
        for path in [
            "/",
            "//",
            "/content",
            "/content/",
            "/content//",
            "/content/%",
            "/content/%FF",
            "/content/a",
        ] {
            let request = Request::get(format!("{path}?{query}")).header("host", "localhost");
            let answer = public_bucket
                .fixture
                .services
                .handle_public_request(request.body(Bytes::new()).unwrap())
                .await;
            assert_eq!(answer.status(), 403, "{path}?{query}");
        }
    }
}
