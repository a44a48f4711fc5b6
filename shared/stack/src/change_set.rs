//! Changes of a stack: described first, then carried out.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use aws_sdk_cloudformation::types::{
    Capability, ChangeAction, ChangeSetStatus, ChangeSetType, Parameter, PolicyAction, Replacement,
    ResourceStatus, RollbackConfiguration, RollbackTrigger, StackStatus,
};
use aws_smithy_types::DateTime;
use domain::ports::Clock;

use crate::account::Account;
use crate::deployed::DeployedStack;
use crate::stores::{check_data_key_stays, check_stores_stay};

/// The pause between two polls of a change.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The longest wait for the description of changes.
const DESCRIPTION_TIMEOUT: Duration = Duration::from_secs(300);
/// The longest time without a successful poll.
const POLL_TIMEOUT: Duration = Duration::from_secs(120);
/// The time within which changes begin.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The alarms that undo an update, without the name of the stack in front.
const WATCHED_ALARMS: [&str; 2] = ["server-errors", "function-errors"];
const ALARM: &str = "AWS::CloudWatch::Alarm";

/// The wanted state of a stack.
#[derive(Debug, Clone)]
pub struct ChangeSetRequest<'a> {
    /// The name of the stack.
    pub stack: &'a str,
    /// The address of its template.
    pub template_url: &'a str,
    /// The names of the template's parameters.
    pub declared_parameters: &'a [String],
    /// The parameters to set. The others keep their values, or have their defaults in a new stack.
    pub parameters: &'a BTreeMap<String, String>,
    /// The minutes for which alarms are watched after an update. One that fires undoes the update.
    pub watch_minutes: u32,
}

/// Changes that CloudFormation has worked out.
#[derive(Debug, Clone)]
pub struct ChangeSet {
    /// The changed resources.
    pub changes: Vec<ResourceChange>,
    /// `true` if there is no stack yet.
    pub is_new_stack: bool,
    stack: String,
    /// The id of the stack. A later stack of the same name has another one.
    stack_id: String,
    arn: String,
    created_at: DateTime,
}

/// The change of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceChange {
    /// The name of the resource in the template.
    pub name: String,
    /// Its type, such as `AWS::SQS::Queue`.
    pub kind: String,
    /// `Add`, `Modify` or `Remove`.
    pub action: String,
    /// `true` if the resource is replaced by another one, or may be. Its data would be lost.
    pub is_replaced: bool,
    /// `true` if a resource that is removed from the stack stays in the account.
    pub is_kept: bool,
}

/// An event of a stack that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackProgress {
    /// A resource is ready.
    Ready(String),
    /// A resource could not be changed, with the reason.
    Failed(String, String),
}

impl ChangeSet {
    /// Has CloudFormation work out the changes. Returns `None` if there are none.
    ///
    /// # Errors
    /// Fails if the stack cannot be changed as it is, or if CloudFormation refuses the template or a
    /// parameter.
    pub async fn create(account: &Account, request: &ChangeSetRequest<'_>) -> Result<Option<Self>> {
        let present = DeployedStack::find(account, request.stack).await?;
        let present = present.filter(|stack| stack.status != StackStatus::ReviewInProgress);
        if let Some(stack) = &present {
            check_changeable(stack, &account.region)?;
        }

        let none = BTreeMap::new();
        let known = present.as_ref().map_or(&none, |stack| &stack.parameters);
        let mut create = account
            .cloudformation
            .create_change_set()
            .stack_name(request.stack)
            .change_set_name(format!("recollect-{}", name_suffix(request)))
            .template_url(request.template_url)
            .capabilities(Capability::CapabilityIam)
            .set_parameters(Some(list_parameters(request, known)?));
        create = match &present {
            Some(_) => create
                .change_set_type(ChangeSetType::Update)
                .rollback_configuration(watched_alarms(account, request).await?),
            None => create.change_set_type(ChangeSetType::Create),
        };

        let created = create.send().await.with_context(|| {
            format!(
                "CloudFormation refuses to change the stack {}",
                request.stack
            )
        })?;
        let change_set = Self {
            changes: Vec::new(),
            is_new_stack: present.is_none(),
            stack: request.stack.to_owned(),
            stack_id: created.stack_id().unwrap_or(request.stack).to_owned(),
            arn: created
                .id()
                .context("CloudFormation names no change set")?
                .to_owned(),
            created_at: DateTime::from_secs(0),
        };
        change_set.describe(account).await
    }

    /// Waits for the description of the changes.
    async fn describe(mut self, account: &Account) -> Result<Option<Self>> {
        let description = tokio::time::timeout(DESCRIPTION_TIMEOUT, async {
            loop {
                let page = self.describe_page(account, None).await?;
                match page.status() {
                    Some(ChangeSetStatus::CreatePending | ChangeSetStatus::CreateInProgress)
                    | None => {
                        tokio::time::sleep(POLL_INTERVAL).await;
                    }
                    Some(_) => return anyhow::Ok(page),
                }
            }
        });
        let described = description.await;
        if described.is_err() {
            self.discard(account).await.ok();
        }
        let mut page =
            described.context("CloudFormation has not described the changes in time")??;

        if page.status() != Some(&ChangeSetStatus::CreateComplete) {
            let reason = page
                .status_reason()
                .unwrap_or("no reason is given")
                .to_owned();
            // The reason counts more than what is left of the attempt.
            self.discard(account).await.ok();
            if reason.contains("didn't contain changes")
                || reason.contains("No updates are to be performed")
            {
                return Ok(None);
            }
            bail!("CloudFormation refuses the changes: {reason}");
        }

        if let Some(time) = page.creation_time() {
            self.created_at = *time;
        }
        loop {
            for change in page
                .changes()
                .iter()
                .filter_map(|change| change.resource_change())
            {
                self.changes.push(ResourceChange {
                    name: change.logical_resource_id().unwrap_or_default().to_owned(),
                    kind: change.resource_type().unwrap_or_default().to_owned(),
                    action: change
                        .action()
                        .map_or("Modify", ChangeAction::as_str)
                        .to_owned(),
                    is_kept: change.policy_action() == Some(&PolicyAction::Retain),
                    is_replaced: matches!(
                        change.replacement(),
                        Some(Replacement::True | Replacement::Conditional)
                    ),
                });
            }
            let Some(token) = page.next_token().map(ToOwned::to_owned) else {
                return Ok(Some(self));
            };
            page = self.describe_page(account, Some(token)).await?;
        }
    }

    async fn describe_page(
        &self,
        account: &Account,
        token: Option<String>,
    ) -> Result<aws_sdk_cloudformation::operation::describe_change_set::DescribeChangeSetOutput>
    {
        let describe = account.cloudformation.describe_change_set();
        describe
            .change_set_name(&self.arn)
            .set_next_token(token)
            .send()
            .await
            .context("cannot describe the changes")
    }

    /// Drops the changes, and the empty stack that CloudFormation has made for them.
    ///
    /// # Errors
    /// Fails if CloudFormation refuses.
    pub async fn discard(&self, account: &Account) -> Result<()> {
        let client = &account.cloudformation;
        let delete = client.delete_change_set().change_set_name(&self.arn);
        delete
            .send()
            .await
            .context("cannot delete the change set")?;
        // Somebody else may have begun to create the stack meanwhile.
        let stack = DeployedStack::find(account, &self.stack_id).await?;
        if stack.is_some_and(|stack| stack.status == StackStatus::ReviewInProgress) {
            let delete = client.delete_stack().stack_name(&self.stack_id);
            delete
                .send()
                .await
                .context("cannot delete the empty stack")?;
        }
        Ok(())
    }

    /// Executes the change set, and waits until it ends. Calls `report` with each event.
    ///
    /// # Errors
    /// Fails if a change fails. CloudFormation then rolls the stack back.
    pub async fn execute(
        &self,
        account: &Account,
        mut report: impl FnMut(StackProgress),
    ) -> Result<DeployedStack> {
        let execute = account.cloudformation.execute_change_set();
        execute
            .change_set_name(&self.arn)
            .send()
            .await
            .context("cannot start the changes")?;

        let mut reported = HashSet::new();
        let mut first_failure = None;
        let (begun, mut is_seen) = (Instant::now(), false);
        let mut last_poll = begun;
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let (stack, news) = match self.poll(account, &mut reported).await {
                Ok(polled) => polled,
                Err(error) if last_poll.elapsed() > POLL_TIMEOUT => {
                    let stack = &self.stack;
                    return Err(error.context(format!(
                        "cannot read the progress of the stack {stack}. When it is done, run the same command again"
                    )));
                }
                Err(_) => continue,
            };
            last_poll = Instant::now();
            for progress in news {
                if let StackProgress::Failed(resource, reason) = &progress {
                    first_failure.get_or_insert_with(|| format!("{resource}: {reason}"));
                }
                is_seen = true;
                report(progress);
            }
            // Until CloudFormation begins, the stack has the status of the change before.
            is_seen |= stack.is_changing();
            if stack.is_changing() || (!is_seen && begun.elapsed() < START_TIMEOUT) {
                continue;
            }

            return match stack.status {
                StackStatus::CreateComplete | StackStatus::UpdateComplete => Ok(stack),
                status => {
                    let reason = first_failure.or(stack.status_reason);
                    let reason = reason.unwrap_or_else(|| "no reason is given".to_owned());
                    bail!("the stack {} ended as {status}: {reason}", self.stack)
                }
            };
        }
    }

    /// Returns the stack, and its events since the last call. The status is read before the events, so that the
    /// last poll has the last events.
    async fn poll(
        &self,
        account: &Account,
        reported: &mut HashSet<String>,
    ) -> Result<(DeployedStack, Vec<StackProgress>)> {
        let stack = DeployedStack::get(account, &self.stack).await?;
        let news = self.list_progress(account, reported).await?;
        Ok((stack, news))
    }

    /// Returns the events since the last call, oldest first. `reported` has the ids of those that were returned
    /// before.
    async fn list_progress(
        &self,
        account: &Account,
        reported: &mut HashSet<String>,
    ) -> Result<Vec<StackProgress>> {
        let mut progress = Vec::new();
        let mut token = None;
        'pages: loop {
            let describe = account.cloudformation.describe_stack_events();
            let page = describe
                .stack_name(&self.stack)
                .set_next_token(token)
                .send()
                .await
                .context("cannot read the events of the stack")?;
            for event in page.stack_events() {
                let is_earlier = event
                    .timestamp()
                    .is_some_and(|time| *time < self.created_at);
                let id = event.event_id().unwrap_or_default();
                if is_earlier || !reported.insert(id.to_owned()) {
                    break 'pages;
                }
                let resource = event.logical_resource_id().unwrap_or_default().to_owned();
                let reason = || {
                    event
                        .resource_status_reason()
                        .unwrap_or("no reason is given")
                        .to_owned()
                };
                match event.resource_status() {
                    Some(ResourceStatus::CreateComplete | ResourceStatus::UpdateComplete) => {
                        progress.push(StackProgress::Ready(resource));
                    }
                    Some(
                        ResourceStatus::CreateFailed
                        | ResourceStatus::UpdateFailed
                        | ResourceStatus::DeleteFailed
                        // An alarm that undoes an update is named by the stack itself.
                        | ResourceStatus::RollbackInProgress
                        | ResourceStatus::UpdateRollbackInProgress,
                    ) => progress.push(StackProgress::Failed(resource, reason())),
                    _ => {}
                }
            }
            token = page.next_token().map(ToOwned::to_owned);
            if token.is_none() {
                break;
            }
        }
        progress.reverse();
        Ok(progress)
    }
}

/// Checks whether CloudFormation takes changes of a stack.
fn check_changeable(stack: &DeployedStack, region: &str) -> Result<()> {
    let name = &stack.name;
    match &stack.status {
        StackStatus::RollbackComplete | StackStatus::RollbackFailed | StackStatus::CreateFailed => {
            bail!(
                "the stack {name} was never completely created. Delete it, then deploy again: \
             aws cloudformation delete-stack --region {region} --stack-name {name}"
            )
        }
        StackStatus::UpdateRollbackFailed => bail!(
            "CloudFormation could not undo the last change of the stack {name}. Run first: \
             aws cloudformation continue-update-rollback --region {region} --stack-name {name}"
        ),
        status if stack.is_changing() => {
            bail!(
                "the stack {name} is being changed by somebody ({status}); try again when that is done"
            )
        }
        _ => Ok(()),
    }
}

/// Returns the parameters of the change: those that are set, and for the others of a present stack the
/// values that they have. `known` are the parameters of the present stack.
fn list_parameters(
    request: &ChangeSetRequest<'_>,
    known: &BTreeMap<String, String>,
) -> Result<Vec<Parameter>> {
    check_stores_stay(known, request.declared_parameters)?;
    check_data_key_stays(known, request.parameters)?;
    for name in request.parameters.keys() {
        if !request.declared_parameters.contains(name) {
            bail!(
                "there is no parameter {name}; there are: {}",
                request.declared_parameters.join(", ")
            );
        }
    }

    let mut parameters = Vec::new();
    for name in request.declared_parameters {
        let parameter = Parameter::builder().parameter_key(name);
        if let Some(value) = request.parameters.get(name) {
            parameters.push(parameter.parameter_value(value).build());
        } else if known.contains_key(name) {
            parameters.push(parameter.use_previous_value(true).build());
        }
    }
    Ok(parameters)
}

/// Returns the alarms that undo an update. CloudFormation refuses alarms that do not exist.
async fn watched_alarms(
    account: &Account,
    request: &ChangeSetRequest<'_>,
) -> Result<RollbackConfiguration> {
    let configuration = RollbackConfiguration::builder();
    if request.watch_minutes == 0 {
        // Without these, CloudFormation keeps what an earlier update has set.
        return Ok(configuration
            .monitoring_time_in_minutes(0)
            .set_rollback_triggers(Some(Vec::new()))
            .build());
    }

    let names = WATCHED_ALARMS.map(|alarm| format!("{}-{alarm}", request.stack));
    let describe = account.cloudwatch.describe_alarms();
    let found = describe
        .set_alarm_names(Some(names.to_vec()))
        .send()
        .await
        .context("cannot read the alarms")?;
    let arns = found
        .metric_alarms()
        .iter()
        .filter_map(|alarm| alarm.alarm_arn());
    let triggers: Vec<RollbackTrigger> = arns
        .map(|arn| RollbackTrigger::builder().arn(arn).r#type(ALARM).build())
        .collect();
    if triggers.is_empty() {
        bail!(
            "the stack {} has no alarms to watch: leave out --watch, or deploy first with --parameter Monitoring=basic",
            request.stack
        );
    }
    Ok(configuration
        .monitoring_time_in_minutes(request.watch_minutes.cast_signed())
        .set_rollback_triggers(Some(triggers))
        .build())
}

/// Returns the end of the name of a change set: the digest in the address of the template, and the time.
fn name_suffix(request: &ChangeSetRequest<'_>) -> String {
    let file = request.template_url.rsplit('/').next().unwrap_or_default();
    let digest: String = file.chars().take(12).collect();
    format!("{digest}-{}", aws::SystemClock.now().as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_set_kept_or_left_to_their_defaults() {
        let declared = ["Arch", "Stage", "New"].map(str::to_owned);
        let set = BTreeMap::from([("Stage".to_owned(), "prod".to_owned())]);
        let mut request = ChangeSetRequest {
            stack: "recollect",
            template_url: "https://example.com/templates/1.json",
            declared_parameters: &declared,
            parameters: &set,
            watch_minutes: 0,
        };

        let known = ["Arch", "Stage", "Gone"].map(|name| (name.to_owned(), "a".to_owned()));
        let known = BTreeMap::from(known);
        let listed = list_parameters(&request, &known).unwrap();
        let listed: Vec<_> = listed
            .iter()
            .map(|one| {
                (
                    one.parameter_key().unwrap(),
                    one.parameter_value(),
                    one.use_previous_value(),
                )
            })
            .collect();
        assert_eq!(
            listed,
            [("Arch", None, Some(true)), ("Stage", Some("prod"), None)]
        );

        let wrong = BTreeMap::from([("Stag".to_owned(), "prod".to_owned())]);
        request.parameters = &wrong;
        let error = list_parameters(&request, &known).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no parameter Stag; there are: Arch, Stage, New"
        );
    }

    #[test]
    fn a_version_that_does_not_know_a_store_in_use_is_refused() {
        let declared = ["Arch"].map(str::to_owned);
        let set = BTreeMap::new();
        let request = ChangeSetRequest {
            stack: "recollect",
            template_url: "https://example.com/templates/1.json",
            declared_parameters: &declared,
            parameters: &set,
            watch_minutes: 0,
        };

        let known =
            |table: &str| BTreeMap::from([("RecordsTableName".to_owned(), table.to_owned())]);
        assert!(list_parameters(&request, &known("")).is_ok());
        let error = list_parameters(&request, &known("restored")).unwrap_err();
        assert!(error.to_string().contains("RecordsTableName"), "{error}");
    }

    #[test]
    fn the_key_of_the_data_stays() {
        let declared = ["DataKeyArn"].map(str::to_owned);
        let parameters = |arn: &str| BTreeMap::from([("DataKeyArn".to_owned(), arn.to_owned())]);
        let change = |present: &BTreeMap<String, String>, set: &BTreeMap<String, String>| {
            let request = ChangeSetRequest {
                stack: "recollect",
                template_url: "https://example.com/templates/1.json",
                declared_parameters: &declared,
                parameters: set,
                watch_minutes: 0,
            };
            list_parameters(&request, present).map_err(|error| error.to_string())
        };
        let (new_stack, none) = (BTreeMap::new(), BTreeMap::new());
        assert!(change(&new_stack, &parameters("key-1")).is_ok());
        assert!(change(&parameters("key-1"), &parameters("key-1")).is_ok());
        assert!(change(&parameters("key-1"), &none).is_ok());
        for (present, next) in [("key-1", ""), ("key-1", "key-2"), ("", "key-1")] {
            let error = change(&parameters(present), &parameters(next)).unwrap_err();
            assert!(error.contains("at its first deployment"), "{error}");
        }
        // A stack of a version that does not have the parameter.
        let earlier = BTreeMap::from([("Stage".to_owned(), "dev".to_owned())]);
        assert!(change(&earlier, &parameters("key-1")).is_err());
    }
}
