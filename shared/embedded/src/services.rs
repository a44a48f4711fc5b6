//! The four services of one folder behind one interface.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Body;

use crate::clock::{self, Clock};
use crate::dynamodb::{self, DynamoDb};
use crate::erase;
use crate::folder::{self, DataFolder};
use crate::kms::{self, Kms};
use crate::s3::{ObjectFile, S3};
use crate::signing::SigningKey;
use crate::sqs::{self, Sqs};
use crate::{Durability, wire};

/// DynamoDB, S3, SQS and KMS in one folder. A clone is another handle to the same services.
#[derive(Clone)]
pub struct EmbeddedServices {
    inner: Arc<Inner>,
}

struct Inner {
    dynamodb: DynamoDb,
    s3: S3,
    sqs: Arc<Sqs>,
    kms: Kms,
    folder: DataFolder,
}

impl EmbeddedServices {
    /// Opens the services of `folder`, which is created if it does not exist. Everything answered
    /// survives a power cut.
    ///
    /// # Errors
    /// Fails if the folder or one of its files cannot be created, read or written, or if a file is
    /// missing beside other data.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        Self::open_with(folder, Durability::Full, clock::system_clock())
    }

    /// Opens the services like [`EmbeddedServices::open`], but SQS and S3 use `clock`. The time to
    /// live of DynamoDB uses the system clock.
    ///
    /// # Errors
    /// Fails as [`EmbeddedServices::open`] does.
    pub fn open_with_clock(folder: &Path, clock: Clock) -> anyhow::Result<Self> {
        Self::open_with(folder, Durability::Full, clock)
    }

    /// Opens the services like [`EmbeddedServices::open`], with the given `durability`.
    ///
    /// # Errors
    /// Fails as [`EmbeddedServices::open`] does.
    pub fn open_durable(folder: &Path, durability: Durability) -> anyhow::Result<Self> {
        Self::open_with(folder, durability, clock::system_clock())
    }

    /// Opens the services like [`EmbeddedServices::open_with_clock`] and
    /// [`EmbeddedServices::open_durable`] combined.
    ///
    /// # Errors
    /// Fails as [`EmbeddedServices::open`] does.
    pub fn open_with(folder: &Path, durability: Durability, clock: Clock) -> anyhow::Result<Self> {
        let folder = DataFolder::open(folder, durability)?;
        let locked = folder.lock().context("cannot lock the folder")?;
        locked.prepare_files()?;

        let sqs = Arc::new(Sqs::open(
            &folder.file_path(folder::SQS),
            durability,
            clock.clone(),
        )?);
        let signing_key = SigningKey::open(&locked)?;
        let dynamodb = DynamoDb::open(folder.clone(), durability)?;
        let s3 = S3::open(
            &folder,
            durability,
            clock,
            Arc::clone(&sqs),
            Arc::clone(&dynamodb.log),
            signing_key,
        )?;

        locked.complete_creation()?;
        drop(locked);

        let inner = Inner {
            dynamodb,
            s3,
            sqs,
            kms: Kms::new(folder.clone()),
            folder,
        };

        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Answers one request of an AWS client.
    ///
    /// The header `x-amz-target` identifies DynamoDB, SQS and KMS. A request without it is for S3.
    /// Only S3 checks signatures, because they make a presigned URL safe to hand out.
    pub async fn handle_request(&self, request: Request<Bytes>) -> Response<Bytes> {
        let Some(target) = request.headers().get("x-amz-target") else {
            return self.inner.s3.handle_request(request).await;
        };

        let target = String::from_utf8_lossy(target.as_bytes()).into_owned();
        if let Some(operation) = dynamodb::TARGET_PREFIXES
            .iter()
            .find_map(|prefix| target.strip_prefix(prefix))
        {
            return self
                .inner
                .dynamodb
                .handle_request(operation, request.body())
                .await;
        }
        if let Some(operation) = target.strip_prefix(sqs::TARGET_PREFIX) {
            return self.inner.sqs.handle_request(operation, &request).await;
        }
        if let Some(operation) = target.strip_prefix(kms::TARGET_PREFIX) {
            return self.inner.kms.handle_request(operation, request.body());
        }

        wire::json_response(
            StatusCode::BAD_REQUEST,
            r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#,
        )
    }

    /// Answers one request from outside: GET and HEAD of one object by a presigned address, and
    /// POST of one object with a presigned form. Both are signed with [`crate::SIGNING_KEY_ID`] and
    /// [`EmbeddedServices::signing_secret`].
    ///
    /// Everything else is refused, so this may listen where anybody can connect. Signing times and
    /// expiries follow the clock of the services.
    pub async fn handle_public_request(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.handle_public_body(request.map(Full::new)).await
    }

    /// Answers a request like [`EmbeddedServices::handle_public_request`], but reads the body only
    /// as far as needed. The body of a request that is no form is not read at all. The body of a
    /// form is read up to its file until signature, expiry, size and key have been checked.
    pub async fn handle_public_body<B>(&self, request: Request<B>) -> Response<Bytes>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.inner.s3.call_public(request).await
    }

    /// Opens an object, so that parts of it can be read without a request. Returns `None` if there is no
    /// such object.
    pub fn open_object(&self, bucket: &str, key: &str) -> Option<ObjectFile> {
        self.inner.s3.open_object(bucket, key)
    }

    /// Returns the secret of [`crate::SIGNING_KEY_ID`]. It is random, created with the folder and
    /// kept in it.
    pub fn signing_secret(&self) -> &str {
        self.inner.s3.signing_secret()
    }

    /// Releases the groups of FIFO queues that have messages in flight, as if their visibility
    /// time-outs were over.
    ///
    /// This is for a process that starts after another died in the middle of a batch. If that
    /// process is alive after all, it finds its receipts expired and the messages come twice, as
    /// they always may.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn release_groups(&self) -> anyhow::Result<()> {
        self.inner.sqs.release_groups()
    }

    /// Erases deleted data from the files: writes the write-ahead logs back and empties them, and
    /// deletes files that nothing names. Returns `false` if a log could not be emptied because
    /// others read it; the next call may succeed.
    ///
    /// The call is synchronous and meant to run every few minutes.
    ///
    /// # Errors
    /// Fails if one of the files cannot be read or written.
    pub fn erase_deleted(&self) -> anyhow::Result<bool> {
        self.inner.s3.collect_garbage()?;
        erase::truncate_logs(self.inner.folder.path())
    }

    /// Does what AWS does in the background: deletes the DynamoDB items whose time to live is over,
    /// the SQS messages past their retention and the bytes of objects that nothing names. Returns
    /// the number of deleted items.
    ///
    /// The call is synchronous and meant to run about every minute.
    ///
    /// # Errors
    /// Fails if one of the files cannot be read or written.
    pub fn sweep_expired(&self) -> anyhow::Result<usize> {
        self.inner.sqs.sweep_expired()?;
        self.inner.s3.collect_garbage()?;
        self.inner.dynamodb.sweep_expired()
    }
}

impl std::fmt::Debug for EmbeddedServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}
