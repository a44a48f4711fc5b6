//! The place of an organization's data: a data folder, or a deployment on AWS.

use std::sync::Arc;

use anyhow::{Result, bail};
use aws::SystemClock;
use domain::key::{KeyKind, KeySpec, Permission};
use domain::{OrgId, Tenant, Timestamp};
use service::Ctx;
use stack::{Account, DeployedStack};

use crate::arguments::{Place, StackOptions};
use crate::system::LocalSystem;

/// Returns the tenant of an organization, with every right.
pub(super) fn operator_tenant(org: &str) -> Result<Tenant> {
    Ok(Tenant::for_operator(OrgId::parse(org)?))
}

/// Returns the description of a key for everything in an organization.
pub(super) fn full_key(name: &str, expires_at: Option<Timestamp>) -> KeySpec {
    KeySpec {
        name: name.to_owned(),
        kind: KeyKind::Full,
        permission: Permission::Write,
        tags: None,
        expires_at,
        rate_limit: None,
    }
}

/// Returns the arguments of a command that name the same place, with a space before each.
pub(super) fn place_arguments(place: &Place) -> String {
    match &place.stack.stack {
        Some(stack) => name_stack(stack, place.stack.region.as_deref()),
        None => argument("--data", &place.data.data.display().to_string()),
    }
}

/// Returns the arguments of a command that name the same stack, with a space before each.
pub(super) fn stack_arguments(options: &StackOptions) -> String {
    name_stack(&options.stack, options.region.as_deref())
}

fn name_stack(stack: &str, region: Option<&str>) -> String {
    let region = region.map(|region| argument("--region", region));
    argument("--stack", stack) + &region.unwrap_or_default()
}

/// Returns an option of a command and its value as a shell reads them, with a space before each.
pub(super) fn argument(option: &str, value: &str) -> String {
    format!(" {option} {}", quote(value))
}

/// Returns a word as a shell reads it.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Opens the stack if one is chosen, and the data folder otherwise.
pub(super) async fn open_place(place: &Place) -> Result<Ctx> {
    let (data, choice) = (&place.data, &place.stack);
    let Some(name) = &choice.stack else {
        let system = LocalSystem::open(&data.data, data.power_cut.durability, None).await?;
        return Ok(system.ctx);
    };

    let account = Account::connect(choice.region.as_deref()).await?;
    let stack = DeployedStack::get(&account, name).await?;
    open_stack(&account, &stack)
}

/// Opens the stack if one is chosen, and otherwise the data folder, which must exist.
///
/// # Errors
/// Fails as [`open_place`] and [`require_existing`] do.
pub(super) async fn open_existing_place(place: &Place) -> Result<Ctx> {
    require_existing(place)?;
    open_place(place).await
}

/// Requires a data folder that exists, unless a stack is chosen: a typing error makes no folder.
///
/// # Errors
/// Fails if there is no such folder.
pub(super) fn require_existing(place: &Place) -> Result<()> {
    let folder = &place.data.data;
    if place.stack.stack.is_none() && !folder.is_dir() {
        bail!(
            "there is no data folder {}; name one with --data",
            folder.display()
        );
    }
    Ok(())
}

/// Returns the ports over the resources of a stack.
pub(super) fn open_stack(account: &Account, stack: &DeployedStack) -> Result<Ctx> {
    let names = stack.resource_names()?;
    Ok(aws::build_context(
        &account.clients(),
        &names,
        Arc::new(SystemClock),
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Cli, Command};

    #[test]
    fn arguments_name_the_same_place() {
        for (arguments, expected) in [
            (&["--data", "data/a-1"][..], " --data data/a-1"),
            (&["--data", "my data"], " --data 'my data'"),
            (&["--data", "it's"], r" --data 'it'\''s'"),
            (&["--stack", "prod"], " --stack prod"),
            (
                &["--stack", "prod", "--region", "eu-west-1"],
                " --stack prod --region eu-west-1",
            ),
        ] {
            let line = ["recollect", "check"].iter().chain(arguments);
            let Some(Command::Check(check)) = Cli::try_parse_from(line).unwrap().command else {
                panic!("a check");
            };
            assert_eq!(place_arguments(&check.place), expected);
        }
    }

    #[test]
    fn arguments_name_the_same_stack() {
        let line = ["recollect", "doctor", "--region", "eu-west-1"];
        let Some(Command::Doctor(doctor)) = Cli::try_parse_from(line).unwrap().command else {
            panic!("a doctor");
        };
        let expected = " --stack recollect --region eu-west-1";
        assert_eq!(stack_arguments(&doctor.stack), expected);
    }
}
