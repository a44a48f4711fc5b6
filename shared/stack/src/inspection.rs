//! Finds faults of a deployment.

use anyhow::{Context, Result};
use aws::QueueReceiver;
use aws_sdk_cloudformation::types::StackStatus;
use aws_sdk_cloudwatch::types::StateValue;

use crate::account::Account;
use crate::deployed::DeployedStack;
use crate::stores::{DataKey, ENABLED};

/// The number of waiting messages from which a queue counts as behind.
const MANY_MESSAGES: u64 = 1_000;
/// The subject of findings about the key that encrypts the data.
const DATA_KEY: &str = "data key";
/// The alarms of `infra/monitoring.yaml`, without the name of the stack in front.
const ALARMS: [&str; 10] = [
    "dead-letters",
    "oldest-message",
    "server-errors",
    "function-errors",
    "function-throttles",
    "mcp-errors",
    "reader-errors",
    "table-throttles",
    "sweep-silent",
    "recall-tasks",
];

/// The state of a part of the deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The name of the part, such as `stack`.
    pub subject: String,
    /// The state of the part, with advice if something is wrong.
    pub message: String,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// All is well.
    Fine,
    /// Somebody should look at it.
    Warning,
    /// Something does not work.
    Problem,
}

impl Finding {
    /// Creates a finding.
    pub fn new(severity: Severity, subject: &str, message: impl Into<String>) -> Self {
        Self {
            severity,
            subject: subject.to_owned(),
            message: message.into(),
        }
    }

    /// Returns the finding that something could not be looked at, or failed.
    pub fn failure(subject: &str, error: &anyhow::Error) -> Self {
        Self::new(Severity::Problem, subject, format!("{error:#}"))
    }
}

impl DeployedStack {
    /// Looks at the stack, its version, its key, its queues and its alarms. `version` is that of this program.
    /// A part that cannot be inspected is a problem too.
    pub async fn inspect(&self, account: &Account, version: &str) -> Vec<Finding> {
        let mut findings = vec![self.inspect_status(), self.inspect_release(version)];
        findings.extend(self.inspect_data_key(account).await);
        if let Err(error) = self.inspect_queues(account, &mut findings).await {
            findings.push(Finding::failure("queues", &error));
        }
        match self.inspect_alarms(account).await {
            Ok(finding) => findings.push(finding),
            Err(error) => findings.push(Finding::failure("alarms", &error)),
        }
        findings
    }

    fn inspect_status(&self) -> Finding {
        let status = &self.status;
        let severity = match status {
            StackStatus::CreateComplete
            | StackStatus::UpdateComplete
            | StackStatus::UpdateCompleteCleanupInProgress => Severity::Fine,
            _ if self.is_changing() => Severity::Warning,
            StackStatus::UpdateRollbackComplete => Severity::Warning,
            _ => Severity::Problem,
        };
        let message = match (&self.status_reason, severity) {
            (Some(reason), Severity::Warning | Severity::Problem) => format!("{status}: {reason}"),
            _ => status.to_string(),
        };
        Finding::new(severity, "stack", message)
    }

    fn inspect_release(&self, version: &str) -> Finding {
        match self.release() {
            Some(release) if release == version => Finding::new(Severity::Fine, "version", release),
            Some(release) => Finding::new(
                Severity::Warning,
                "version",
                format!(
                    "{release} is deployed, but this program is {version}: use the same version"
                ),
            ),
            None => Finding::new(
                Severity::Warning,
                "version",
                "unknown, because the stack was not deployed by `recollect deploy`",
            ),
        }
    }

    async fn inspect_data_key(&self, account: &Account) -> Option<Finding> {
        let (severity, message) = match self.data_key(account).await {
            Ok(None) => return None,
            Err(error) => return Some(Finding::failure(DATA_KEY, &error)),
            Ok(Some(DataKey {
                state,
                other_stores,
            })) => match state.as_str() {
                ENABLED if other_stores.is_empty() => (Severity::Fine, "enabled".to_owned()),
                ENABLED => (
                    Severity::Warning,
                    format!("it does not encrypt {}", other_stores.join(" and ")),
                ),
                state => (
                    Severity::Problem,
                    format!(
                        "it is {state}, so data cannot be read: cancel its deletion if there is one, and enable it \
                         within seven days after it was disabled (`aws kms enable-key`)"
                    ),
                ),
            },
        };
        Some(Finding::new(severity, DATA_KEY, message))
    }

    async fn inspect_queues(&self, account: &Account, findings: &mut Vec<Finding>) -> Result<()> {
        for (name, queue, dead_letter_queue) in self.queues()? {
            let subject = format!("queue {name}");
            let depth = depth_of(account, queue).await?;
            let severity = match depth.waiting {
                MANY_MESSAGES.. => Severity::Warning,
                _ => Severity::Fine,
            };
            let message = format!(
                "{} waiting, {} in progress",
                depth.waiting, depth.in_progress
            );
            findings.push(Finding::new(severity, &subject, message));

            let dead = depth_of(account, dead_letter_queue).await?;
            let count = dead.waiting + dead.in_progress;
            if count > 0 {
                let message = format!(
                    "could not handle {count} messages; they are in {dead_letter_queue}: see \"a message is in a \
                     dead-letter queue\" in docs/operate.md"
                );
                findings.push(Finding::new(Severity::Problem, &subject, message));
            }
        }
        Ok(())
    }

    async fn inspect_alarms(&self, account: &Account) -> Result<Finding> {
        let names = ALARMS.map(|alarm| format!("{}-{alarm}", self.name));
        let describe = account.cloudwatch.describe_alarms();
        let found = describe
            .set_alarm_names(Some(names.to_vec()))
            .send()
            .await
            .context("cannot read the alarms")?;
        let mut firing = Vec::new();
        for alarm in found.metric_alarms() {
            if alarm.state_value() == Some(&StateValue::Alarm) {
                firing.extend(alarm.alarm_name());
            }
        }

        Ok(match (found.metric_alarms().len(), firing.as_slice()) {
            (0, _) => Finding::new(
                Severity::Warning,
                "alarms",
                "none: nobody is told when something fails (deploy with --parameter Monitoring=on)",
            ),
            (count, []) => Finding::new(Severity::Fine, "alarms", format!("none of {count} fires")),
            (_, firing) => Finding::new(
                Severity::Problem,
                "alarms",
                format!("firing: {}", firing.join(", ")),
            ),
        })
    }
}

async fn depth_of(account: &Account, queue: &str) -> Result<aws::QueueDepth> {
    let receiver = QueueReceiver::new(account.sqs.clone(), queue.to_owned());
    receiver
        .depth()
        .await
        .with_context(|| format!("cannot look at the queue {queue}"))
}
