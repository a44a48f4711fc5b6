//! Bytes that are written once and never changed.

use crate::blob::BlobRef;
use crate::error::PortError;
use crate::ids::OrgId;
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use async_trait::async_trait;
use bytes::Bytes;

/// Bytes that are written once and never changed.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Stores bytes under a path that is never used for other bytes. Storing the same again is harmless.
    async fn put(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef>;

    /// Reads the blobs, in the order asked. Bytes that are not those that were stored are [`Stored::Damaged`], where a
    /// checksum tells; one damaged blob does not keep the others from being read.
    async fn read(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<Vec<Stored>>;

    /// Reads the blobs, in the order asked; `None` for one that is not there. Fails with [`PortError::Corrupt`] when one
    /// is damaged.
    async fn get(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<Vec<Option<Bytes>>> {
        let found = self.read(tenant, blobs).await?;
        let whole = found
            .into_iter()
            .zip(blobs)
            .map(|(stored, blob)| match stored {
                Stored::Intact(bytes) => Ok(Some(bytes)),
                Stored::Missing => Ok(None),
                Stored::Damaged => Err(PortError::Corrupt(format!("the blob {}", blob.path()))),
            });
        whole.collect()
    }

    /// Objects whose path begins with `prefix`, at most `limit`, each with its size in bytes.
    async fn objects(
        &self,
        tenant: &Tenant,
        prefix: &str,
        limit: usize,
    ) -> PortResult<Vec<(String, u64)>>;

    /// A page of at most about `limit` blobs of all organizations on a shelf, from `after` on, which an earlier page told.
    /// May miss what is stored meanwhile. For operators and for the search for blobs that nothing names.
    async fn inventory(
        &self,
        shelf: Shelf,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Inventory>;

    /// Deletes blobs; one that is already gone is fine.
    async fn delete(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<()>;

    /// Stores bytes as an object of their own, whatever their size, so that a client can fetch them by a signed address.
    async fn put_object(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef>;

    /// Stores bytes as an object unless there is one at the path; which bytes are there then. Of several who store
    /// different bytes one is first, and all get those.
    async fn put_first(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<Bytes>;

    /// A form with which a client may store one object of 1 to `max_bytes` bytes at `path`, until `until`.
    async fn upload_form(
        &self,
        tenant: &Tenant,
        path: &str,
        max_bytes: u64,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<UploadForm>;

    /// An address from which anybody can read the object for `seconds` from `now`, as a download named `name`; `None`
    /// for bytes that are not an object.
    async fn download_url(
        &self,
        tenant: &Tenant,
        blob: &BlobRef,
        name: Option<&str>,
        now: Timestamp,
        seconds: u32,
    ) -> PortResult<Option<String>>;

    /// What a notification of the object store says has arrived; `None` when the message is none. Pure.
    fn arrivals(&self, message: &str) -> Option<Vec<Arrival>>;
}

/// The places where blobs lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// Beside the records.
    Inline,
    /// In the bucket.
    Objects,
}

/// A page of [`Blobs::inventory`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The blobs.
    pub blobs: Vec<StoredBlob>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<String>,
}

/// A blob that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    /// Whose.
    pub org: OrgId,
    /// Which.
    pub blob: BlobRef,
    /// When it was stored; unknown of those beside the records from before this was kept.
    pub stored_at: Option<Timestamp>,
}

/// What is found of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// The bytes that were stored.
    Intact(Bytes),
    /// Nothing.
    Missing,
    /// Other bytes than those that were stored, or bytes that cannot be read.
    Damaged,
}

impl Stored {
    /// The bytes, if they are intact.
    pub fn bytes(self) -> Option<Bytes> {
        match self {
            Self::Intact(bytes) => Some(bytes),
            Self::Missing | Self::Damaged => None,
        }
    }
}

/// Where and with which fields a client posts a file; the part `file` comes last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadForm {
    /// The address to post to.
    pub url: String,
    /// The fields of the form, in order.
    pub fields: Vec<(String, String)>,
}

/// An object that a client has stored by an [`UploadForm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Whose.
    pub org: OrgId,
    /// Where, as [`Blobs::upload_form`] was told.
    pub path: String,
}
