//! Tests of content: bytes, exports, downloads.

use super::*;
use crate::Restrictions;

async fn fetch(
    fixture: &DriveFixture,
    path: &str,
    range: Option<&str>,
) -> (u16, Vec<u8>, Option<String>) {
    let mut request = fixture.request(Method::GET, path);
    if let Some(range) = range {
        request = request.header("range", range);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let content_range = response
        .headers()
        .get("content-range")
        .map(|value| value.to_str().unwrap().to_owned());
    (
        status,
        response.bytes().await.unwrap().to_vec(),
        content_range,
    )
}

#[tokio::test]
async fn bytes_come_whole_or_in_ranges_with_their_sums() {
    let fixture = DriveFixture::new().await;
    let file = fixture
        .drive
        .add_file(&fixture.root, "a.txt", "text/plain", "0123456789")
        .unwrap();
    let media = format!("files/{file}?alt=media");
    assert_eq!(
        fetch(&fixture, &media, None).await,
        (200, b"0123456789".to_vec(), None)
    );

    let part = fetch(&fixture, &media, Some("bytes=2-4")).await;
    assert_eq!(
        part,
        (206, b"234".to_vec(), Some("bytes 2-4/10".to_owned()))
    );
    assert_eq!(fetch(&fixture, &media, Some("bytes=10-")).await.0, 416);

    let sums = fixture
        .get_ok(&format!(
            "files/{file}?fields=md5Checksum,size,headRevisionId"
        ))
        .await;
    assert_eq!(
        (&sums["md5Checksum"], &sums["size"]),
        (&json!("781e5e245d69b566979b86e28d23f2c7"), &json!("10"))
    );

    fixture
        .drive
        .replace_content(
            &file,
            crate::FakeContent::Bytes {
                media_type: "text/plain".to_owned(),
                bytes: "x".into(),
            },
        )
        .unwrap();
    let edited = fixture
        .get_ok(&format!(
            "files/{file}?fields=md5Checksum,size,headRevisionId"
        ))
        .await;
    assert_eq!(edited["size"], "1");
    assert_ne!(edited["headRevisionId"], sums["headRevisionId"]);
}

#[tokio::test]
async fn what_cannot_be_had_says_why() {
    let fixture = DriveFixture::new().await;
    let doc = fixture.add_doc(&fixture.root, "doc");
    let file = fixture
        .drive
        .add_file(&fixture.root, "a.txt", "text/plain", "x")
        .unwrap();
    let unsupported = fixture
        .drive
        .add_item(
            &fixture.root,
            "form",
            crate::FakeContent::Other("application/vnd.google-apps.form".to_owned()),
        )
        .unwrap();
    let malware = fixture
        .drive
        .add_file(&fixture.root, "b.exe", "application/x-dosexec", "x")
        .unwrap();
    fixture
        .drive
        .set_restrictions(
            &malware,
            Restrictions {
                abusive: true,
                ..Restrictions::default()
            },
        )
        .unwrap();
    let locked = fixture.add_doc(&fixture.root, "locked");
    fixture
        .drive
        .set_restrictions(
            &locked,
            Restrictions {
                no_download: true,
                no_gen_ai: true,
                ..Restrictions::default()
            },
        )
        .unwrap();
    for (path, expected) in [
        (
            format!("files/{doc}?alt=media"),
            (403, "fileNotDownloadable"),
        ),
        (
            format!("files/{file}/export?mimeType=text/plain"),
            (403, "fileNotExportable"),
        ),
        (
            format!("files/{unsupported}/export?mimeType=text/plain"),
            (403, "fileNotExportable"),
        ),
        (
            format!("files/{doc}/export?mimeType=text/csv"),
            (400, "badRequest"),
        ),
        (
            format!("files/{malware}?alt=media"),
            (403, "cannotDownloadAbusiveFile"),
        ),
        (
            format!("files/{malware}?alt=media&acknowledgeAbuse=true"),
            (200, ""),
        ),
        (
            format!("files/{locked}/export?mimeType=text/plain"),
            (403, "cannotExportFile"),
        ),
        (
            format!("files/{doc}/export?mimeType=text/markdown"),
            (200, ""),
        ),
    ] {
        let (status, reason) = fixture.get_error(&path).await;
        assert_eq!((status, reason.as_str()), expected, "{path}");
    }

    let capabilities = fixture
        .get_ok(&format!(
            "files/{locked}?fields=capabilities(canDownload,canAccessViaGenAi)"
        ))
        .await;
    assert_eq!(
        capabilities["capabilities"],
        json!({ "canDownload": false, "canAccessViaGenAi": false })
    );
}

#[tokio::test]
async fn an_export_over_the_limit_goes_by_a_lighter_form_or_a_download() {
    let fixture = DriveFixture::new().await;
    let picture = format!(
        "# Big\n\n![p](data:image/png;base64,{})\n",
        "A".repeat(11 * 1024 * 1024)
    );
    let doc = fixture
        .drive
        .add_doc(&fixture.root, "Big", &picture)
        .unwrap();
    let markdown = format!("files/{doc}/export?mimeType=text/markdown");
    assert_eq!(
        fixture.get_error(&markdown).await,
        (403, "exportSizeLimitExceeded".to_owned())
    );
    assert_eq!(
        fetch(
            &fixture,
            &format!("files/{doc}/export?mimeType=text/plain"),
            None
        )
        .await
        .0,
        200
    );

    let (status, operation) = fixture
        .post(
            &format!("files/{doc}/download?mimeType=text/markdown"),
            &json!({}),
        )
        .await;
    assert_eq!((status, &operation["done"]), (200, &json!(false)));
    let name = operation["name"].as_str().unwrap();
    let done = fixture.get_ok(&format!("operations/{name}")).await;
    assert_eq!(done["done"], true);
    let address = done["response"]["downloadUri"].as_str().unwrap();
    let response = fixture
        .http
        .get(address)
        .bearer_auth(&fixture.token)
        .send()
        .await
        .unwrap();
    assert_eq!(response.bytes().await.unwrap().len(), picture.len());
    let anonymous = fixture.http.get(address).send().await.unwrap();
    assert!(
        anonymous.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
    fixture.drive.advance_clock(25 * 3600);
    assert_eq!(fixture.get(&format!("operations/{name}")).await.0, 404);
}
