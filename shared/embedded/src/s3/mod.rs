//! S3 on a folder. The crate `s3s` implements the protocol (signatures, chunked uploads, forms,
//! XML), and this module the storage.
//!
//! `s3s-fs`, the folder storage by the same authors, was evaluated and rejected for these reasons:
//!
//! * It keeps bytes, attributes and entity tag of an object in three files that are replaced one
//!   after another. A killed process leaves them inconsistent.
//! * It checks the conditions of a put before it writes and not while it writes. Two clients that
//!   create the same key both succeed.
//! * It names temporary files by a counter that starts at zero in every process. Two processes on
//!   one folder overwrite each other's files.
//! * It cannot hold the keys `a` and `a/b` at the same time, nor keys of more than about 170 bytes.
//! * It lists by walking the whole bucket.
//!
//! Here, an index in SQLite says what exists. Bytes are in files with random names that are written
//! once and never changed. One transaction of the index replaces an object, or creates it only if
//! it does not exist. Files that no row names are being written or no longer needed. They are in a
//! table of the index as long as they exist, so that none is forgotten when a process dies. The
//! module `store` has the details, and `index` the tables.

mod api;
mod check;
mod form_gate;
mod index;
mod list;
mod multipart;
mod notify;
mod objects;
mod public;
mod store;
mod verify;

use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use s3s::auth::SimpleAuth;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::{S3Service, S3ServiceBuilder};

use self::api::S3Api;
use self::store::ObjectStore;
pub use self::verify::ObjectFile;
use crate::clock::Clock;
use crate::folder::DataFolder;
use crate::log::CommitLog;
use crate::signing::SigningKey;
use crate::sqs::Sqs;
use crate::{ACCESS_KEY_ID, Durability, SECRET_ACCESS_KEY};

/// The most seconds between the time of a signature and now. This is a week, the longest validity
/// of a presigned request on AWS. The default of the crate, a quarter of an hour, would cut
/// presigned forms short, whose policies have their own expiry.
const MAX_SKEW_SECONDS: u32 = 7 * 24 * 60 * 60;

/// The S3 of one folder.
pub(crate) struct S3 {
    /// The service for requests that are signed with the key of the services.
    authenticated_service: S3Service,
    /// The service for requests whose signatures were checked before.
    trusted_service: S3Service,
    store: Arc<ObjectStore>,
    /// The key for presigned addresses and forms.
    signing_key: SigningKey,
}

impl S3 {
    /// Opens or creates the buckets in `folder`, which notify `queues` of new objects.
    /// `records_log` is the log of the database whose items name objects.
    pub(crate) fn open(
        folder: &DataFolder,
        durability: Durability,
        clock: Clock,
        queues: Arc<Sqs>,
        records_log: Arc<CommitLog>,
        signing_key: SigningKey,
    ) -> anyhow::Result<Self> {
        let store = Arc::new(ObjectStore::open(
            folder,
            durability,
            clock,
            queues,
            records_log,
        )?);
        let trusted_service = S3ServiceBuilder::new(S3Api {
            store: Arc::clone(&store),
        })
        .build();
        let mut builder = S3ServiceBuilder::new(S3Api {
            store: Arc::clone(&store),
        });

        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY_ID, SECRET_ACCESS_KEY));
        let mut config = S3Config::default();
        config.presigned_url_max_skew_time_secs = MAX_SKEW_SECONDS;
        builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));

        Ok(Self {
            authenticated_service: builder.build(),
            trusted_service,
            store,
            signing_key,
        })
    }

    /// Answers one request. Bodies are in memory as a whole.
    pub(crate) async fn handle_request(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (mut parts, body) = request.into_parts();
        // An HTTP client would add this header, which signatures cover.
        if !parts.headers.contains_key(HOST)
            && let Some(host) = host_of(&parts)
            && let Ok(host) = HeaderValue::try_from(host)
        {
            parts.headers.insert(HOST, host);
        }
        let response = Self::call_service(
            &self.authenticated_service,
            Request::from_parts(parts, body),
        )
        .await;
        self.sync_before_answer(response).await
    }

    /// Returns the answer once everything that it reports is on the disk.
    async fn sync_before_answer(&self, response: Response<Bytes>) -> Response<Bytes> {
        match self.store.log.sync_before_answer().await {
            Ok(()) => response,
            Err(error) => internal_error_response(&error),
        }
    }

    async fn call_service(service: &S3Service, request: Request<Bytes>) -> Response<Bytes> {
        let is_head = request.method() == Method::HEAD;
        match service.call(request.map(s3s::Body::from)).await {
            // The answer to HEAD has no body, not even that of an error. An HTTP server would drop
            // it.
            Ok(response) if is_head => response.map(|_| Bytes::new()),
            Ok(response) => collect_response(response).await,
            Err(error) => internal_error_response(&error),
        }
    }

    /// Opens an object. Returns `None` if there is no such object.
    pub(crate) fn open_object(&self, bucket: &str, key: &str) -> Option<ObjectFile> {
        let stored = self.store.require_object(bucket, key).ok()?;
        Some(ObjectFile::new(self.store.path(&stored.file)))
    }

    /// Returns the secret for presigned addresses and forms.
    pub(crate) fn signing_secret(&self) -> &str {
        self.signing_key.secret()
    }

    /// Removes files that nothing names, and uploads that were never completed.
    pub(crate) fn collect_garbage(&self) -> anyhow::Result<()> {
        self.store.collect_garbage()
    }
}

/// Returns the host that the client addresses.
fn host_of(parts: &Parts) -> Option<String> {
    if let Some(host) = parts.headers.get(HOST)
        && let Ok(host) = host.to_str()
    {
        return Some(host.to_owned());
    }
    Some(parts.uri.authority()?.as_str().to_owned())
}

async fn collect_response(response: Response<s3s::Body>) -> Response<Bytes> {
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(body) => Response::from_parts(parts, body.to_bytes()),
        Err(error) => internal_error_response(&error),
    }
}

fn internal_error_response(error: &dyn std::fmt::Debug) -> Response<Bytes> {
    tracing::error!(?error, "embedded S3 failed: {error:?}");
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}
