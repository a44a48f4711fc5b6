//! Tests of S3: conditions, ranges, listings, multipart uploads, metadata, concurrent writers.

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart, Delete, ObjectIdentifier};

use crate::support::Fixture;

async fn create_bucket(fixture: &Fixture) -> Client {
    let client = fixture.s3();
    client
        .create_bucket()
        .bucket("documents")
        .send()
        .await
        .unwrap();
    client
}

async fn put_object(client: &Client, key: &str, body: &[u8]) -> String {
    let put = client
        .put_object()
        .bucket("documents")
        .key(key)
        .body(ByteStream::from(body.to_vec()));
    put.send().await.unwrap().e_tag.unwrap()
}

async fn get_object(client: &Client, key: &str) -> Vec<u8> {
    let object = client
        .get_object()
        .bucket("documents")
        .key(key)
        .send()
        .await
        .unwrap();
    object.body.collect().await.unwrap().to_vec()
}

#[tokio::test]
async fn an_object_comes_back_with_its_metadata() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let put = client
        .put_object()
        .bucket("documents")
        .key("a")
        .body(ByteStream::from_static(b"text"));
    let put = put
        .content_type("text/markdown")
        .metadata("origin", "upload")
        .cache_control("private");
    put.send().await.unwrap();

    let object = client
        .get_object()
        .bucket("documents")
        .key("a")
        .send()
        .await
        .unwrap();
    assert_eq!(object.content_type(), Some("text/markdown"));
    assert_eq!(object.cache_control(), Some("private"));
    assert_eq!(object.metadata().unwrap()["origin"], "upload");
    assert_eq!(object.body.collect().await.unwrap().to_vec(), b"text");
    let head = client
        .head_object()
        .bucket("documents")
        .key("a")
        .send()
        .await
        .unwrap();
    assert_eq!(
        (
            head.content_length(),
            head.metadata().unwrap()["origin"].as_str()
        ),
        (Some(4), "upload")
    );
}

#[tokio::test]
async fn missing_things_are_typed_errors() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;

    let error = client
        .get_object()
        .bucket("documents")
        .key("nothing")
        .send()
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_no_such_key());

    let error = client
        .head_object()
        .bucket("documents")
        .key("nothing")
        .send()
        .await
        .unwrap_err();
    assert!(error.into_service_error().is_not_found());

    let error = client
        .put_object()
        .bucket("elsewhere")
        .key("a")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.into_service_error().code(), Some("NoSuchBucket"));

    client
        .delete_object()
        .bucket("documents")
        .key("nothing")
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn if_none_match_creates_only_once() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let create = || {
        client
            .put_object()
            .bucket("documents")
            .key("a")
            .if_none_match("*")
    };

    create()
        .body(ByteStream::from_static(b"first"))
        .send()
        .await
        .unwrap();
    let error = create()
        .body(ByteStream::from_static(b"second"))
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 412);
    assert_eq!(
        error.into_service_error().code(),
        Some("PreconditionFailed")
    );
    assert_eq!(get_object(&client, "a").await, b"first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_creators_of_one_key_exactly_one_wins() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let creators: Vec<_> = (0..16)
        .map(|index| {
            let create = client
                .put_object()
                .bucket("documents")
                .key("a")
                .if_none_match("*");
            tokio::spawn(create.body(ByteStream::from(vec![index; 1000])).send())
        })
        .collect();
    let mut created_count = 0;
    for creator in creators {
        created_count += usize::from(creator.await.unwrap().is_ok());
    }

    assert_eq!(created_count, 1);
    let files = std::fs::read_dir(fixture.folder.path().join("s3/blobs")).unwrap();
    let files: usize = files
        .map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(files, 1, "the losers' bytes must be gone");
}

#[tokio::test]
async fn if_match_replaces_only_the_known_version() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let first = put_object(&client, "a", b"first").await;
    let replace = |etag: &str| {
        client
            .put_object()
            .bucket("documents")
            .key("a")
            .if_match(etag)
    };

    replace(&first)
        .body(ByteStream::from_static(b"second"))
        .send()
        .await
        .unwrap();
    let stale = replace(&first)
        .body(ByteStream::from_static(b"third"))
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        stale.into_service_error().code(),
        Some("PreconditionFailed")
    );
    assert_eq!(get_object(&client, "a").await, b"second");
    let unchanged = client
        .get_object()
        .bucket("documents")
        .key("a")
        .if_none_match(put_object(&client, "a", b"x").await);
    assert_eq!(
        unchanged
            .send()
            .await
            .unwrap_err()
            .raw_response()
            .unwrap()
            .status()
            .as_u16(),
        304
    );
}

#[tokio::test]
async fn the_file_of_an_object_is_read_without_requests() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    put_object(&client, "a", b"0123456789").await;
    let open = |key: &str| fixture.services.open_object("documents", key);

    let file = open("a").unwrap();
    assert_eq!(file.read(2..5).unwrap(), b"234");
    assert!(file.read(8..11).is_err());
    assert!(open("b").is_none());
    put_object(&client, "a", b"ab").await;
    assert_eq!(open("a").unwrap().read(0..2).unwrap(), b"ab");
}

#[tokio::test]
async fn ranges_are_answered_with_their_place() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    put_object(&client, "a", b"0123456789").await;
    for (range, expected, content_range) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=8-100", "89", "bytes 8-9/10"),
    ] {
        let part = client
            .get_object()
            .bucket("documents")
            .key("a")
            .range(range)
            .send()
            .await
            .unwrap();
        assert_eq!(part.content_range(), Some(content_range), "{range}");
        assert_eq!(
            part.body.collect().await.unwrap().to_vec(),
            expected.as_bytes(),
            "{range}"
        );
    }

    let error = client
        .get_object()
        .bucket("documents")
        .key("a")
        .range("bytes=10-")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 416);
}

#[tokio::test]
async fn keys_may_be_long_nested_in_each_other_and_in_any_script() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let long_key = "k".repeat(1024);
    for key in ["a", "a/b", "a/", "日本/文書 1", long_key.as_str()] {
        put_object(&client, key, key.as_bytes()).await;
    }
    for key in ["a", "a/b", "a/", "日本/文書 1", long_key.as_str()] {
        assert_eq!(get_object(&client, key).await, key.as_bytes());
    }
}

#[tokio::test]
async fn listings_are_paged_and_folded_at_the_delimiter() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    for key in ["x/a/1", "x/a/2", "x/b", "x/c/1", "x/d", "y"] {
        put_object(&client, key, b"1").await;
    }

    let mut page_keys = Vec::new();
    let list = client
        .list_objects_v2()
        .bucket("documents")
        .prefix("x/")
        .delimiter("/")
        .max_keys(1);
    let mut pages = list.into_paginator().send();
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        page_keys.extend(
            page.contents()
                .iter()
                .filter_map(|object| object.key().map(str::to_owned)),
        );
        page_keys.extend(
            page.common_prefixes()
                .iter()
                .filter_map(|prefix| prefix.prefix().map(str::to_owned)),
        );
    }

    assert_eq!(page_keys, ["x/a/", "x/b", "x/c/", "x/d"]);
    let listing = client
        .list_objects_v2()
        .bucket("documents")
        .start_after("x/b")
        .send()
        .await
        .unwrap();
    let keys: Vec<_> = listing
        .contents()
        .iter()
        .filter_map(|object| object.key())
        .collect();
    assert_eq!(keys, ["x/c/1", "x/d", "y"]);
}

#[tokio::test]
async fn deleting_many_removes_objects_and_their_files() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    for key in ["a", "b", "c"] {
        put_object(&client, key, b"1").await;
    }

    let id = |key: &str| ObjectIdentifier::builder().key(key).build().unwrap();
    let delete = Delete::builder()
        .objects(id("a"))
        .objects(id("b"))
        .objects(id("nothing"))
        .build()
        .unwrap();
    let deleted = client
        .delete_objects()
        .bucket("documents")
        .delete(delete)
        .send()
        .await
        .unwrap();
    assert_eq!((deleted.deleted().len(), deleted.errors().len()), (3, 0));
    let remaining = client
        .list_objects_v2()
        .bucket("documents")
        .send()
        .await
        .unwrap();
    assert_eq!(remaining.contents()[0].key(), Some("c"));
    let error = client
        .delete_bucket()
        .bucket("documents")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.into_service_error().code(), Some("BucketNotEmpty"));
}

#[tokio::test]
async fn a_copy_keeps_metadata_and_may_replace_its_source() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let original = client
        .put_object()
        .bucket("documents")
        .key("a")
        .metadata("origin", "upload");
    original
        .body(ByteStream::from_static(b"text"))
        .send()
        .await
        .unwrap();

    for target in ["b", "a"] {
        let copy = client
            .copy_object()
            .bucket("documents")
            .key(target)
            .copy_source("documents/a");
        copy.send().await.unwrap();
        let head = client
            .head_object()
            .bucket("documents")
            .key(target)
            .send()
            .await
            .unwrap();
        assert_eq!(head.metadata().unwrap()["origin"], "upload");
        assert_eq!(get_object(&client, target).await, b"text");
    }
}

#[tokio::test]
async fn parts_become_one_object() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let created = client
        .create_multipart_upload()
        .bucket("documents")
        .key("big")
        .metadata("origin", "parts");
    let id = created.send().await.unwrap().upload_id.unwrap();
    let mut parts = Vec::new();
    for (number, body) in [(1, vec![1; 5 << 20]), (2, vec![2; 10])] {
        let part = client
            .upload_part()
            .bucket("documents")
            .key("big")
            .upload_id(&id)
            .part_number(number);
        let etag = part
            .body(ByteStream::from(body))
            .send()
            .await
            .unwrap()
            .e_tag
            .unwrap();
        parts.push(
            CompletedPart::builder()
                .part_number(number)
                .e_tag(etag)
                .build(),
        );
    }

    let listed = client
        .list_parts()
        .bucket("documents")
        .key("big")
        .upload_id(&id)
        .send()
        .await
        .unwrap();
    assert_eq!(listed.parts().len(), 2);

    let complete = || {
        let parts = CompletedMultipartUpload::builder()
            .set_parts(Some(parts.clone()))
            .build();
        let complete = client
            .complete_multipart_upload()
            .bucket("documents")
            .key("big")
            .upload_id(&id);
        complete.multipart_upload(parts).send()
    };

    let etag = complete().await.unwrap().e_tag.unwrap();
    assert!(etag.ends_with("-2\""), "{etag}");
    assert_eq!(
        complete().await.unwrap().e_tag.unwrap(),
        etag,
        "a repeat answers the same"
    );

    let body = get_object(&client, "big").await;
    assert_eq!(
        (body.len(), body[0], body[body.len() - 1]),
        ((5 << 20) + 10, 1, 2)
    );
    let head = client
        .head_object()
        .bucket("documents")
        .key("big")
        .send()
        .await
        .unwrap();
    assert_eq!(head.metadata().unwrap()["origin"], "parts");
}

#[tokio::test]
async fn an_aborted_upload_leaves_nothing() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;

    let id = client
        .create_multipart_upload()
        .bucket("documents")
        .key("big")
        .send()
        .await
        .unwrap()
        .upload_id
        .unwrap();

    let part = client
        .upload_part()
        .bucket("documents")
        .key("big")
        .upload_id(&id)
        .part_number(1);
    part.body(ByteStream::from_static(b"1"))
        .send()
        .await
        .unwrap();

    client
        .abort_multipart_upload()
        .bucket("documents")
        .key("big")
        .upload_id(&id)
        .send()
        .await
        .unwrap();

    let error = client
        .list_parts()
        .bucket("documents")
        .key("big")
        .upload_id(&id)
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.into_service_error().code(), Some("NoSuchUpload"));

    let listing = client
        .list_objects_v2()
        .bucket("documents")
        .send()
        .await
        .unwrap();
    assert!(listing.contents().is_empty());
}

#[tokio::test]
async fn a_wrong_digest_is_refused() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    let put = client
        .put_object()
        .bucket("documents")
        .key("a")
        .content_md5("1B2M2Y8AsgTpgAmY7PhCfg==");
    let error = put
        .body(ByteStream::from_static(b"not empty"))
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.into_service_error().code(), Some("BadDigest"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_writers_sees_whole_versions_only() {
    let fixture = Fixture::new();
    let client = create_bucket(&fixture).await;
    put_object(&client, "a", &[0; 10_000]).await;
    let writer = {
        let client = client.clone();
        tokio::spawn(async move {
            for version in 1..50 {
                put_object(&client, "a", &[version; 10_000]).await;
            }
        })
    };

    while !writer.is_finished() {
        // The SDK also verifies the checksum that belongs to the version.
        let body = get_object(&client, "a").await;
        assert!(body.len() == 10_000 && body.iter().all(|byte| *byte == body[0]));
    }

    writer.await.unwrap();
}
