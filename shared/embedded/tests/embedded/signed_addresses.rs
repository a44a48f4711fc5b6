//! Tests of downloads by signed addresses, over plain HTTP as browsers speak it.

use bytes::Bytes;
use embedded::{ACCESS_KEY_ID, SECRET_ACCESS_KEY, SIGNING_KEY_ID};
use http::{Method, Request};

use crate::stranger::{KEY, PublicBucket, status_and_code};

#[tokio::test]
async fn a_signed_address_is_a_download() {
    let public_bucket = PublicBucket::new().await;
    let put = public_bucket
        .fixture
        .s3()
        .put_object()
        .bucket("content")
        .key(KEY);
    put.body(b"0123456789".to_vec().into())
        .send()
        .await
        .unwrap();
    let get = public_bucket
        .own_signer()
        .get_object()
        .bucket("content")
        .key(KEY);
    let get = get.response_content_disposition("attachment; filename=\"my file+1.pdf\"");
    let signed = get.presigned(public_bucket.for_seconds(60)).await.unwrap();

    let answer = public_bucket.send_request(Method::GET, signed.uri()).await;
    assert_eq!(
        (answer.status().as_u16(), answer.body().as_ref()),
        (200, b"0123456789".as_slice())
    );
    assert_eq!(
        answer.headers()["content-disposition"],
        "attachment; filename=\"my file+1.pdf\""
    );
    let part = Request::get(signed.uri())
        .header("range", "bytes=2-4")
        .body(Bytes::new())
        .unwrap();
    let part = public_bucket.port.send_request(part).await;
    assert_eq!(
        (part.status().as_u16(), part.body().as_ref()),
        (206, b"234".as_slice())
    );
    assert_eq!(part.headers()["content-range"], "bytes 2-4/10");
    let conditional = Request::get(signed.uri()).header("if-none-match", &answer.headers()["etag"]);
    assert_eq!(
        public_bucket
            .port
            .send_request(conditional.body(Bytes::new()).unwrap())
            .await
            .status(),
        304
    );

    let head = public_bucket
        .own_signer()
        .head_object()
        .bucket("content")
        .key(KEY);
    let head = head.presigned(public_bucket.for_seconds(60)).await.unwrap();
    let answer = public_bucket.send_request(Method::HEAD, head.uri()).await;
    assert_eq!(
        (
            answer.status().as_u16(),
            answer.headers()["content-length"].as_bytes()
        ),
        (200, b"10".as_slice())
    );
    let missing = public_bucket
        .own_signer()
        .get_object()
        .bucket("content")
        .key("none");
    let missing = missing
        .presigned(public_bucket.for_seconds(60))
        .await
        .unwrap();
    assert_eq!(
        status_and_code(&public_bucket.send_request(Method::GET, missing.uri()).await),
        (404, "NoSuchKey".to_owned())
    );
}

#[tokio::test]
async fn an_address_that_is_not_as_it_was_signed_is_refused() {
    let public_bucket = PublicBucket::new().await;
    for key in ["a", "b"] {
        let put = public_bucket
            .fixture
            .s3()
            .put_object()
            .bucket("content")
            .key(key);
        put.body(b"text".to_vec().into()).send().await.unwrap();
    }

    let get = |signer: &aws_sdk_s3::Client| signer.get_object().bucket("content").key("a");
    let own_signed = get(&public_bucket.own_signer())
        .presigned(public_bucket.for_seconds(60))
        .await
        .unwrap()
        .uri()
        .to_owned();
    let known = public_bucket.s3_client_with_key(ACCESS_KEY_ID, SECRET_ACCESS_KEY);
    let known = get(&known)
        .presigned(public_bucket.for_seconds(60))
        .await
        .unwrap()
        .uri()
        .to_owned();
    let named = public_bucket.s3_client_with_key(SIGNING_KEY_ID, SECRET_ACCESS_KEY);
    let named = get(&named)
        .presigned(public_bucket.for_seconds(60))
        .await
        .unwrap()
        .uri()
        .to_owned();
    let (path, query) = own_signed.split_once('?').unwrap();
    assert_eq!(
        public_bucket
            .send_request(Method::GET, &own_signed)
            .await
            .status(),
        200
    );
    let addresses = [
        path.to_owned(),
        format!("{}?{query}", path.replace("/a", "/b")),
        format!("{}?{query}", path.replace("/content/a", "/content")),
        own_signed.replace("X-Amz-Expires=60", "X-Amz-Expires=600"),
        own_signed.replace("X-Amz-Signature=", "X-Amz-Signature=0"),
        own_signed.replace("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders="),
        own_signed.replace(SIGNING_KEY_ID, ACCESS_KEY_ID),
        format!("{own_signed}&response-content-type=text%2Fhtml"),
        format!("{own_signed}&X-Amz-Expires=60"),
        format!("{own_signed}&acl"),
        known,
        named,
    ];
    for address in addresses {
        assert_ne!(address, own_signed);
        assert_eq!(
            public_bucket
                .send_request(Method::GET, &address)
                .await
                .status(),
            403,
            "{address}"
        );
    }

    for method in [
        Method::HEAD,
        Method::PUT,
        Method::DELETE,
        Method::POST,
        Method::OPTIONS,
    ] {
        assert_eq!(
            public_bucket
                .send_request(method.clone(), &own_signed)
                .await
                .status(),
            403,
            "{method}"
        );
    }

    public_bucket.fixture.advance_ms(60_000);
    assert_eq!(
        public_bucket
            .send_request(Method::GET, &own_signed)
            .await
            .status(),
        200
    );
    public_bucket.fixture.advance_ms(1000);
    assert_eq!(
        status_and_code(&public_bucket.send_request(Method::GET, &own_signed).await),
        (403, "AccessDenied".to_owned())
    );
}

#[tokio::test]
async fn nothing_else_is_done_even_with_the_right_key() {
    let public_bucket = PublicBucket::new().await;
    let signer = public_bucket.own_signer();

    let put = signer
        .put_object()
        .bucket("content")
        .key("a")
        .presigned(public_bucket.for_seconds(60))
        .await
        .unwrap();
    let delete = signer
        .delete_object()
        .bucket("content")
        .key("a")
        .presigned(public_bucket.for_seconds(60))
        .await
        .unwrap();

    assert_eq!(
        public_bucket
            .send_request(Method::PUT, put.uri())
            .await
            .status(),
        403
    );
    assert_eq!(
        public_bucket
            .send_request(Method::DELETE, delete.uri())
            .await
            .status(),
        403
    );

    // This request is signed in a header and not in the address.
    let error = signer
        .get_object()
        .bucket("content")
        .key("a")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 403);

    let error = signer
        .list_objects_v2()
        .bucket("content")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 403);

    // The other services cannot be reached at all.
    let request = Request::post(format!("http://{}/", public_bucket.port.0))
        .header("x-amz-target", "DynamoDB_20120810.ListTables")
        .header("content-type", "application/x-amz-json-1.0")
        .body(Bytes::from_static(b"{}"))
        .unwrap();
    assert_eq!(public_bucket.port.send_request(request).await.status(), 403);
}
