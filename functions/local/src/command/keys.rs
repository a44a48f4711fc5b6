//! `recollect keys`.

use std::sync::Arc;

use anyhow::{Result, bail};
use aws::{Clients, Names, SystemClock};
use domain::key::Permission;
use domain::usecase::{create_key, list_keys, set_key_enabled};
use domain::{ContainerTag, Ctx, KeyId, OrgId, Tenant};

use crate::cli::{Access, KeyAction, KeyStore};
use crate::system::System;

#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(super) async fn keys(action: KeyAction) -> Result<()> {
    match action {
        KeyAction::Create { store, name, access, tags } => {
            let (ctx, tenant) = open(&store).await?;
            let permission = match access {
                Access::Read => Permission::Read,
                Access::Write => Permission::Write,
            };
            let tags = tags.iter().map(|tag| ContainerTag::parse(tag)).collect::<Result<Vec<_>, _>>()?;
            let tags = (!tags.is_empty()).then_some(tags);
            let key = create_key(&ctx, &tenant, &name, permission, tags).await?;
            println!(
                "Created the key {} of the organization {}. It is shown only now:",
                key.record.id, store.org
            );
            println!("{}", key.text);
        }
        KeyAction::List { store } => {
            let (ctx, tenant) = open(&store).await?;
            println!("{:<12} {:<9} {:<6} {:<25} NAME", "ID", "STATE", "ACCESS", "CREATED");
            for key in list_keys(&ctx, &tenant).await? {
                let state = if key.enabled { "enabled" } else { "disabled" };
                let access = if key.permission == Permission::Write { "write" } else { "read" };
                println!(
                    "{:<12} {state:<9} {access:<6} {:<25} {}",
                    key.id.as_str(),
                    key.created_at.to_string(),
                    key.name
                );
            }
        }
        KeyAction::Disable { store, id } => toggle(&store, &id, false).await?,
        KeyAction::Enable { store, id } => toggle(&store, &id, true).await?,
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the answer of a command")]
async fn toggle(store: &KeyStore, id: &str, enabled: bool) -> Result<()> {
    let (ctx, tenant) = open(store).await?;
    let Some(id) = KeyId::parse(id) else {
        bail!("{id} is not a key id: it is the part of a key between the underscores");
    };
    set_key_enabled(&ctx, &tenant, &id, enabled).await?;
    println!(
        "{id} is {}",
        if enabled { "enabled" } else { "disabled; running servers follow within 30 seconds" }
    );
    Ok(())
}

async fn open(store: &KeyStore) -> Result<(Ctx, Tenant)> {
    let tenant = Tenant::of_operator(OrgId::parse(&store.org)?);
    if !store.aws {
        return Ok((System::open(&store.data.data, None).await?.ctx, tenant));
    }
    #[expect(clippy::disallowed_methods, reason = "a command reads its environment where it needs it, once")]
    let Ok(secrets) = std::env::var("RECOLLECT_SECRETS_TABLE") else {
        bail!("set RECOLLECT_SECRETS_TABLE to the deployment's table of secrets (an output of the stack)");
    };
    let names = Names { secrets, ..Names::embedded() };
    let clients = Clients::new(&aws::from_environment().await);
    Ok((aws::ctx(&clients, &names, Arc::new(SystemClock)), tenant))
}
