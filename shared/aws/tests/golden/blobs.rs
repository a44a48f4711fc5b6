//! Inline blobs.

use bytes::Bytes;
use domain::ports::{BlobContent, BlobStore};
use domain::{BlobRef, Timestamp};

use crate::values::{NOW, tenant};
use crate::world::World;

/// Returns paths and bytes: none, a few that do not become smaller, and a text that does.
fn blobs() -> [(&'static str, Bytes); 3] {
    [
        ("empty", Bytes::new()),
        ("plain/ü#", Bytes::from_static(&[0, 255, 7])),
        ("text", Bytes::from("the same words again ".repeat(1000))),
    ]
}

pub(crate) async fn write(world: &World) {
    for (path, bytes) in blobs() {
        let stored = world.ctx.blobs.put(&tenant(), path, bytes).await;
        assert_eq!(stored.expect("a blob"), BlobRef::Inline(path.to_owned()));
    }
}

pub(crate) async fn check(world: &World) {
    let tenant = tenant();
    let refs = blobs().map(|(path, _)| BlobRef::Inline(path.to_owned()));
    let found = world.ctx.blobs.read(&tenant, &refs).await.expect("blobs");
    let wanted = blobs().map(|(_, bytes)| BlobContent::Intact(bytes));
    assert_eq!(found, wanted);

    let page = world.ctx.blobs.list_inventory(BlobStore::Inline, None, 100);
    let page = page.await.expect("an inventory");
    assert_eq!(page.blobs.len(), refs.len());
    let times: Vec<Option<Timestamp>> = page.blobs.iter().map(|blob| blob.stored_at).collect();
    assert_eq!(times, [Some(NOW); 3]);
}
