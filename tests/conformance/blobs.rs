//! Conformance tests of [`domain::ports::Blobs`].

use bytes::Bytes;
use domain::ports::{BlobContent, BlobPart};
use domain::{BlobRef, Tenant};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    bytes_come_back_in_the_order_asked,
    several_are_stored_at_the_same_time,
    parts_come_back_in_the_order_asked,
    an_organization_reads_its_own_only,
    deleting_is_final_and_repeatable,
    objects_are_listed_by_their_prefix,
    many_are_deleted_at_once,
    what_is_stored_first_stays,
);

/// Sizes around the limit between a DynamoDB item and an S3 object.
const SIZES: [usize; 8] = [0, 1, 100, 8191, 8192, 8193, 100_000, 3_000_000];

/// Returns bytes that cannot be compressed.
fn random_bytes(size: usize) -> Bytes {
    let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ size as u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..size).map(|_| next()).collect()
}

async fn what_is_stored_first_stays(setting: &PortFixture) {
    let put = async |bytes: &'static [u8]| {
        let bytes = Bytes::from_static(bytes);
        let stored = async || {
            setting
                .ctx()
                .blobs
                .put_if_absent(&setting.alpha, "first", bytes.clone())
                .await
        };
        retry_unavailable(stored).await.expect("what is there")
    };
    let all = join_all([&b"one"[..], b"two", b"three"].map(put)).await;
    assert!(all.iter().all(|bytes| *bytes == all[0]), "{all:?}");
    assert_eq!(put(b"four").await, all[0]);
    assert_eq!(
        get(setting, &setting.alpha, &[BlobRef::Object("first".into())]).await,
        [Some(all[0].clone())]
    );
}

async fn put(setting: &PortFixture, path: &str, bytes: &Bytes) -> BlobRef {
    let put = async || {
        setting
            .ctx()
            .blobs
            .put(&setting.alpha, path, bytes.clone())
            .await
    };
    retry_unavailable(put).await.expect("a stored blob")
}

async fn get(
    setting: &PortFixture,
    tenant: &domain::Tenant,
    blobs: &[BlobRef],
) -> Vec<Option<Bytes>> {
    retry_unavailable(async || setting.ctx().blobs.get_intact(tenant, blobs).await)
        .await
        .expect("blobs")
}

async fn several_are_stored_at_the_same_time(setting: &PortFixture) {
    // One batch of DynamoDB takes 25 of the small ones.
    let sizes: Vec<usize> = SIZES.into_iter().chain(200..230).collect();
    let named: Vec<(String, Bytes)> = sizes
        .iter()
        .map(|size| (format!("c/several/{size}"), random_bytes(*size)))
        .collect();
    for count in [0, 1, 2, named.len()] {
        let named = &named[..count];
        let put = async || {
            let blobs = &setting.ctx().blobs;
            blobs.put_all(&setting.alpha, named.to_vec()).await
        };
        let stored = retry_unavailable(put).await.expect("stored blobs");
        let paths: Vec<&str> = stored.iter().map(BlobRef::path).collect();
        let wanted: Vec<&str> = named.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, wanted);

        let found = get(setting, &setting.alpha, &stored).await;
        let wanted: Vec<_> = named.iter().map(|(_, bytes)| Some(bytes.clone())).collect();
        assert!(found == wanted, "{count}");
    }
}

async fn bytes_come_back_in_the_order_asked(setting: &PortFixture) {
    let mut blobs = Vec::new();
    let mut wanted = Vec::new();
    for size in SIZES {
        for (kind, bytes) in [
            ("noise", random_bytes(size)),
            ("zeros", Bytes::from(vec![0; size])),
        ] {
            let path = format!("c/{kind}/{size}");
            let blob = put(setting, &path, &bytes).await;
            assert_eq!(
                put(setting, &path, &bytes).await,
                blob,
                "storing the same again is harmless"
            );
            blobs.push(blob);
            wanted.push(Some(bytes));
        }
    }

    for missing in [
        BlobRef::Inline("c/none".into()),
        BlobRef::Object("c/none".into()),
    ] {
        blobs.insert(3, missing);
        wanted.insert(3, None);
    }

    assert!(get(setting, &setting.alpha, &blobs).await == wanted);
    blobs.reverse();
    wanted.reverse();
    assert!(get(setting, &setting.alpha, &blobs).await == wanted);
    assert!(get(setting, &setting.alpha, &[]).await.is_empty());
}

async fn parts_come_back_in_the_order_asked(setting: &PortFixture) {
    let (mut parts, mut wanted) = (Vec::new(), Vec::new());
    for size in [100, 8193, 100_000] {
        let bytes = random_bytes(size);
        let blob = put(setting, &format!("c/parts/{size}"), &bytes).await;
        for range in [0..1, size - 1..size, 40..70, 0..size] {
            parts.push(BlobPart {
                blob: blob.clone(),
                bytes: range.start as u64..range.end as u64,
            });
            wanted.push(BlobContent::Intact(bytes.slice(range)));
        }
        for range in [size - 10..size + 1, size..size + 1, size + 7..size + 9] {
            parts.push(BlobPart {
                blob: blob.clone(),
                bytes: range.start as u64..range.end as u64,
            });
            wanted.push(BlobContent::Damaged);
        }
    }
    for blob in [
        BlobRef::Inline("c/none".into()),
        BlobRef::Object("c/none".into()),
    ] {
        parts.push(BlobPart { blob, bytes: 0..9 });
        wanted.push(BlobContent::Missing);
    }

    let blobs = &setting.ctx().blobs;
    let read = async |tenant: &Tenant| {
        retry_unavailable(async || blobs.read_parts(tenant, &parts).await)
            .await
            .expect("parts")
    };
    assert!(read(&setting.alpha).await == wanted);
    let foreign = read(&setting.beta).await;
    assert!(
        foreign
            .iter()
            .all(|content| *content == BlobContent::Missing)
    );
}

async fn an_organization_reads_its_own_only(setting: &PortFixture) {
    for size in [10, 100_000] {
        let path = format!("c/{size}");
        let blob = put(setting, &path, &random_bytes(size)).await;
        let blobs = std::slice::from_ref(&blob);
        assert_eq!(get(setting, &setting.beta, blobs).await, [None]);
        retry_unavailable(async || setting.ctx().blobs.delete(&setting.beta, blobs).await)
            .await
            .expect("nothing to delete");
        assert_eq!(
            get(setting, &setting.alpha, blobs).await,
            [Some(random_bytes(size))]
        );
    }
}

async fn deleting_is_final_and_repeatable(setting: &PortFixture) {
    let mut blobs = Vec::new();
    for size in [10, 100_000] {
        blobs.push(put(setting, &format!("c/{size}"), &random_bytes(size)).await);
    }
    let kept = put(setting, "c/kept", &random_bytes(20)).await;
    for _ in 0..2 {
        retry_unavailable(async || setting.ctx().blobs.delete(&setting.alpha, &blobs).await)
            .await
            .expect("a deletion");
        assert_eq!(get(setting, &setting.alpha, &blobs).await, [None, None]);
    }
    assert!(get(setting, &setting.alpha, &[kept]).await[0].is_some());
}

async fn list_objects(
    setting: &PortFixture,
    tenant: &Tenant,
    prefix: &str,
    limit: usize,
) -> Vec<(String, u64)> {
    retry_unavailable(async || {
        setting
            .ctx()
            .blobs
            .list_objects(tenant, prefix, limit)
            .await
    })
    .await
    .expect("a list")
}

async fn put_objects(setting: &PortFixture, paths: &[String]) -> Vec<BlobRef> {
    let blobs = &setting.ctx().blobs;
    let put = async |path: &String| {
        let bytes = Bytes::from(path.clone());
        retry_unavailable(async || blobs.put_object(&setting.alpha, path, bytes.clone()).await)
            .await
            .expect("an object")
    };
    join_all(paths.iter().map(put)).await
}

async fn objects_are_listed_by_their_prefix(setting: &PortFixture) {
    let paths = ["c/1", "c/2/a", "c/2/b", "c-2/x", "c2/x", "d/c/1"].map(str::to_owned);
    put_objects(setting, &paths).await;
    put(setting, "c/inline", &random_bytes(20)).await;
    let sized = |path: &str| (path.to_owned(), path.len() as u64);
    let wanted = ["c/1", "c/2/a", "c/2/b"].map(sized);
    for limit in [1, 2, 3, 100, 5000] {
        assert_eq!(
            list_objects(setting, &setting.alpha, "c/", limit).await,
            wanted[..limit.min(3)]
        );
    }

    assert_eq!(
        list_objects(setting, &setting.alpha, "c/2/b", 10).await,
        [sized("c/2/b")]
    );
    assert!(
        list_objects(setting, &setting.alpha, "x/", 10)
            .await
            .is_empty()
    );
    assert!(
        list_objects(setting, &setting.beta, "c/", 10)
            .await
            .is_empty()
    );
}

async fn many_are_deleted_at_once(setting: &PortFixture) {
    // Without faults, this is more than one call can take.
    let many = if setting.is_calm() { 1003 } else { 30 };
    let paths: Vec<String> = (0..many).map(|i| format!("c/{i:04}")).collect();
    let mut blobs = put_objects(setting, &paths).await;
    assert_eq!(
        list_objects(setting, &setting.alpha, "c/", 2000)
            .await
            .len(),
        many
    );
    assert_eq!(
        list_objects(setting, &setting.alpha, "c/", 1001)
            .await
            .len(),
        many.min(1001),
        "not a whole page"
    );
    for i in 0..30 {
        blobs.push(put(setting, &format!("c/{i}/inline"), &random_bytes(20)).await);
    }

    blobs.extend([
        blobs[0].clone(),
        blobs[many].clone(),
        BlobRef::Inline("c/0000".into()),
    ]);
    let kept = [
        put(setting, "d/1", &random_bytes(20)).await,
        put(setting, "d/2", &random_bytes(9000)).await,
    ];
    for tenant in [&setting.beta, &setting.alpha, &setting.alpha] {
        retry_unavailable(async || setting.ctx().blobs.delete(tenant, &blobs).await)
            .await
            .expect("a deletion");
        let left = list_objects(setting, &setting.alpha, "c/", 2000)
            .await
            .len();
        assert_eq!(
            left,
            if *tenant.org() == *setting.beta.org() {
                many
            } else {
                0
            }
        );
    }

    assert!(
        get(setting, &setting.alpha, &blobs[many..])
            .await
            .iter()
            .all(Option::is_none)
    );
    assert!(
        get(setting, &setting.alpha, &kept)
            .await
            .iter()
            .all(Option::is_some)
    );
}
