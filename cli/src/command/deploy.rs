//! `recollect deploy` and `recollect rollback`: change a stack on AWS, and try it.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use domain::Tenant;
use domain::key::{KeyKind, KeySpec, Permission};
use indicatif::{ProgressBar, ProgressStyle};
use service::{Ctx, create_key, list_keys};
use stack::{
    Account, BuiltTemplate, ChangeSet, ChangeSetRequest, DeployedStack, Deployment, StackProgress,
};

use super::doctor::VERSION;
use super::place::{open_stack, operator_tenant};
use super::trial::try_deployment;
use crate::arguments::{ChangeOptions, Deploy, Rollback, StackOptions};

/// The exit code if the stack was changed, but does not do its work.
const EXIT_TRIAL_FAILED: u8 = 3;
/// The parameter that says for which processor the functions were built.
const ARCHITECTURE: &str = "Arch";
/// The resource types of which replacement loses data.
const STORES: [&str; 4] = [
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
    "AWS::KMS::Key",
];

#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(super) async fn run_deploy(options: Deploy) -> Result<ExitCode> {
    let built = BuiltTemplate::open(&options.functions)?;
    let account = connect(&options.stack).await?;
    let mut parameters: BTreeMap<String, String> =
        options.change.parameters.iter().cloned().collect();
    set_architecture(&built, &mut parameters)?;

    let bar = progress_bar(built.functions().len(), "Uploading")?;
    let uploaded = Deployment::upload(&account, &built, VERSION, |function| {
        bar.set_message(format!("Uploading {function}"));
        bar.inc(1);
    });
    let deployment = uploaded.await;
    bar.finish_and_clear();
    let deployment = deployment?;
    println!("The functions of version {VERSION} are in the bucket of artifacts.");
    change_stack(
        &account,
        &options.stack.stack,
        &deployment,
        &parameters,
        &options.change,
    )
    .await
}

#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(super) async fn run_rollback(options: Rollback) -> Result<ExitCode> {
    let account = connect(&options.stack).await?;
    let name = &options.stack.stack;
    let Some(previous) = Deployment::previous(&account, name).await? else {
        bail!("nothing else was deployed to the stack {name} by `recollect deploy`");
    };
    println!("The deployment before was of version {}.", previous.version);
    let parameters = options.change.parameters.iter().cloned().collect();
    change_stack(&account, name, &previous, &parameters, &options.change).await
}

#[expect(clippy::print_stdout, reason = "the answer of a command")]
async fn connect(options: &StackOptions) -> Result<Account> {
    let account = Account::connect(options.region.as_deref()).await?;
    println!(
        "Account {}, region {}, stack {}.",
        account.id, account.region, options.stack
    );
    Ok(account)
}

/// Sets the parameter [`ARCHITECTURE`] to that of the functions, unless it is set to it.
fn set_architecture(
    built: &BuiltTemplate,
    parameters: &mut BTreeMap<String, String>,
) -> Result<()> {
    let architecture = built.architecture()?;
    let wanted = parameters.entry(ARCHITECTURE.to_owned());
    let wanted = wanted.or_insert_with(|| architecture.to_owned());
    if wanted != architecture {
        bail!("the functions are built for {architecture}, not for {wanted}");
    }
    Ok(())
}

/// Changes the stack to a deployment, makes the first key, and tries it.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
async fn change_stack(
    account: &Account,
    name: &str,
    deployment: &Deployment,
    parameters: &BTreeMap<String, String>,
    options: &ChangeOptions,
) -> Result<ExitCode> {
    let tenant = operator_tenant(&options.org)?;
    let request = ChangeSetRequest {
        stack: name,
        template_url: &deployment.template_url,
        declared_parameters: &deployment.parameters,
        parameters,
        watch_minutes: options.watch,
    };
    let stack = match ChangeSet::create(account, &request).await? {
        None => {
            println!("The stack is as it should be already.");
            DeployedStack::get(account, name).await?
        }
        Some(changes) => {
            print_changes(&changes);
            if !options.yes && !confirm()? {
                changes.discard(account).await?;
                println!("Nothing was changed.");
                return Ok(ExitCode::SUCCESS);
            }
            let stack = execute(account, &changes).await?;
            deployment.record(account, name).await?;
            stack
        }
    };

    let ctx = open_stack(account, &stack)?;
    let url = stack.api_url()?;
    println!("\nAPI:      {url}\nConsole:  {url}/");
    println!("Cost:     less than $3 a month without requests, with the default parameters");
    let exit_code = match options.no_trial {
        true => ExitCode::SUCCESS,
        false => report_trial(&ctx, &tenant, url).await,
    };
    create_first_key(&ctx, &tenant, &options.org).await?;
    Ok(exit_code)
}

#[expect(clippy::print_stdout, reason = "the answer of a command")]
fn print_changes(changes: &ChangeSet) {
    if changes.is_new_stack {
        println!("A new stack of {} resources.", changes.changes.len());
        return;
    }
    println!("{} resources change:", changes.changes.len());
    for change in &changes.changes {
        let warning = match change.is_replaced && STORES.contains(&change.kind.as_str()) {
            true => "  REPLACED: ITS DATA MAY BE LOST",
            false => "",
        };
        println!(
            "  {:<7} {:<32} {}{warning}",
            change.action, change.name, change.kind
        );
    }
}

/// Asks on the terminal whether to go on.
#[expect(clippy::print_stdout, reason = "a question to the user")]
fn confirm() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("nobody can be asked here: give --yes to change the stack");
    }
    print!("Change the stack? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

async fn execute(account: &Account, changes: &ChangeSet) -> Result<DeployedStack> {
    let bar = progress_bar(changes.changes.len(), "Changing the stack")?;
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

/// Returns a progress bar on standard error, hidden if that is not a terminal.
fn progress_bar(length: usize, message: &'static str) -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("[{bar:24}] {pos}/{len} {msg}")?.progress_chars("=> ");
    let bar = ProgressBar::new(u64::try_from(length)?).with_style(style);
    Ok(bar.with_message(message))
}

/// Tries the deployment, and prints how that went.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
async fn report_trial(ctx: &Ctx, tenant: &Tenant, url: &str) -> ExitCode {
    match try_deployment(ctx, tenant, url).await {
        Ok(times) => {
            let (done, search) = (times.done.as_secs_f64(), times.search.as_millis());
            println!(
                "Tried:    a document was done after {done:.1} s and found within {search} ms"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("The trial failed: {error:#}\nLook further with: recollect doctor");
            ExitCode::from(EXIT_TRIAL_FAILED)
        }
    }
}

/// Makes a key for an organization that has none, and prints it on the last line.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
async fn create_first_key(ctx: &Ctx, tenant: &Tenant, org: &str) -> Result<()> {
    let has_key = list_keys(ctx, tenant).await?.iter().any(|key| key.enabled);
    if has_key {
        return Ok(());
    }
    let spec = KeySpec {
        name: "first key".to_owned(),
        kind: KeyKind::Full,
        permission: Permission::Write,
        tags: None,
        expires_at: None,
        rate_limit: None,
    };
    let key = create_key(ctx, tenant, spec).await?;
    println!(
        "The first key of the organization {org}. It is shown only now:\n{}",
        key.key_text
    );
    Ok(())
}
