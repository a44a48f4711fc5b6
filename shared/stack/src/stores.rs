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
            let key = describe_key(account, arn).await;
            let is_usable = key.and_then(|key| check_key(&key));
            is_usable.with_context(|| format!("cannot use the key {arn} of {parameter}"))?;
        }
    }
    if let Some(name) = named(BUCKET_PARAMETER) {
        let head = clients.s3.head_bucket().bucket(name);
        let bucket = head.expected_bucket_owner(&account.id).send().await;
        bucket.with_context(|| format!("cannot use the bucket {name} of {BUCKET_PARAMETER}"))?;
    }
    Ok(())
}

/// A KMS key, as KMS describes it.
struct KeyDescription {
    /// The state, such as [`ENABLED`].
    state: String,
    /// True for a symmetric key that a customer has made.
    encrypts_data: bool,
}

async fn describe_key(account: &Account, arn: &str) -> Result<KeyDescription> {
    let described = account
        .clients()
        .kms
        .describe_key()
        .key_id(arn)
        .send()
        .await;
    let described = described.with_context(|| format!("cannot describe the key {arn}"))?;
    let key = described.key_metadata;
    let key = key.with_context(|| format!("KMS does not describe the key {arn}"))?;
    let spec = key.key_spec().map(|spec| spec.as_str());
    let manager = key.key_manager().map(|manager| manager.as_str());
    Ok(KeyDescription {
        state: key
            .key_state()
            .map_or("unknown", |state| state.as_str())
            .to_owned(),
        encrypts_data: spec == Some("SYMMETRIC_DEFAULT") && manager == Some("CUSTOMER"),
    })
}

/// Checks whether a store can be encrypted with a key.
fn check_key(key: &KeyDescription) -> Result<()> {
    if !key.encrypts_data {
        bail!("it has to be a symmetric key that was made with `aws kms create-key`");
    }
    match key.state.as_str() {
        ENABLED => Ok(()),
        state => bail!("it is {state}; enable it first (`aws kms enable-key`)"),
    }
}

/// The key that encrypts the data of a stack.
pub(crate) struct DataKey {
    /// Its state in KMS, such as [`ENABLED`].
    pub(crate) state: String,
    /// The stores that it does not encrypt, because they were made without it: by another stack, or by a restoration.
    pub(crate) other_stores: Vec<String>,
}

impl DeployedStack {
    /// Returns the key that encrypts the data, if the stack has such a key.
    ///
    /// # Errors
    /// Fails if the key or a store cannot be described.
    pub(crate) async fn data_key(&self, account: &Account) -> Result<Option<DataKey>> {
        let Some(arn) = self
            .parameter(DATA_KEY_PARAMETER)
            .filter(|arn| !arn.is_empty())
        else {
            return Ok(None);
        };
        let state = describe_key(account, arn).await?.state;
        let (table, bucket) = (self.output("RecordsTable")?, self.output("Bucket")?);
        let keys = [
            (table, key_of_table(account, table).await?),
            (bucket, key_of_bucket(account, bucket).await?),
        ];
        let others = keys
            .into_iter()
            .filter(|(_, key)| key.as_deref() != Some(arn));
        let other_stores = others.map(|(store, _)| store.to_owned()).collect();
        Ok(Some(DataKey {
            state,
            other_stores,
        }))
    }
}

/// Returns the ARN of the KMS key that encrypts a table, if one does.
async fn key_of_table(account: &Account, name: &str) -> Result<Option<String>> {
    let describe = account.clients().dynamodb.describe_table().table_name(name);
    let described = describe.send().await;
    let described = described.with_context(|| format!("cannot describe the table {name}"))?;
    let encryption = described.table.and_then(|table| table.sse_description);
    Ok(encryption.and_then(|encryption| encryption.kms_master_key_arn))
}

/// Returns the ARN of the KMS key that encrypts new objects of a bucket, if one does.
async fn key_of_bucket(account: &Account, name: &str) -> Result<Option<String>> {
    let get = account.clients().s3.get_bucket_encryption().bucket(name);
    let encryption = get.send().await;
    let encryption =
        encryption.with_context(|| format!("cannot read the encryption of the bucket {name}"))?;
    let rules = encryption.server_side_encryption_configuration;
    let rules = rules.into_iter().flat_map(|rules| rules.rules);
    let mut defaults = rules.filter_map(|rule| rule.apply_server_side_encryption_by_default);
    Ok(defaults.find_map(|default| default.kms_master_key_id))
}

/// Checks that a change leaves the key of a stack's data as it is. A stack without a key gets none. The functions
/// may use only the key that the parameter names, but objects stay encrypted with the key with which they were
/// written.
///
/// # Errors
/// Fails if the key would change. `present` has no parameters if there is no stack yet.
pub(crate) fn check_data_key_stays(
    present: &BTreeMap<String, String>,
    set: &BTreeMap<String, String>,
) -> Result<()> {
    let key_in =
        |parameters: &BTreeMap<String, String>| parameters.get(DATA_KEY_PARAMETER).cloned();
    let key = key_in(present).unwrap_or_default();
    if present.is_empty() || key_in(set).is_none_or(|next| next == key) {
        return Ok(());
    }
    bail!(
        "a stack takes its key at its first deployment and keeps it: leave {DATA_KEY_PARAMETER} as it is, or deploy \
         another stack with the key and move the containers with `recollect export` and `recollect import`"
    )
}

/// Checks that a template with the parameters `declared` lets a stack go on with the stores and the key that
/// its present parameters name. Otherwise the stack would make new, empty stores, or could not read its own.
///
/// # Errors
/// Fails if a parameter that names a store or a key is not declared.
pub(crate) fn check_stores_stay(
    present: &BTreeMap<String, String>,
    declared: &[String],
) -> Result<()> {
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
                "this version has no parameter {parameter}, which names a store or a key of the stack: it would \
                 use an empty store, or could not read its own"
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
