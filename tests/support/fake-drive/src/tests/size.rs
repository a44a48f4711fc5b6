//! Tests with many items.

use std::time::Instant;

use super::*;

/// The fields of an item that a connector asks for.
const F: &str = "id,name,mimeType,parents,driveId,trashed,explicitlyTrashed,version,headRevisionId,md5Checksum,\
    sha256Checksum,size,createdTime,modifiedTime,webViewLink,shortcutDetails(targetId,targetMimeType,targetResourceKey),\
    resourceKey,owners(emailAddress,displayName),ownedByMe,sharedWithMeTime,\
    capabilities(canDownload,canListChildren,canAccessViaGenAi),clientEncryptionDetails(encryptionState)";

/// Lists everything in pages of 1,000, which takes little time even in an unoptimized build, and
/// prints how long it took.
#[tokio::test]
async fn a_page_costs_what_it_shows() {
    let fixture = DriveFixture::new().await;
    let begin = Instant::now();
    let mut folder = fixture.root.clone();
    for number in 0..10_000 {
        if number % 100 == 0 {
            folder = fixture.add_folder(&fixture.root, "f");
        }
        fixture
            .drive
            .add_file(&folder, "n.txt", "text/plain", "x")
            .unwrap();
    }

    let setup_time = begin.elapsed();
    let begin = Instant::now();
    assert_eq!(fixture.list_names("pageSize=1000").await.len(), 10_100);
    let listed = begin.elapsed();
    let begin = Instant::now();
    let mut next = String::new();
    loop {
        let page = fixture
            .get_ok(&format!(
                "files?pageSize=1000&fields=nextPageToken,files({F}){next}"
            ))
            .await;
        let Some(token) = page["nextPageToken"].as_str() else {
            break;
        };
        next = format!("&pageToken={token}");
    }

    let described = begin.elapsed();
    let begin = Instant::now();
    let query = format!("pageSize=1000&q='{folder}'+in+parents");
    assert_eq!(fixture.list_names(&query).await.len(), 100);
    println!(
        "10,000 files: made in {setup_time:?}, listed in {listed:?}, with all that a connector asks in \
         {described:?}, one folder of 100 in {:?}",
        begin.elapsed()
    );
    assert!(
        begin.elapsed() * 10 < listed,
        "a folder costs as much as everything"
    );
}
