//! Tests of content: bytes, exports, downloads.

use super::*;
use crate::Restrictions;

async fn fetch(
    rig: &DriveFixture,
    path: &str,
    range: Option<&str>,
) -> (u16, Vec<u8>, Option<String>) {
    let mut request = rig.request(Method::GET, path);
    if let Some(range) = range {
        request = request.header("range", range);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let said = response
        .headers()
        .get("content-range")
        .map(|value| value.to_str().unwrap().to_owned());
    (status, response.bytes().await.unwrap().to_vec(), said)
}

#[tokio::test]
async fn bytes_come_whole_or_in_ranges_with_their_sums() {
    let rig = DriveFixture::new().await;
    let file = rig
        .drive
        .add_file(&rig.root, "a.txt", "text/plain", "0123456789")
        .unwrap();
    let media = format!("files/{file}?alt=media");
    assert_eq!(
        fetch(&rig, &media, None).await,
        (200, b"0123456789".to_vec(), None)
    );

    let part = fetch(&rig, &media, Some("bytes=2-4")).await;
    assert_eq!(
        part,
        (206, b"234".to_vec(), Some("bytes 2-4/10".to_owned()))
    );
    assert_eq!(fetch(&rig, &media, Some("bytes=10-")).await.0, 416);

    let sums = rig
        .get_ok(&format!(
            "files/{file}?fields=md5Checksum,size,headRevisionId"
        ))
        .await;
    assert_eq!(
        (&sums["md5Checksum"], &sums["size"]),
        (&json!("781e5e245d69b566979b86e28d23f2c7"), &json!("10"))
    );

    rig.drive
        .replace_content(
            &file,
            crate::FakeContent::Bytes {
                media_type: "text/plain".to_owned(),
                bytes: "x".into(),
            },
        )
        .unwrap();
    let edited = rig
        .get_ok(&format!(
            "files/{file}?fields=md5Checksum,size,headRevisionId"
        ))
        .await;
    assert_eq!(edited["size"], "1");
    assert_ne!(edited["headRevisionId"], sums["headRevisionId"]);
}

#[tokio::test]
async fn what_cannot_be_had_says_why() {
    let rig = DriveFixture::new().await;
    let doc = rig.add_doc(&rig.root, "doc");
    let file = rig
        .drive
        .add_file(&rig.root, "a.txt", "text/plain", "x")
        .unwrap();
    let form = rig
        .drive
        .add_item(
            &rig.root,
            "form",
            crate::FakeContent::Other("application/vnd.google-apps.form".to_owned()),
        )
        .unwrap();
    let bad = rig
        .drive
        .add_file(&rig.root, "b.exe", "application/x-dosexec", "x")
        .unwrap();
    rig.drive
        .set_restrictions(
            &bad,
            Restrictions {
                abusive: true,
                ..Restrictions::default()
            },
        )
        .unwrap();
    let locked = rig.add_doc(&rig.root, "locked");
    rig.drive
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
            format!("files/{form}/export?mimeType=text/plain"),
            (403, "fileNotExportable"),
        ),
        (
            format!("files/{doc}/export?mimeType=text/csv"),
            (400, "badRequest"),
        ),
        (
            format!("files/{bad}?alt=media"),
            (403, "cannotDownloadAbusiveFile"),
        ),
        (
            format!("files/{bad}?alt=media&acknowledgeAbuse=true"),
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
        let (status, reason) = rig.get_error(&path).await;
        assert_eq!((status, reason.as_str()), expected, "{path}");
    }

    let capabilities = rig
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
    let rig = DriveFixture::new().await;
    let picture = format!(
        "# Big\n\n![p](data:image/png;base64,{})\n",
        "A".repeat(11 * 1024 * 1024)
    );
    let doc = rig.drive.add_doc(&rig.root, "Big", &picture).unwrap();
    let markdown = format!("files/{doc}/export?mimeType=text/markdown");
    assert_eq!(
        rig.get_error(&markdown).await,
        (403, "exportSizeLimitExceeded".to_owned())
    );
    assert_eq!(
        fetch(
            &rig,
            &format!("files/{doc}/export?mimeType=text/plain"),
            None
        )
        .await
        .0,
        200
    );

    let (status, begun) = rig
        .post(
            &format!("files/{doc}/download?mimeType=text/markdown"),
            &json!({}),
        )
        .await;
    assert_eq!((status, &begun["done"]), (200, &json!(false)));
    let name = begun["name"].as_str().unwrap();
    let done = rig.get_ok(&format!("operations/{name}")).await;
    assert_eq!(done["done"], true);
    let address = done["response"]["downloadUri"].as_str().unwrap();
    let response = rig
        .http
        .get(address)
        .bearer_auth(&rig.token)
        .send()
        .await
        .unwrap();
    assert_eq!(response.bytes().await.unwrap().len(), picture.len());
    let stranger = rig.http.get(address).send().await.unwrap();
    assert!(
        stranger.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
    rig.drive.advance_clock(25 * 3600);
    assert_eq!(rig.get(&format!("operations/{name}")).await.0, 404);
}
