//! The operations that `s3s` calls. Each is passed to the module that implements it. Operations
//! that are not here are `NotImplemented`.

use std::sync::Arc;

use http::Method;
use rusqlite::params;
use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};

use super::check::{self, BodyClaims};
use super::index::{query_row, query_rows, require_bucket, s3_timestamp};
use super::notify::{self, CreationKind};
use super::store::ObjectStore;
use super::{list, multipart, objects};
use crate::{REGION, blocking};

pub(super) struct S3Api {
    pub(super) store: Arc<ObjectStore>,
}

/// The answer of an operation.
type ApiAnswer<T> = S3Result<S3Response<T>>;

impl S3Api {
    /// Runs storage work, which blocks.
    fn run_blocking<T>(&self, work: impl FnOnce(&ObjectStore) -> S3Result<T>) -> ApiAnswer<T> {
        blocking::run_blocking(|| work(&self.store)).map(S3Response::new)
    }
}

#[async_trait::async_trait]
impl S3 for S3Api {
    async fn put_object(
        &self,
        mut request: S3Request<PutObjectInput>,
    ) -> ApiAnswer<PutObjectOutput> {
        let input = &mut request.input;
        let claims = BodyClaims {
            md5: input.content_md5.take(),
            algorithm: input.checksum_algorithm.take(),
            checksum: Checksum {
                checksum_crc32: input.checksum_crc32.take(),
                checksum_crc32c: input.checksum_crc32c.take(),
                checksum_crc64nvme: input.checksum_crc64nvme.take(),
                checksum_sha1: input.checksum_sha1.take(),
                checksum_sha256: input.checksum_sha256.take(),
                ..Checksum::default()
            },
        };

        let body = check::receive_body(input.body.take(), claims, request.trailing_headers).await?;
        // `s3s` also passes forms to this operation.
        let creation = if request.method == Method::POST {
            CreationKind::Post
        } else {
            CreationKind::Put
        };

        self.run_blocking(|store| objects::put_object(store, request.input, body, creation))
    }

    async fn upload_part(
        &self,
        mut request: S3Request<UploadPartInput>,
    ) -> ApiAnswer<UploadPartOutput> {
        let input = &mut request.input;
        let claims = BodyClaims {
            md5: input.content_md5.take(),
            algorithm: input.checksum_algorithm.take(),
            checksum: Checksum {
                checksum_crc32: input.checksum_crc32.take(),
                checksum_crc32c: input.checksum_crc32c.take(),
                checksum_crc64nvme: input.checksum_crc64nvme.take(),
                checksum_sha1: input.checksum_sha1.take(),
                checksum_sha256: input.checksum_sha256.take(),
                ..Checksum::default()
            },
        };

        let body = check::receive_body(input.body.take(), claims, request.trailing_headers).await?;
        self.run_blocking(|store| multipart::upload_part(store, &request.input, body))
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> ApiAnswer<GetObjectOutput> {
        self.run_blocking(|store| objects::get_object(store, &request.input))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> ApiAnswer<HeadObjectOutput> {
        self.run_blocking(|store| objects::head_object(store, &request.input))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> ApiAnswer<DeleteObjectOutput> {
        self.run_blocking(|store| objects::delete_object(store, &request.input))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> ApiAnswer<DeleteObjectsOutput> {
        self.run_blocking(|store| objects::delete_objects(store, request.input))
    }

    async fn copy_object(
        &self,
        request: S3Request<CopyObjectInput>,
    ) -> ApiAnswer<CopyObjectOutput> {
        self.run_blocking(|store| objects::copy_object(store, request.input))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> ApiAnswer<ListObjectsV2Output> {
        self.run_blocking(|store| list::list_v2(store, request.input))
    }

    async fn list_objects(
        &self,
        request: S3Request<ListObjectsInput>,
    ) -> ApiAnswer<ListObjectsOutput> {
        self.run_blocking(|store| list::list_v1(store, request.input))
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> ApiAnswer<CreateMultipartUploadOutput> {
        self.run_blocking(|store| multipart::create_upload(store, request.input))
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> ApiAnswer<CompleteMultipartUploadOutput> {
        self.run_blocking(|store| multipart::complete_upload(store, request.input))
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> ApiAnswer<AbortMultipartUploadOutput> {
        self.run_blocking(|store| multipart::abort_upload(store, &request.input))
    }

    async fn list_parts(&self, request: S3Request<ListPartsInput>) -> ApiAnswer<ListPartsOutput> {
        self.run_blocking(|store| multipart::list_parts(store, request.input))
    }

    async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> ApiAnswer<ListMultipartUploadsOutput> {
        self.run_blocking(|store| multipart::list_uploads(store, request.input))
    }

    async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> ApiAnswer<CreateBucketOutput> {
        let bucket = request.input.bucket;
        self.run_blocking(|store| {
            store.write_index(|transaction| {
                if require_bucket(transaction.tx, &bucket).is_ok() {
                    return Err(s3_error!(BucketAlreadyOwnedByYou));
                }
                transaction.run_statement(
                    "INSERT INTO buckets VALUES (?1, ?2)",
                    params![bucket, store.now()],
                )
            })?;
            Ok(CreateBucketOutput {
                location: Some(format!("/{bucket}")),
            })
        })
    }

    async fn delete_bucket(
        &self,
        request: S3Request<DeleteBucketInput>,
    ) -> ApiAnswer<DeleteBucketOutput> {
        let bucket = request.input.bucket;
        self.run_blocking(|store| {
            store.write_index(|transaction| {
                require_bucket(transaction.tx, &bucket)?;
                let sql = "SELECT 1 FROM objects WHERE bucket = ?1";
                if query_row(transaction.tx, sql, [&bucket], |_| Ok(()))?.is_some() {
                    return Err(s3_error!(BucketNotEmpty));
                }
                transaction
                    .run_statement("DELETE FROM notifications WHERE bucket = ?1", [&bucket])?;
                transaction.run_statement("DELETE FROM buckets WHERE name = ?1", [&bucket])
            })?;
            Ok(DeleteBucketOutput {})
        })
    }

    async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> ApiAnswer<HeadBucketOutput> {
        self.run_blocking(|store| {
            require_bucket(&store.lock_index(), &request.input.bucket)?;
            Ok(HeadBucketOutput {
                bucket_region: Some(REGION.to_owned()),
                ..HeadBucketOutput::default()
            })
        })
    }

    async fn get_bucket_location(
        &self,
        request: S3Request<GetBucketLocationInput>,
    ) -> ApiAnswer<GetBucketLocationOutput> {
        self.run_blocking(|store| {
            require_bucket(&store.lock_index(), &request.input.bucket)?;
            Ok(GetBucketLocationOutput::default())
        })
    }

    async fn put_bucket_notification_configuration(
        &self,
        request: S3Request<PutBucketNotificationConfigurationInput>,
    ) -> ApiAnswer<PutBucketNotificationConfigurationOutput> {
        self.run_blocking(|store| notify::put_configuration(store, request.input))
    }

    async fn get_bucket_notification_configuration(
        &self,
        request: S3Request<GetBucketNotificationConfigurationInput>,
    ) -> ApiAnswer<GetBucketNotificationConfigurationOutput> {
        self.run_blocking(|store| notify::get_configuration(store, &request.input.bucket))
    }

    async fn list_buckets(&self, _: S3Request<ListBucketsInput>) -> ApiAnswer<ListBucketsOutput> {
        self.run_blocking(|store| {
            let sql = "SELECT name, created_ms FROM buckets ORDER BY name";
            let buckets = query_rows(&store.lock_index(), sql, [], |row| {
                let creation_date = Some(s3_timestamp(row.get(1)?));
                Ok(Bucket {
                    name: row.get(0)?,
                    creation_date,
                    ..Bucket::default()
                })
            })?;
            Ok(ListBucketsOutput {
                buckets: Some(buckets),
                ..ListBucketsOutput::default()
            })
        })
    }
}
