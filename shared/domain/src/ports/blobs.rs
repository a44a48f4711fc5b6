//! Bytes that are written once and never changed.

use crate::blob::BlobRef;
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

    /// Reads the blobs, in the order asked; `None` for one that is not there.
    async fn get(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<Vec<Option<Bytes>>>;

    /// Objects whose path begins with `prefix`, at most `limit`, each with its size in bytes.
    async fn objects(&self, tenant: &Tenant, prefix: &str, limit: usize) -> PortResult<Vec<(String, u64)>>;

    /// Deletes blobs; one that is already gone is fine.
    async fn delete(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<()>;

    /// Stores bytes as an object of their own, whatever their size, so that a client can fetch them by a signed address.
    async fn put_object(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef>;

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
