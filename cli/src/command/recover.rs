//! `recollect recover`: brings the data of a stack back to an earlier time.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use stack::{Account, DeployedStack, Deployment, RECORDS_PARAMETER, Recovery, SECRETS_PARAMETER};

use super::deploy::{StackChange, connect};
use super::place::stack_arguments;
use super::progress::progress_bar;
use crate::arguments::Recover;

/// The pause between two steps of a spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(120);

pub(super) async fn run_recover(options: Recover) -> Result<ExitCode> {
    let mut change = StackChange::new(options.change)?;
    let account = connect(&options.stack).await?;
    let name = &options.stack.stack;
    let stack = DeployedStack::get(&account, name).await?;
    let deployment = present_deployment(&account, &stack).await?;

    let recovery = Recovery::new(&account, options.time);
    let mut tables = vec![(RECORDS_PARAMETER, "records", "RecordsTable")];
    if options.with_secrets {
        tables.push((SECRETS_PARAMETER, "secrets", "SecretsTable"));
    }
    let mut copies = Vec::new();
    for (parameter, table, output) in tables {
        let copy = recovery.copy_name(name, table);
        change.set_parameter(parameter, copy.clone())?;
        copies.push((stack.output(output)?, copy));
    }

    let question = format!("Bring the data of the stack back to {}?", options.time);
    if !change.confirm_before(&question)? {
        print_line!("Nothing was changed.");
        return Ok(ExitCode::SUCCESS);
    }

    for (source, copy) in copies {
        if source == copy {
            // A recovery was interrupted after the change of the stack.
            print_line!("The stack already uses {copy}.");
            continue;
        }
        let bar = spinner(
            "{spinner} {msg} [{elapsed}]",
            format!("Restoring {source} into {copy}"),
        )?;
        let restored = recovery.restore_table(source, &copy).await;
        bar.finish_and_clear();
        restored?;
        print_line!("Restored {source} as of {} into {copy}.", options.time);
    }

    let bucket = stack.output("Bucket")?;
    let has_versions = recovery.has_versions(bucket).await?;
    if has_versions {
        undelete_objects(&recovery, bucket).await?;
    } else {
        print_line!(
            "The bucket {bucket} keeps no deleted objects: what was deleted since then is gone. See the \
             parameter BucketVersionDays."
        );
    }

    let exit_code = change.apply(&account, name, &deployment).await?;
    if has_versions {
        // Until now, functions with the former table could delete them again.
        undelete_objects(&recovery, bucket).await?;
    }
    print_line!(
        "Check that records and bytes match: recollect check{}",
        stack_arguments(&options.stack)
    );
    Ok(exit_code)
}

/// Returns what `recollect deploy` has deployed to a stack.
async fn present_deployment(account: &Account, stack: &DeployedStack) -> Result<Deployment> {
    let name = &stack.name;
    let Some(deployment) = Deployment::present(account, stack).await? else {
        bail!(
            "deploy the stack {name} with `recollect deploy` first: its present deployment was interrupted, or \
             something else made it"
        );
    };
    if !deployment
        .parameters
        .iter()
        .any(|known| known == RECORDS_PARAMETER)
    {
        bail!(
            "the stack {name} cannot use a restored table: update it with `recollect deploy` first"
        );
    }
    Ok(deployment)
}

async fn undelete_objects(recovery: &Recovery<'_>, bucket: &str) -> Result<()> {
    let message = format!("Bringing back objects of {bucket}");
    let bar = spinner("{spinner} {msg} [{elapsed}] {pos}", message)?;
    let undeleted = recovery.undelete_objects(bucket, |count| bar.set_position(count));
    let undeleted = undeleted.await;
    bar.finish_and_clear();
    print_line!("Brought back {} deleted objects of {bucket}.", undeleted?);
    Ok(())
}

fn spinner(template: &str, message: String) -> Result<ProgressBar> {
    let bar = progress_bar(template, 0)?.with_message(message);
    bar.enable_steady_tick(SPINNER_INTERVAL);
    Ok(bar)
}
