//! A stack as it is deployed.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use aws::ResourceNames;
use aws_sdk_cloudformation::error::ProvideErrorMetadata;
use aws_sdk_cloudformation::types::{Stack, StackStatus};

use crate::account::Account;

/// A stack that exists.
#[derive(Debug, Clone)]
pub struct DeployedStack {
    /// The name.
    pub name: String,
    /// The id. Another stack of the same name has another one.
    pub(crate) id: String,
    /// The status.
    pub(crate) status: StackStatus,
    /// The reason of the status, if there is one.
    pub(crate) status_reason: Option<String>,
    /// The parameters. The values of secret ones are asterisks.
    pub(crate) parameters: BTreeMap<String, String>,
    outputs: BTreeMap<String, String>,
}

impl DeployedStack {
    /// Returns the stack with this name, or `None` if there is none.
    ///
    /// # Errors
    /// Fails if CloudFormation refuses.
    pub async fn find(account: &Account, name: &str) -> Result<Option<Self>> {
        let describe = account.cloudformation.describe_stacks().stack_name(name);
        match describe.send().await {
            Ok(found) => Ok(found.stacks().first().map(Self::from_description)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot describe the stack {name}")),
        }
    }

    /// Returns the stack with this name.
    ///
    /// # Errors
    /// Fails if there is none, or if CloudFormation refuses.
    pub async fn get(account: &Account, name: &str) -> Result<Self> {
        match Self::find(account, name).await? {
            Some(stack) => Ok(stack),
            None => bail!(
                "there is no stack {name} in the account {} and region {}: see --region, or deploy it with \
                 `recollect deploy --stack {name}`",
                account.id,
                account.region
            ),
        }
    }

    fn from_description(stack: &Stack) -> Self {
        let parameters = stack.parameters().iter().filter_map(|parameter| {
            Some((
                parameter.parameter_key()?.to_owned(),
                parameter.parameter_value()?.to_owned(),
            ))
        });
        let outputs = stack.outputs().iter().filter_map(|output| {
            Some((
                output.output_key()?.to_owned(),
                output.output_value()?.to_owned(),
            ))
        });
        Self {
            name: stack.stack_name().unwrap_or_default().to_owned(),
            id: stack.stack_id().unwrap_or_default().to_owned(),
            status: stack
                .stack_status()
                .cloned()
                .unwrap_or_else(|| StackStatus::from("UNKNOWN")),
            status_reason: stack.stack_status_reason().map(ToOwned::to_owned),
            parameters: parameters.collect(),
            outputs: outputs.collect(),
        }
    }

    /// Checks whether CloudFormation is working on the stack.
    pub(crate) fn is_changing(&self) -> bool {
        self.status.as_str().ends_with("_IN_PROGRESS")
    }

    /// Returns the value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Returns an output of the stack.
    ///
    /// # Errors
    /// Fails if the stack has no such output, as the stack of another product.
    pub fn output(&self, name: &str) -> Result<&str> {
        let output = self.outputs.get(name);
        output.map(String::as_str).with_context(|| {
            format!(
                "the stack {} has no output {name}: is it a stack of Recollect, and is its deployment complete?",
                self.name
            )
        })
    }

    /// Returns the base address of the API.
    ///
    /// # Errors
    /// As [`Self::output`].
    pub fn api_url(&self) -> Result<&str> {
        self.output("ApiUrl")
    }

    /// Returns the version that `recollect deploy` has deployed, or `None` if something else deployed
    /// the stack.
    pub fn release(&self) -> Option<&str> {
        self.outputs.get("Release").map(String::as_str)
    }

    /// Returns the names of the stack's resources.
    ///
    /// # Errors
    /// As [`Self::output`].
    pub fn resource_names(&self) -> Result<ResourceNames> {
        let output = |name: &str| self.output(name).map(ToOwned::to_owned);
        Ok(ResourceNames {
            records: output("RecordsTable")?,
            secrets: output("SecretsTable")?,
            activity: output("ActivityTable")?,
            bucket: output("Bucket")?,
            process_queue: output("ProcessQueueUrl")?,
            commit_queue: output("CommitQueueUrl")?,
            maintenance_queue: output("KeeperQueueUrl")?,
            kms_key: output("SecretsKeyId")?,
            sync_queue: output("SyncQueueUrl")?,
        })
    }

    /// Returns the addresses of the queues, each with that of its dead-letter queue.
    pub(crate) fn queues(&self) -> Result<Vec<(&'static str, &str, &str)>> {
        let mut queues = Vec::new();
        for (name, queue, dead) in [
            ("process", "ProcessQueueUrl", "ProcessDeadUrl"),
            ("commit", "CommitQueueUrl", "CommitDeadUrl"),
            ("keeper", "KeeperQueueUrl", "KeeperDeadUrl"),
            ("sync", "SyncQueueUrl", "SyncDeadUrl"),
        ] {
            queues.push((name, self.output(queue)?, self.output(dead)?));
        }
        Ok(queues)
    }
}

/// Checks whether an error says that there is no such stack. CloudFormation has no code for it.
fn is_missing(error: &impl ProvideErrorMetadata) -> bool {
    error
        .message()
        .is_some_and(|message| message.contains("does not exist"))
}
