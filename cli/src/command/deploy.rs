//! `recollect deploy` and `recollect rollback`: change a stack on AWS, and test it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use domain::Tenant;
use service::{Ctx, create_key, list_keys};
use stack::{
    Account, BuiltTemplate, ChangeSet, ChangeSetRequest, DeployedStack, Deployment, ResourceChange,
    StackProgress, check_stores, connect_bucket,
};

use super::confirm::{ask, check_terminal};
use super::doctor::VERSION;
use super::place::{full_key, open_stack, operator_tenant};
use super::progress::progress_bar;
use super::trial::{TRIAL_KEY_NAME, try_deployment};
use crate::arguments::{ChangeOptions, Deploy, Rollback, StackOptions};

/// The exit code if the stack was changed, but does not do its work.
const EXIT_TRIAL_FAILED: u8 = 3;
/// The parameter that says for which processor the functions were built.
const ARCHITECTURE: &str = "Arch";
/// The progress of uploads and changes.
const PROGRESS_TEMPLATE: &str = "[{bar:24}] {pos}/{len} {msg}";
/// The resource types of which replacement loses data.
const STORES: [&str; 4] = [
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
    "AWS::KMS::Key",
];

pub(super) async fn run_deploy(options: Deploy) -> Result<ExitCode> {
    let change = StackChange::new(options.change)?;
    let built = BuiltTemplate::open(&options.functions)?;
    let account = connect(&options.stack).await?;

    let bar = progress_bar(PROGRESS_TEMPLATE, built.functions().len())?;
    bar.set_message("Uploading");
    let uploaded = Deployment::upload(&account, &built, VERSION, |function| {
        bar.set_message(format!("Uploading {function}"));
        bar.inc(1);
    });
    let deployment = uploaded.await;
    bar.finish_and_clear();
    let deployment = deployment?;
    print_line!("Uploaded the functions.");
    change
        .apply(&account, &options.stack.stack, &deployment)
        .await
}

pub(super) async fn run_rollback(options: Rollback) -> Result<ExitCode> {
    let change = StackChange::new(options.change)?;
    let account = connect(&options.stack).await?;
    let name = &options.stack.stack;
    let stack = DeployedStack::get(&account, name).await?;
    let Some(previous) = Deployment::previous(&account, &stack).await? else {
        bail!("there is no earlier deployment of the stack {name} to go back to");
    };
    print_line!("Going back to version {}.", previous.version);
    change.apply(&account, name, &previous).await
}

/// Connects to the account of a stack, and prints where that is.
pub(super) async fn connect(options: &StackOptions) -> Result<Account> {
    let account = Account::connect(options.region.as_deref()).await?;
    print_line!(
        "Account {}, region {}, stack {}.",
        account.id,
        account.region,
        options.stack
    );
    Ok(account)
}

/// A change of a stack, with its checked options.
pub(super) struct StackChange {
    options: ChangeOptions,
    parameters: BTreeMap<String, String>,
    tenant: Tenant,
}

impl StackChange {
    /// Checks the options before anything is done.
    pub(super) fn new(options: ChangeOptions) -> Result<Self> {
        if !options.yes {
            check_terminal()?;
        }
        Ok(Self {
            parameters: options.parameters.iter().cloned().collect(),
            tenant: operator_tenant(&options.org)?,
            options,
        })
    }

    /// Sets a parameter of the template.
    ///
    /// # Errors
    /// Fails if the options set it.
    pub(super) fn set_parameter(&mut self, name: &str, value: String) -> Result<()> {
        if self.parameters.insert(name.to_owned(), value).is_some() {
            bail!("the parameter {name} cannot be set here");
        }
        Ok(())
    }

    /// Asks on the terminal, unless that is not wanted, for a command that does more than the change. The
    /// change is then not asked about again. Returns `false` if the command may not go on.
    pub(super) fn confirm_before(&mut self, question: &str) -> Result<bool> {
        self.options.yes = self.options.yes || ask(question)?;
        Ok(self.options.yes)
    }

    /// Changes the stack to a deployment, tries it, and makes the first key.
    pub(super) async fn apply(
        mut self,
        account: &Account,
        name: &str,
        deployment: &Deployment,
    ) -> Result<ExitCode> {
        self.set_architecture(&deployment.architecture)?;
        check_stores(account, &self.parameters).await?;
        let request = ChangeSetRequest {
            stack: name,
            template_url: &deployment.template_url,
            declared_parameters: &deployment.parameters,
            parameters: &self.parameters,
            watch_minutes: self.options.watch,
        };
        let stack = match ChangeSet::create(account, &request).await? {
            None => {
                print_line!("The stack is already up to date.");
                DeployedStack::get(account, name).await?
            }
            Some(changes) => {
                print_changes(&changes);
                let confirmed = self.is_confirmed(&changes);
                if !matches!(confirmed, Ok(true)) {
                    changes.discard(account).await?;
                    print_line!("Nothing was changed.");
                    return confirmed.map(|_| ExitCode::SUCCESS);
                }
                execute(account, &changes).await?
            }
        };
        deployment.record(account, &stack).await?;
        connect_bucket(account, &stack).await?;

        let ctx = open_stack(account, &stack)?;
        let url = stack.api_url()?;
        print_line!("\nAPI:      {url}\nConsole:  {url}/");
        print_line!("Cost:     less than $3 a month without requests, with the default parameters");
        let exit_code = match self.options.no_trial {
            true => ExitCode::SUCCESS,
            false => self.report_trial(account, &ctx, name, url).await,
        };
        if !self.options.no_key {
            create_first_key(&ctx, &self.tenant).await?;
        }
        Ok(exit_code)
    }

    /// Sets the parameter [`ARCHITECTURE`] to that of the functions, unless it is set to it.
    fn set_architecture(&mut self, architecture: &str) -> Result<()> {
        let wanted = self.parameters.entry(ARCHITECTURE.to_owned());
        let wanted = wanted.or_insert_with(|| architecture.to_owned());
        if wanted != architecture {
            bail!("the functions are built for {architecture}, not for {wanted}");
        }
        Ok(())
    }

    /// Returns whether the changes may be made. Asks on the terminal, unless that is not wanted.
    fn is_confirmed(&self, changes: &ChangeSet) -> Result<bool> {
        if !self.options.yes {
            return ask("Change the stack?");
        }
        let loses_data = changes
            .changes
            .iter()
            .any(|change| data_loss(change).is_some());
        if loses_data && !self.options.allow_data_loss {
            bail!(
                "data may be lost: look at the changes, and give --allow-data-loss if you mean it"
            );
        }
        Ok(true)
    }

    /// Tries the deployment, and prints how that went.
    async fn report_trial(&self, account: &Account, ctx: &Ctx, name: &str, url: &str) -> ExitCode {
        match try_deployment(ctx, &self.tenant, url).await {
            Ok(times) => {
                print_line!("Trial:    {times}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                let region = &account.region;
                print_line!(
                    "The trial failed: {error:#}\nLook further with: recollect doctor --stack {name} --region {region}"
                );
                ExitCode::from(EXIT_TRIAL_FAILED)
            }
        }
    }
}

fn print_changes(changes: &ChangeSet) {
    if changes.is_new_stack {
        print_line!("A new stack of {} resources.", changes.changes.len());
        return;
    }
    print_line!("{} resources change:", changes.changes.len());
    for change in &changes.changes {
        let warning = match data_loss(change) {
            Some(warning) => warning,
            None if change.is_kept => "  leaves the stack, and keeps its data",
            None => "",
        };
        print_line!(
            "  {:<7} {:<32} {}{warning}",
            change.action,
            change.name,
            change.kind
        );
    }
}

/// Returns the warning about a change of a resource that holds data.
fn data_loss(change: &ResourceChange) -> Option<&'static str> {
    if !STORES.contains(&change.kind.as_str()) {
        None
    } else if change.is_replaced {
        Some("  REPLACED: ITS DATA MAY BE LOST")
    } else if change.action == "Remove" && !change.is_kept {
        Some("  REMOVED: ITS DATA MAY BE LOST")
    } else {
        None
    }
}

async fn execute(account: &Account, changes: &ChangeSet) -> Result<DeployedStack> {
    let bar = progress_bar(PROGRESS_TEMPLATE, changes.changes.len())?;
    bar.set_message("Changing the stack");
    let stack = changes.execute(account, |progress| match progress {
        StackProgress::Ready(resource) => {
            bar.set_message(resource);
            bar.inc(1);
        }
        StackProgress::Failed(resource, reason) => {
            bar.println(format!("{resource} failed: {reason}"))
        }
    });
    let stack = stack.await;
    bar.finish_and_clear();
    stack
}

/// Makes a key for an organization that never had one, but for trials, and prints it on the last line.
async fn create_first_key(ctx: &Ctx, tenant: &Tenant) -> Result<()> {
    let keys = list_keys(ctx, tenant).await?;
    if keys.iter().any(|key| key.name != TRIAL_KEY_NAME) {
        return Ok(());
    }
    let spec = full_key("first key", None);
    let key = create_key(ctx, tenant, spec).await?;
    print_line!(
        "The first key of the organization {}. It is shown only now:\n{}",
        tenant.org(),
        key.key_text
    );
    Ok(())
}
