//! `recollect recover`: brings the data of a stack back to an earlier time.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use stack::{Account, DeployedStack, Deployment, Recovery};

use super::deploy::{StackChange, connect};
use super::transfer::progress_bar;
use crate::arguments::Recover;

/// The parameters that name the tables in use.
const RECORDS: &str = "RecordsTableName";
const SECRETS: &str = "SecretsTableName";
/// The pause between two steps of a spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(120);

pub(super) async fn run_recover(options: Recover) -> Result<ExitCode> {
    let mut change = StackChange::new(options.change)?;
    let account = connect(&options.stack).await?;
    let name = &options.stack.stack;
    let stack = DeployedStack::get(&account, name).await?;
    let deployment = present_deployment(&account, &stack).await?;

    let recovery = Recovery::new(&account, options.time);
    let mut tables = vec![(RECORDS, "records", stack.output("RecordsTable")?)];
    if options.with_secrets {
        tables.push((SECRETS, "secrets", stack.output("SecretsTable")?));
    }
    for (parameter, table, source) in tables {
        let copy = recovery.copy_name(name, table);
        let bar = spinner(format!("Restoring {source} into {copy}"))?;
        let restored = recovery.restore_table(source, &copy).await;
        bar.finish_and_clear();
        restored?;
        print_line!("Restored {source} as of {} into {copy}.", options.time);
        change.set_parameter(parameter, copy);
    }

    undelete_objects(&recovery, stack.output("Bucket")?).await?;
    let changed = change.apply(&account, name, &deployment).await?;
    print_line!("Look for what does not fit together with: recollect check --stack {name}");
    Ok(changed)
}

/// Returns what `recollect deploy` has deployed to a stack.
async fn present_deployment(account: &Account, stack: &DeployedStack) -> Result<Deployment> {
    let name = &stack.name;
    let present = match stack.release() {
        Some(_) => Deployment::present(account, stack).await?,
        None => None,
    };
    let Some(deployment) = present else {
        bail!("the stack {name} was not deployed by `recollect deploy`: deploy it so first");
    };
    if !deployment.parameters.iter().any(|known| known == RECORDS) {
        bail!(
            "the stack {name} cannot use a restored table: update it with `recollect deploy` first"
        );
    }
    Ok(deployment)
}

async fn undelete_objects(recovery: &Recovery<'_>, bucket: &str) -> Result<()> {
    if !recovery.keeps_versions(bucket).await? {
        print_line!(
            "The bucket {bucket} keeps no deleted objects: bytes that were deleted since then are gone. \
             The parameter BucketVersionDays keeps them from now on."
        );
        return Ok(());
    }

    let bar = spinner(format!("Bringing back objects of {bucket}"))?;
    let undeleted = recovery.undelete_objects(bucket, |count| bar.set_position(count));
    let undeleted = undeleted.await;
    bar.finish_and_clear();
    print_line!("Brought back {} deleted objects of {bucket}.", undeleted?);
    Ok(())
}

fn spinner(message: String) -> Result<ProgressBar> {
    let bar = progress_bar("{spinner} {msg} [{elapsed}] {pos}")?.with_message(message);
    bar.enable_steady_tick(SPINNER_INTERVAL);
    Ok(bar)
}
