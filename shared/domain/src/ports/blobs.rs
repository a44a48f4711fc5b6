//! Storage of blobs: bytes that are written once and never changed.

use std::ops::Range;
use std::sync::Arc;
use std::{fmt, slice};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::error::PortError;
use crate::ids::OrgId;
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// Storage of blobs: bytes that are written once and never changed.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Stores bytes under a path that is never used for other bytes. Storing the same bytes again
    /// is harmless.
    async fn put(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef>;

    /// Stores several blobs at the same time, each as [`Blobs::put`] does. After an error, some of
    /// them may have been stored.
    async fn put_all(
        &self,
        tenant: &Tenant,
        blobs: Vec<(String, Bytes)>,
    ) -> PortResult<Vec<BlobRef>>;

    /// Reads blobs, in the order asked. A blob whose bytes differ from those that were stored is
    /// [`BlobContent::Damaged`], as far as a checksum detects it. One damaged blob does not keep
    /// the others from being read.
    async fn read(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<Vec<BlobContent>>;

    /// Reads one blob, like [`Blobs::read`].
    async fn read_one(&self, tenant: &Tenant, blob: &BlobRef) -> PortResult<BlobContent> {
        let found = self.read(tenant, slice::from_ref(blob)).await?.pop();
        Ok(found.unwrap_or(BlobContent::Missing))
    }

    /// Reads parts of blobs, in the order asked. A part that a blob does not have is
    /// [`BlobContent::Damaged`]. A checksum of the whole blob cannot detect other damage of a part, so
    /// the caller verifies what it reads.
    async fn read_parts(&self, tenant: &Tenant, parts: &[BlobPart])
    -> PortResult<Vec<BlobContent>>;

    /// Opens a blob whose parts can be read without waiting for a network. Returns `None` if the store is
    /// not local, or has no such object.
    fn open_local(&self, tenant: &Tenant, blob: &BlobRef) -> Option<Arc<dyn LocalBlob>>;

    /// Reads blobs, in the order asked, with `None` for a blob that does not exist. Fails with
    /// [`PortError::Corrupt`] when one is damaged.
    async fn get_intact(
        &self,
        tenant: &Tenant,
        blobs: &[BlobRef],
    ) -> PortResult<Vec<Option<Bytes>>> {
        let found = self.read(tenant, blobs).await?;
        let intact = found
            .into_iter()
            .zip(blobs)
            .map(|(stored, blob)| match stored {
                BlobContent::Intact(bytes) => Ok(Some(bytes)),
                BlobContent::Missing => Ok(None),
                BlobContent::Damaged => {
                    Err(PortError::Corrupt(format!("the blob {}", blob.path())))
                }
            });
        intact.collect()
    }

    /// Returns the objects whose path begins with `prefix`, at most `limit`, each with its size in
    /// bytes.
    async fn list_objects(
        &self,
        tenant: &Tenant,
        prefix: &str,
        limit: usize,
    ) -> PortResult<Vec<(String, u64)>>;

    /// Returns a page of the blobs of all organizations on a shelf, with at most about `limit`
    /// blobs. The page starts at `after`, a position that an earlier page returned. Blobs that are
    /// stored in the meantime may be missing. For operators, and for the search for orphaned blobs.
    async fn list_inventory(
        &self,
        store: BlobStore,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<InventoryPage>;

    /// Deletes blobs. Blobs that are already gone are ignored.
    async fn delete(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<()>;

    /// Stores bytes as a separate object, whatever their size, so that a client can fetch them from
    /// a signed address.
    async fn put_object(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef>;

    /// Stores bytes as an object unless the path already has one, and returns the bytes that are
    /// stored afterwards. When several callers store different bytes, the first one succeeds and
    /// all of them receive its bytes.
    async fn put_if_absent(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<Bytes>;

    /// Returns a form with which a client may store one object of 1 to `max_bytes` bytes at `path`
    /// before `until`.
    async fn sign_upload_form(
        &self,
        tenant: &Tenant,
        path: &str,
        max_bytes: u64,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<UploadForm>;

    /// Returns an address from which anyone can download the object as `name` for `seconds` seconds
    /// from `now`, or `None` for bytes that are not stored as an object.
    async fn sign_download_url(
        &self,
        tenant: &Tenant,
        blob: &BlobRef,
        name: Option<&str>,
        now: Timestamp,
        seconds: u32,
    ) -> PortResult<Option<String>>;

    /// Returns the origin of the forms and addresses that are signed, as in
    /// `https://bucket.s3.eu-central-1.amazonaws.com`.
    async fn object_origin(&self, now: Timestamp) -> PortResult<String>;

    /// Returns the arrivals that a notification of the object store reports, or `None` when the
    /// message is not such a notification. Pure.
    fn parse_arrivals(&self, message: &str) -> Option<Vec<UploadArrival>>;
}

/// A part of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobPart {
    /// The blob.
    pub blob: BlobRef,
    /// Its bytes from the first one to the one behind the last; at least one.
    pub bytes: Range<u64>,
}

/// A blob on a disk of this machine.
pub trait LocalBlob: fmt::Debug + Send + Sync {
    /// Reads a part of the blob, which the caller verifies. Returns `None` if that fails;
    /// [`Blobs::read_parts`] tells why.
    fn read_part(&self, bytes: Range<u64>) -> Option<Bytes>;
}

/// The places where blobs are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobStore {
    /// The table that also holds the records, for small blobs.
    Inline,
    /// The bucket.
    Objects,
}

/// A page of [`Blobs::list_inventory`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InventoryPage {
    /// The blobs.
    pub blobs: Vec<StoredBlob>,
    /// The position of the next page, or `None` after the last page.
    pub next: Option<String>,
}

/// A stored blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    /// The organization that the blob belongs to.
    pub org: OrgId,
    /// The reference to the blob.
    pub blob: BlobRef,
    /// The time at which it was stored. Unknown for blobs beside the records that were stored
    /// before this time was recorded.
    pub stored_at: Option<Timestamp>,
}

/// The result of reading a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobContent {
    /// The bytes that were stored.
    Intact(Bytes),
    /// There is no such blob.
    Missing,
    /// The bytes differ from those that were stored, or cannot be read.
    Damaged,
}

impl BlobContent {
    /// Returns the bytes, if they are intact.
    pub fn into_intact_bytes(self) -> Option<Bytes> {
        match self {
            Self::Intact(bytes) => Some(bytes),
            Self::Missing | Self::Damaged => None,
        }
    }
}

/// The address and the fields of the form with which a client posts a file. The client adds the
/// file as the last part, named `file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadForm {
    /// The address to post to.
    pub url: String,
    /// The fields of the form, in order.
    pub fields: Vec<(String, String)>,
}

/// An object that a client has stored with an [`UploadForm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadArrival {
    /// The organization that the object belongs to.
    pub org: OrgId,
    /// The path that was given to [`Blobs::sign_upload_form`].
    pub path: String,
}
