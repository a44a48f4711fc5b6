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

    /// Returns the present deployment of a stack, or `None` if it is not recorded: `recollect deploy` was
    /// interrupted, or something else deployed the stack.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn present(account: &Account, stack: &DeployedStack) -> Result<Option<Self>> {
        let mut deployments = list_deployments(account, stack).await?;
        Ok(take_present(&mut deployments, stack.release()))
    }

    /// Returns what was deployed to a stack before the present deployment, or `None` if nothing was.
    ///
    /// # Errors
    /// Fails if S3 refuses.
    pub async fn previous(account: &Account, stack: &DeployedStack) -> Result<Option<Self>> {
        let mut deployments = list_deployments(account, stack).await?;
        take_present(&mut deployments, stack.release());
        Ok(deployments.pop())
    }
}

/// Takes the present deployment of a stack with this release from its recorded ones, if it is recorded.
fn take_present(deployments: &mut Vec<Deployment>, release: Option<&str>) -> Option<Deployment> {
    deployments.pop_if(|last| release == Some(&last.version))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn deployments(versions: &[&str]) -> Vec<Deployment> {
        let deployment = |version: &&str| Deployment {
            version: (*version).to_owned(),
            template_url: format!("https://artifacts.example.com/{version}"),
            parameters: Vec::new(),
            architecture: "arm64".to_owned(),
            deployed_at: 0,
        };
        versions.iter().map(deployment).collect()
    }

    #[test]
    fn the_last_deployment_is_the_present_one_only_if_the_stack_has_its_version() {
        for (recorded, release, present, previous) in [
            (&["0", "1"][..], Some("1"), Some("1"), Some("0")),
            // The deployment of version 2 was interrupted.
            (&["0", "1"], Some("2"), None, Some("1")),
            // Something else deployed the stack.
            (&["1", "2"], None, None, Some("2")),
            (&["1"], Some("1"), Some("1"), None),
            (&[], Some("1"), None, None),
        ] {
            let mut deployments = deployments(recorded);
            let version = |deployment: Option<Deployment>| deployment.map(|one| one.version);
            let found = version(take_present(&mut deployments, release));
            assert_eq!(found.as_deref(), present, "{recorded:?} {release:?}");
            let found = version(deployments.pop());
            assert_eq!(found.as_deref(), previous, "{recorded:?} {release:?}");
        }
    }
}
