//! The bucket with the functions and templates of deployments.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use anyhow::{Context, Result};
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::operation::head_bucket::HeadBucketError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    BucketLocationConstraint, CreateBucketConfiguration, PublicAccessBlockConfiguration,
};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;

use crate::account::Account;
use crate::template::{BOOTSTRAP, BuiltTemplate};

/// The region whose name is not given when a bucket is created.
const FIRST_REGION: &str = "us-east-1";

/// The bucket of an account and region for the artifacts of all stacks. The key of an artifact contains
/// its digest, so nothing is stored twice.
///
/// Anybody could create a bucket of this name before we do. Each request to a bucket that exists
/// therefore names the owner that it must have. What CloudFormation reads itself is not checked.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactBucket<'a> {
    account: &'a Account,
    pub(crate) name: String,
}

impl<'a> ArtifactBucket<'a> {
    /// Returns the bucket of an account, and creates it if it does not exist. It is private, and S3
    /// encrypts what is in it.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub(crate) async fn open(account: &'a Account) -> Result<Self> {
        let name = Self::name_of(account);
        let bucket = Self { account, name };
        let head = account.s3.head_bucket().bucket(&bucket.name);
        match head.expected_bucket_owner(&account.id).send().await {
            Ok(_) => {}
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(HeadBucketError::is_not_found) =>
            {
                bucket.create().await?;
            }
            Err(error) => {
                return Err(error).with_context(|| {
                    format!("cannot use the bucket {}: it belongs to another account, or you lack the right", bucket.name)
                });
            }
        }
        bucket.make_private().await?;
        Ok(bucket)
    }

    /// Returns the bucket of an account, which may not exist.
    pub(crate) fn existing(account: &'a Account) -> Self {
        let name = Self::name_of(account);
        Self { account, name }
    }

    fn name_of(account: &Account) -> String {
        format!("recollect-deployments-{}-{}", account.id, account.region)
    }

    async fn create(&self) -> Result<()> {
        let s3 = &self.account.s3;
        let mut create = s3.create_bucket().bucket(&self.name);
        if self.account.region != FIRST_REGION {
            let region = BucketLocationConstraint::from(self.account.region.as_str());
            let location = CreateBucketConfiguration::builder().location_constraint(region);
            create = create.create_bucket_configuration(location.build());
        }
        create
            .send()
            .await
            .with_context(|| format!("cannot create the bucket {} for artifacts", self.name))?;
        Ok(())
    }

    async fn make_private(&self) -> Result<()> {
        let block = PublicAccessBlockConfiguration::builder()
            .block_public_acls(true)
            .ignore_public_acls(true)
            .block_public_policy(true)
            .restrict_public_buckets(true);
        let put = self.account.s3.put_public_access_block().bucket(&self.name);
        put.expected_bucket_owner(&self.account.id)
            .public_access_block_configuration(block.build())
            .send()
            .await
            .context("cannot make the bucket of artifacts private")?;
        Ok(())
    }

    /// Uploads the functions and templates, and returns the address of the template.
    /// `report` is told the name of each function before it is uploaded.
    ///
    /// # Errors
    /// Fails if a file cannot be read or S3 refuses.
    pub(crate) async fn upload(
        &self,
        mut built: BuiltTemplate,
        version: &str,
        mut report: impl FnMut(&str),
    ) -> Result<String> {
        for (function, folder) in built.functions() {
            report(&function);
            let archive = pack_function(&folder)?;
            let key = self.put("functions", "zip", archive).await?;
            built.set_code(&function, &self.name, &key);
        }

        for (stack, file) in built.nested_templates() {
            let template =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let key = self.put("templates", "yaml", template).await?;
            built.set_nested_template(&stack, &self.address(&key));
        }

        let template = built.to_json(version).into_bytes();
        let key = self.put("templates", "json", template).await?;
        Ok(self.address(&key))
    }

    /// Stores bytes, unless they are stored already, and returns their key.
    async fn put(&self, folder: &str, extension: &str, bytes: Vec<u8>) -> Result<String> {
        let digest = hex::encode(Sha256::digest(&bytes));
        let key = format!("{folder}/{digest}.{extension}");
        let s3 = &self.account.s3;
        let head = s3.head_object().bucket(&self.name).key(&key);
        let head = head.expected_bucket_owner(&self.account.id).send().await;
        if head.is_err() {
            self.put_object(&key, bytes).await?;
        }
        Ok(key)
    }

    /// Stores bytes under a key.
    pub(crate) async fn put_object(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        let put = self.account.s3.put_object().bucket(&self.name).key(key);
        put.expected_bucket_owner(&self.account.id)
            .body(ByteStream::from(bytes))
            .send()
            .await
            .with_context(|| format!("cannot upload {key} to the bucket {}", self.name))?;
        Ok(())
    }

    /// Returns the bytes of a key, or `None` if there are none.
    pub(crate) async fn get_object(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let get = self.account.s3.get_object().bucket(&self.name).key(key);
        let object = match get.expected_bucket_owner(&self.account.id).send().await {
            Ok(object) => object,
            Err(error) if matches!(error.code(), Some("NoSuchKey" | "NoSuchBucket")) => {
                return Ok(None);
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read {key} of the bucket {}", self.name));
            }
        };
        let bytes = object
            .body
            .collect()
            .await
            .with_context(|| format!("cannot read {key}"))?;
        Ok(Some(bytes.to_vec()))
    }

    /// Returns the address of an object as CloudFormation takes it.
    fn address(&self, key: &str) -> String {
        let Account { region, .. } = self.account;
        match self.account.endpoint_url() {
            Some(endpoint) => format!("{}/{}/{key}", endpoint.trim_end_matches('/'), self.name),
            None => {
                let domain = match self.account.partition.as_str() {
                    "aws-cn" => "amazonaws.com.cn",
                    _ => "amazonaws.com",
                };
                format!("https://{}.s3.{region}.{domain}/{key}", self.name)
            }
        }
    }
}

/// Returns the archive of a function. The same program gives the same bytes.
fn pack_function(folder: &Path) -> Result<Vec<u8>> {
    let program = folder.join(BOOTSTRAP);
    let bytes = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .unix_permissions(0o755)
        .last_modified_time(zip::DateTime::default());
    archive.start_file(BOOTSTRAP, options)?;
    archive.write_all(&bytes)?;
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_function_is_packed_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(BOOTSTRAP), "program").unwrap();
        let packed = pack_function(folder.path()).unwrap();
        assert_eq!(packed, pack_function(folder.path()).unwrap());

        let mut archive = zip::ZipArchive::new(Cursor::new(packed)).unwrap();
        let mut file = archive.by_name(BOOTSTRAP).unwrap();
        assert_eq!(file.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "program");
    }
}
