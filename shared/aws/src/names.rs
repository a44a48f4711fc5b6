//! The names of the resources of a deployment.

use std::iter::zip;

use anyhow::Context;

use crate::layout;

/// The names and addresses of resources. On AWS they come from the environment; in embedded mode
/// they are fixed.
#[derive(Debug, Clone)]
pub struct ResourceNames {
    /// The table of records.
    pub records: String,
    /// The table of API keys and sealed secrets.
    pub secrets: String,
    /// The table of items that expire.
    pub activity: String,
    /// The bucket.
    pub bucket: String,
    /// The address of the queue `process`.
    pub process_queue: String,
    /// The address of the queue `commit.fifo`.
    pub commit_queue: String,
    /// The address of the queue `keeper`.
    pub maintenance_queue: String,
    /// The id or ARN of the key that seals secrets.
    pub kms_key: String,
    /// The address of the queue `sync`.
    pub sync_queue: String,
}

/// The environment variables, in the order of the fields of [`ResourceNames`].
const VARIABLES: [&str; 9] = [
    "RECOLLECT_RECORDS_TABLE",
    "RECOLLECT_SECRETS_TABLE",
    "RECOLLECT_ACTIVITY_TABLE",
    "RECOLLECT_BUCKET",
    "RECOLLECT_PROCESS_QUEUE_URL",
    "RECOLLECT_COMMIT_QUEUE_URL",
    "RECOLLECT_KEEPER_QUEUE_URL",
    "RECOLLECT_SECRETS_KEY_ID",
    "RECOLLECT_SYNC_QUEUE_URL",
];

impl ResourceNames {
    /// Returns the names of embedded mode. The addresses of the queues are still empty.
    pub fn for_embedded() -> Self {
        Self {
            records: layout::RECORDS_TABLE.name.into(),
            secrets: layout::SECRETS_TABLE.name.into(),
            activity: layout::ACTIVITY_TABLE.name.into(),
            bucket: layout::BUCKET.into(),
            process_queue: String::new(),
            commit_queue: String::new(),
            maintenance_queue: String::new(),
            kms_key: layout::SECRETS_KEY.into(),
            sync_queue: String::new(),
        }
    }

    /// Reads the environment that `template.yaml` sets. A function that does not use a resource
    /// gets no variable for it, and its permissions would refuse the use as well.
    ///
    /// # Errors
    /// Fails if the variable of the records table, which everything needs, is missing.
    pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let get = |i: usize| lookup(VARIABLES[i]).unwrap_or_default();
        let records = lookup(VARIABLES[0]).with_context(|| format!("set {}", VARIABLES[0]))?;

        Ok(Self {
            records,
            secrets: get(1),
            activity: get(2),
            bucket: get(3),
            process_queue: get(4),
            commit_queue: get(5),
            maintenance_queue: get(6),
            kms_key: get(7),
            sync_queue: get(8),
        })
    }

    /// Returns the address of the queue with this name, which is in the account and region of the
    /// queues that are known. Returns `None` if none is known.
    pub fn queue_address(&self, name: &str) -> Option<String> {
        let addresses = [
            &self.process_queue,
            &self.commit_queue,
            &self.maintenance_queue,
            &self.sync_queue,
        ];
        let known = addresses.into_iter().find(|address| !address.is_empty())?;
        let (account, _) = known.rsplit_once('/')?;
        Some(format!("{account}/{name}"))
    }

    /// Returns the variables and their values, for the environment of another process.
    pub fn to_environment(&self) -> Vec<(&'static str, String)> {
        let values = [
            &self.records,
            &self.secrets,
            &self.activity,
            &self.bucket,
            &self.process_queue,
            &self.commit_queue,
            &self.maintenance_queue,
            &self.kms_key,
            &self.sync_queue,
        ];

        let mut variables = Vec::with_capacity(VARIABLES.len());
        for (name, value) in zip(VARIABLES, values) {
            variables.push((name, value.clone()));
        }
        variables
    }
}
