//! The place of an organization's data: a data folder, or a deployment on AWS.

use std::sync::Arc;

use anyhow::Result;
use aws::SystemClock;
use domain::key::{KeyKind, KeySpec, Permission};
use domain::{OrgId, Tenant, Timestamp};
use service::Ctx;
use stack::{Account, DeployedStack};

use crate::arguments::Place;
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

/// Returns the ports over the resources of a stack.
pub(super) fn open_stack(account: &Account, stack: &DeployedStack) -> Result<Ctx> {
    let names = stack.resource_names()?;
    Ok(aws::build_context(
        &account.clients(),
        &names,
        Arc::new(SystemClock),
    ))
}
