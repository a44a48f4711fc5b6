//! The stores and keys that a stack uses, but has not made.

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
const DATA_KEY_PARAMETER: &str = "DataKeyArn";
/// The state of a KMS key that can be used.
pub(crate) const ENABLED: &str = "Enabled";

/// Checks that the stores and keys which `parameters` name exist, and that the keys can be used. A stack that
/// names another table by mistake would lose its own.
///
/// # Errors
/// Fails if one does not exist, cannot be used, or cannot be described.
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
    for parameter in [SECRETS_KEY_PARAMETER, DATA_KEY_PARAMETER] {
        if let Some(arn) = named(parameter) {
            let state = key_state(account, arn).await;
            let state =
                state.with_context(|| format!("cannot use the key {arn} of {parameter}"))?;
            if state != ENABLED {
                bail!("cannot use the key {arn} of {parameter}: it is {state}");
            }
        }
    }
    if let Some(name) = named(BUCKET_PARAMETER) {
        let head = clients.s3.head_bucket().bucket(name);
        let bucket = head.expected_bucket_owner(&account.id).send().await;
        bucket.with_context(|| format!("cannot use the bucket {name} of {BUCKET_PARAMETER}"))?;
    }
    Ok(())
}

/// Returns the state of a KMS key, such as [`ENABLED`].
async fn key_state(account: &Account, arn: &str) -> Result<String> {
    let describe = account.clients().kms.describe_key().key_id(arn);
    let described = describe.send().await?;
    let state = described.key_metadata.and_then(|key| key.key_state);
    let state = state.context("KMS does not tell its state")?;
    Ok(state.as_str().to_owned())
}

impl DeployedStack {
    /// Returns the state of the key that encrypts the data, if the stack has such a key.
    ///
    /// # Errors
    /// Fails if the key cannot be described.
    pub(crate) async fn data_key_state(&self, account: &Account) -> Result<Option<String>> {
        match self.parameter(DATA_KEY_PARAMETER) {
            None | Some("") => Ok(None),
            Some(arn) => key_state(account, arn).await.map(Some),
        }
    }
}

/// Checks that a template with the parameters `declared` lets a stack go on with the stores and the key that
/// its present parameters name, and that `set`, the parameters of a change, do not take its key away. Otherwise
/// the stack would make new, empty stores, or could not read its own.
///
/// # Errors
/// Fails if a parameter that names a store or a key is not declared, or if the key would change.
pub(crate) fn check_stores_stay(
    present: &BTreeMap<String, String>,
    declared: &[String],
    set: &BTreeMap<String, String>,
) -> Result<()> {
    let key = present
        .get(DATA_KEY_PARAMETER)
        .filter(|arn| !arn.is_empty());
    if let (Some(key), Some(other)) = (key, set.get(DATA_KEY_PARAMETER))
        && key != other
    {
        bail!(
            "objects are encrypted with the key {key}, which the functions may use only while {DATA_KEY_PARAMETER} \
             names it: leave the parameter as it is"
        );
    }
    for parameter in [
        RECORDS_PARAMETER,
        SECRETS_PARAMETER,
        SECRETS_KEY_PARAMETER,
        BUCKET_PARAMETER,
        DATA_KEY_PARAMETER,
    ] {
        let is_named = present.get(parameter).is_some_and(|name| !name.is_empty());
        if is_named && !declared.iter().any(|known| known == parameter) {
            bail!(
                "the stack uses what {parameter} names, and this version has no such parameter: it would \
                 begin with an empty store, or could not read its own"
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
