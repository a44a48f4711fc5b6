//! The earlier deployments of a stack.

use anyhow::{Context, Result};
use domain::ports::Clock;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::artifacts::ArtifactBucket;
use crate::deployed::DeployedStack;
use crate::template::BuiltTemplate;

/// The number of deployments of a stack that are remembered.
const MAX_DEPLOYMENTS: usize = 20;

/// A template that was deployed, or is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// The version of Recollect.
    pub version: String,
    /// The address of the template.
    pub template_url: String,
    /// The names of the template's parameters.
    pub parameters: Vec<String>,
    /// The value of the parameter `Arch` for which the functions are built.
    pub architecture: String,
    /// The time of the deployment in milliseconds since 1970.
    pub deployed_at: i64,
}

impl Deployment {
    /// Uploads the functions and templates of a built template. `report` is told the name of each
    /// function before it is uploaded.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if S3 refuses.
    pub async fn upload(
        account: &Account,
        built: &BuiltTemplate,
        version: &str,
        report: impl FnMut(&str),
    ) -> Result<Self> {
        let bucket = ArtifactBucket::open(account).await?;
        let template_url = bucket.upload(built.clone(), version, report).await?;
        let parameters = built.parameters().into_iter().map(ToOwned::to_owned);
        Ok(Self {
            version: version.to_owned(),
            template_url,
            parameters: parameters.collect(),
            architecture: built.architecture()?.to_owned(),
            deployed_at: aws::SystemClock.now().as_millis(),
        })
    }

    /// Remembers that this was deployed to a stack.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn record(&self, account: &Account, stack: &DeployedStack) -> Result<()> {
        let mut deployments = list_deployments(account, stack).await?;
        // Going back to the deployment before twice goes forward again.
        deployments.retain(|known| known.template_url != self.template_url);
        deployments.push(self.clone());
        let excess = deployments.len().saturating_sub(MAX_DEPLOYMENTS);
        deployments.drain(..excess);
        let bytes = serde_json::to_vec(&deployments).context("cannot encode the deployments")?;
        ArtifactBucket::existing(account)
            .put_object(&history_key(stack), bytes)
            .await
    }

    /// Returns the present deployment of a stack, or `None` if `recollect deploy` did not make it.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn present(account: &Account, stack: &DeployedStack) -> Result<Option<Self>> {
        match stack.release() {
            Some(_) => Ok(list_deployments(account, stack).await?.pop()),
            None => Ok(None),
        }
    }

    /// Returns what was deployed to a stack before the present deployment, or `None` if nothing was.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn previous(account: &Account, stack: &DeployedStack) -> Result<Option<Self>> {
        let mut deployments = list_deployments(account, stack).await?;
        deployments.pop();
        Ok(deployments.pop())
    }
}

/// Returns the deployments of a stack, oldest first.
async fn list_deployments(account: &Account, stack: &DeployedStack) -> Result<Vec<Deployment>> {
    let key = history_key(stack);
    let Some(bytes) = ArtifactBucket::existing(account).get_object(&key).await? else {
        return Ok(Vec::new());
    };
    serde_json::from_slice(&bytes)
        .with_context(|| format!("{key} in the bucket of artifacts is damaged"))
}

/// Returns the key of the deployments of a stack. Its id ends with a UUID.
fn history_key(stack: &DeployedStack) -> String {
    let id = stack.id.rsplit('/').next().unwrap_or_default();
    format!("stacks/{}-{id}.json", stack.name)
}
