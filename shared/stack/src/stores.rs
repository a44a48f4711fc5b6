//! The stores that a stack uses, but has not made.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::account::Account;
use crate::deployed::DeployedStack;

/// The parameter that names a table to use in place of the stack's own records.
pub const RECORDS_PARAMETER: &str = "RecordsTableName";
/// The parameter that names a table to use in place of the stack's own secrets.
pub const SECRETS_PARAMETER: &str = "SecretsTableName";
const SECRETS_KEY_PARAMETER: &str = "SecretsKeyArn";
const BUCKET_PARAMETER: &str = "BucketName";

/// Checks that the stores which `parameters` name exist. A stack that names another table by mistake
/// would lose its own.
///
/// # Errors
/// Fails if one does not exist, or cannot be described.
pub async fn check_stores(account: &Account, parameters: &BTreeMap<String, String>) -> Result<()> {
    let clients = account.clients();
    let named = |parameter: &str| parameters.get(parameter).filter(|name| !name.is_empty());
    for parameter in [RECORDS_PARAMETER, SECRETS_PARAMETER] {
        if let Some(name) = named(parameter) {
            let describe = clients.dynamodb.describe_table().table_name(name);
            let table = describe.send().await;
            table.with_context(|| format!("cannot use the table {name} of {parameter}"))?;
        }
    }
    if let Some(arn) = named(SECRETS_KEY_PARAMETER) {
        let key = clients.kms.describe_key().key_id(arn).send().await;
        key.with_context(|| format!("cannot use the key {arn} of {SECRETS_KEY_PARAMETER}"))?;
    }
    if let Some(name) = named(BUCKET_PARAMETER) {
        let head = clients.s3.head_bucket().bucket(name);
        let bucket = head.expected_bucket_owner(&account.id).send().await;
        bucket.with_context(|| format!("cannot use the bucket {name} of {BUCKET_PARAMETER}"))?;
    }
    Ok(())
}

/// Checks that a template with the parameters `declared` lets a stack go on with the stores that its
/// present parameters name. Otherwise the stack would make new, empty ones.
///
/// # Errors
/// Fails if a parameter that names a store is not declared.
pub(crate) fn check_stores_stay(
    present: &BTreeMap<String, String>,
    declared: &[String],
) -> Result<()> {
    for parameter in [
        RECORDS_PARAMETER,
        SECRETS_PARAMETER,
        SECRETS_KEY_PARAMETER,
        BUCKET_PARAMETER,
    ] {
        let is_named = present.get(parameter).is_some_and(|name| !name.is_empty());
        if is_named && !declared.iter().any(|known| known == parameter) {
            bail!(
                "the stack uses a store that {parameter} names, and this version has no such parameter: it \
                 would begin with an empty one"
            );
        }
    }
    Ok(())
}

/// Has the bucket that a parameter names report uploads to the stack's queue. The template does so for
/// the stack's own bucket. Other notifications of the bucket end.
///
/// # Errors
/// Fails if AWS refuses.
pub async fn connect_bucket(account: &Account, stack: &DeployedStack) -> Result<()> {
    if stack.parameter(BUCKET_PARAMETER).is_none_or(str::is_empty) {
        return Ok(());
    }
    let bucket = stack.output("Bucket")?;
    let queue = stack.output("KeeperQueueUrl")?;
    aws::notify_of_uploads(&account.clients(), bucket, queue)
        .await
        .with_context(|| format!("cannot set the notifications of the bucket {bucket}"))
}
