//! S3 on a folder. The protocol (signatures, chunked uploads, forms, XML) is by the crate `s3s`; storage is ours.
//!
//! `s3s-fs`, the folder storage of the same authors, was judged and not taken: it keeps bytes, attributes and entity
//! tag of an object in three files that are replaced one after another (a killed process leaves them at odds), checks
//! the conditions of a put before it writes instead of while (two creators of one key both succeed), names temporary
//! files by a counter that starts at zero in every process (two processes on one folder overwrite each other's),
//! cannot hold the keys `a` and `a/b` at a time nor keys of more than about 170 bytes, and lists by walking the
//! whole bucket.
//!
//! Here an index in SQLite says what exists; bytes lie in files with random names that are written once and never
//! changed. An object is replaced, or created only if absent, by one transaction of the index. Files that no row
//! names (being written, or no longer needed) are on a list in the index as long as they exist, so that none is
//! forgotten when a process dies: `store` has the details, `index` the tables.

mod api;
mod check;
mod gate;
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

use self::api::Api;
use self::store::Store;
use crate::clock::Clock;
use crate::folder::Folder;
use crate::log::Log;
use crate::signing::SigningKey;
use crate::sqs::Sqs;
use crate::{ACCESS_KEY, Durability, SECRET_KEY};

/// How far the time of a signature may be from now, in seconds: a week, as long as pre-signed requests may be valid
/// on AWS. (The crate's quarter of an hour would cut pre-signed forms short, whose policies have their own end.)
const MAX_SKEW: u32 = 7 * 24 * 60 * 60;

/// One S3 in one folder.
pub(crate) struct S3 {
    /// Answers requests that are signed with the key of the services.
    service: S3Service,
    /// Answers any request: others have checked it.
    trusting: S3Service,
    store: Arc<Store>,
    /// Signs what strangers get.
    key: SigningKey,
}

impl S3 {
    /// Opens or creates the buckets in `folder`, which tell `queues` about new objects. `records` is the log of the database
    /// whose items name objects.
    pub(crate) fn open(
        folder: &Folder,
        durability: Durability,
        clock: Clock,
        queues: Arc<Sqs>,
        records: Arc<Log>,
        key: SigningKey,
    ) -> anyhow::Result<Self> {
        let store = Arc::new(Store::open(folder, durability, clock, queues, records)?);
        let trusting = S3ServiceBuilder::new(Api {
            store: Arc::clone(&store),
        })
        .build();
        let mut builder = S3ServiceBuilder::new(Api {
            store: Arc::clone(&store),
        });

        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let mut config = S3Config::default();
        config.presigned_url_max_skew_time_secs = MAX_SKEW;
        builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));

        Ok(Self {
            service: builder.build(),
            trusting,
            store,
            key,
        })
    }

    /// Answers one request; bodies are whole in memory.
    pub(crate) async fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (mut parts, body) = request.into_parts();
        // An HTTP client would add this header, which signatures cover.
        if !parts.headers.contains_key(HOST)
            && let Some(Ok(host)) = host_of(&parts).map(HeaderValue::try_from)
        {
            parts.headers.insert(HOST, host);
        }
        let answer = Self::ask(&self.service, Request::from_parts(parts, body)).await;
        self.kept(answer).await
    }

    /// The answer, once all that it tells of is on the disk.
    async fn kept(&self, answer: Response<Bytes>) -> Response<Bytes> {
        match self.store.log.answer().await {
            Ok(()) => answer,
            Err(error) => broken(&error),
        }
    }

    async fn ask(service: &S3Service, request: Request<Bytes>) -> Response<Bytes> {
        let is_head = request.method() == Method::HEAD;
        match service.call(request.map(s3s::Body::from)).await {
            // The answer to HEAD has no body, not even an error's; an HTTP server would drop it.
            Ok(response) if is_head => response.map(|_| Bytes::new()),
            Ok(response) => whole(response).await,
            Err(error) => broken(&error),
        }
    }

    /// The secret that signs what strangers get.
    pub(crate) fn signing_secret(&self) -> &str {
        self.key.secret()
    }

    /// Removes files that nothing names, and uploads that were never completed.
    pub(crate) fn collect_garbage(&self) -> anyhow::Result<()> {
        self.store.collect_garbage()
    }
}

/// Whom the client means to talk to.
fn host_of(parts: &Parts) -> Option<String> {
    let header = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    header
        .or_else(|| parts.uri.authority().map(|authority| authority.as_str()))
        .map(str::to_owned)
}

async fn whole(response: Response<s3s::Body>) -> Response<Bytes> {
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(body) => Response::from_parts(parts, body.to_bytes()),
        Err(error) => broken(&error),
    }
}

fn broken(error: &dyn std::fmt::Debug) -> Response<Bytes> {
    tracing::error!(?error, "embedded S3 failed: {error:?}");
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}
