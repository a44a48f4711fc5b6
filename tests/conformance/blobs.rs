//! [`domain::ports::Blobs`].

use bytes::Bytes;
use domain::BlobRef;

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    bytes_come_back_in_the_order_asked,
    an_organization_reads_its_own_only,
    deleting_is_final_and_repeatable
);

/// Sizes around the border between a record and an object.
const SIZES: [usize; 8] = [0, 1, 100, 8191, 8192, 8193, 100_000, 3_000_000];

/// Bytes that do not compress away.
fn noise(size: usize) -> Bytes {
    let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ size as u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..size).map(|_| next()).collect()
}

async fn put(setting: &Setting, path: &str, bytes: &Bytes) -> BlobRef {
    let put = async || setting.ctx().blobs.put(&setting.alpha, path, bytes.clone()).await;
    again(put).await.expect("a stored blob")
}

async fn get(setting: &Setting, tenant: &domain::Tenant, blobs: &[BlobRef]) -> Vec<Option<Bytes>> {
    again(async || setting.ctx().blobs.get(tenant, blobs).await).await.expect("blobs")
}

async fn bytes_come_back_in_the_order_asked(setting: &Setting) {
    let mut blobs = Vec::new();
    let mut wanted = Vec::new();
    for size in SIZES {
        for (kind, bytes) in [("noise", noise(size)), ("zeros", Bytes::from(vec![0; size]))] {
            let path = format!("c/{kind}/{size}");
            let blob = put(setting, &path, &bytes).await;
            assert_eq!(put(setting, &path, &bytes).await, blob, "storing the same again is harmless");
            blobs.push(blob);
            wanted.push(Some(bytes));
        }
    }
    for missing in [BlobRef::Inline("c/none".into()), BlobRef::Object("c/none".into())] {
        blobs.insert(3, missing);
        wanted.insert(3, None);
    }
    assert!(get(setting, &setting.alpha, &blobs).await == wanted);
    blobs.reverse();
    wanted.reverse();
    assert!(get(setting, &setting.alpha, &blobs).await == wanted);
    assert!(get(setting, &setting.alpha, &[]).await.is_empty());
}

async fn an_organization_reads_its_own_only(setting: &Setting) {
    for size in [10, 100_000] {
        let path = format!("c/{size}");
        let blob = put(setting, &path, &noise(size)).await;
        let blobs = std::slice::from_ref(&blob);
        assert_eq!(get(setting, &setting.beta, blobs).await, [None]);
        again(async || setting.ctx().blobs.delete(&setting.beta, blobs).await)
            .await
            .expect("nothing to delete");
        assert_eq!(get(setting, &setting.alpha, blobs).await, [Some(noise(size))]);
    }
}

async fn deleting_is_final_and_repeatable(setting: &Setting) {
    let mut blobs = Vec::new();
    for size in [10, 100_000] {
        blobs.push(put(setting, &format!("c/{size}"), &noise(size)).await);
    }
    let kept = put(setting, "c/kept", &noise(20)).await;
    for _ in 0..2 {
        again(async || setting.ctx().blobs.delete(&setting.alpha, &blobs).await).await.expect("a deletion");
        assert_eq!(get(setting, &setting.alpha, &blobs).await, [None, None]);
    }
    assert!(get(setting, &setting.alpha, &[kept]).await[0].is_some());
}
