//! The operations that `s3s` calls. Each is passed to the module that implements it. Operations
//! that are not here are `NotImplemented`.

use std::sync::Arc;

use http::Method;
use rusqlite::params;
use s3s::dto::*;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};

use super::check::{self, Claims};
use super::index::{require_bucket, timestamp};
use super::notify::{self, Creation};
use super::store::Store;
use super::{list, multipart, objects};
use crate::{REGION, blocking};

pub(super) struct Api {
    pub(super) store: Arc<Store>,
}

/// The answer of an operation.
type Answer<T> = S3Result<S3Response<T>>;

impl Api {
    /// Runs storage work, which blocks.
    fn run<T>(&self, work: impl FnOnce(&Store) -> S3Result<T>) -> Answer<T> {
        blocking::run(|| work(&self.store)).map(S3Response::new)
    }
}

#[async_trait::async_trait]
impl S3 for Api {
    async fn put_object(&self, mut request: S3Request<PutObjectInput>) -> Answer<PutObjectOutput> {
        let input = &mut request.input;
        let claims = Claims {
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

        let body = check::receive(input.body.take(), claims, request.trailing_headers).await?;
        // `s3s` also passes forms to this operation.
        let creation = if request.method == Method::POST {
            Creation::Post
        } else {
            Creation::Put
        };

        self.run(|store| objects::put(store, request.input, body, creation))
    }

    async fn upload_part(
        &self,
        mut request: S3Request<UploadPartInput>,
    ) -> Answer<UploadPartOutput> {
        let input = &mut request.input;
        let claims = Claims {
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

        let body = check::receive(input.body.take(), claims, request.trailing_headers).await?;
        self.run(|store| multipart::upload_part(store, &request.input, body))
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> Answer<GetObjectOutput> {
        self.run(|store| objects::get(store, &request.input))
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> Answer<HeadObjectOutput> {
        self.run(|store| objects::head(store, &request.input))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> Answer<DeleteObjectOutput> {
        self.run(|store| objects::delete(store, &request.input))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> Answer<DeleteObjectsOutput> {
        self.run(|store| objects::delete_many(store, request.input))
    }

    async fn copy_object(&self, request: S3Request<CopyObjectInput>) -> Answer<CopyObjectOutput> {
        self.run(|store| objects::copy(store, request.input))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> Answer<ListObjectsV2Output> {
        self.run(|store| list::list_v2(store, request.input))
    }

    async fn list_objects(
        &self,
        request: S3Request<ListObjectsInput>,
    ) -> Answer<ListObjectsOutput> {
        self.run(|store| list::list_v1(store, request.input))
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> Answer<CreateMultipartUploadOutput> {
        self.run(|store| multipart::create(store, request.input))
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> Answer<CompleteMultipartUploadOutput> {
        self.run(|store| multipart::complete(store, request.input))
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> Answer<AbortMultipartUploadOutput> {
        self.run(|store| multipart::abort(store, &request.input))
    }

    async fn list_parts(&self, request: S3Request<ListPartsInput>) -> Answer<ListPartsOutput> {
        self.run(|store| multipart::list_parts(store, request.input))
    }

    async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> Answer<ListMultipartUploadsOutput> {
        self.run(|store| multipart::list_uploads(store, request.input))
    }

    async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> Answer<CreateBucketOutput> {
        let bucket = request.input.bucket;
        self.run(|store| {
            store.write(|change| {
                if require_bucket(change.tx, &bucket).is_ok() {
                    return Err(s3_error!(BucketAlreadyOwnedByYou));
                }
                change.run(
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
    ) -> Answer<DeleteBucketOutput> {
        let bucket = request.input.bucket;
        self.run(|store| {
            store.write(|change| {
                require_bucket(change.tx, &bucket)?;
                let sql = "SELECT 1 FROM objects WHERE bucket = ?1";
                let used = change
                    .tx
                    .prepare_cached(sql)
                    .and_then(|mut objects| objects.exists([&bucket]));
                if used.map_err(S3Error::internal_error)? {
                    return Err(s3_error!(BucketNotEmpty));
                }
                change.run("DELETE FROM notifications WHERE bucket = ?1", [&bucket])?;
                change.run("DELETE FROM buckets WHERE name = ?1", [&bucket])
            })?;
            Ok(DeleteBucketOutput {})
        })
    }

    async fn head_bucket(&self, request: S3Request<HeadBucketInput>) -> Answer<HeadBucketOutput> {
        self.run(|store| {
            require_bucket(&store.read(), &request.input.bucket)?;
            Ok(HeadBucketOutput {
                bucket_region: Some(REGION.to_owned()),
                ..HeadBucketOutput::default()
            })
        })
    }

    async fn get_bucket_location(
        &self,
        request: S3Request<GetBucketLocationInput>,
    ) -> Answer<GetBucketLocationOutput> {
        self.run(|store| {
            require_bucket(&store.read(), &request.input.bucket)?;
            Ok(GetBucketLocationOutput::default())
        })
    }

    async fn put_bucket_notification_configuration(
        &self,
        request: S3Request<PutBucketNotificationConfigurationInput>,
    ) -> Answer<PutBucketNotificationConfigurationOutput> {
        self.run(|store| notify::configure(store, request.input))
    }

    async fn get_bucket_notification_configuration(
        &self,
        request: S3Request<GetBucketNotificationConfigurationInput>,
    ) -> Answer<GetBucketNotificationConfigurationOutput> {
        self.run(|store| notify::configured(store, &request.input.bucket))
    }

    async fn list_buckets(&self, _: S3Request<ListBucketsInput>) -> Answer<ListBucketsOutput> {
        self.run(|store| {
            let index = store.read();
            let read = || -> rusqlite::Result<Vec<Bucket>> {
                let mut statement =
                    index.prepare_cached("SELECT name, created_ms FROM buckets ORDER BY name")?;
                let rows = statement.query_map([], |row| {
                    let creation_date = Some(timestamp(row.get(1)?));
                    Ok(Bucket {
                        name: row.get(0)?,
                        creation_date,
                        ..Bucket::default()
                    })
                })?;
                rows.collect()
            };
            let buckets = read().map_err(S3Error::internal_error)?;
            Ok(ListBucketsOutput {
                buckets: Some(buckets),
                ..ListBucketsOutput::default()
            })
        })
    }
}
