//! `recollect keys`: manages the API keys of an organization.

use std::sync::Arc;

use anyhow::{Result, bail};
use aws::{Clients, ResourceNames, SystemClock};
use domain::key::{ApiKey, KeyKind, KeySpec, Permission};
use domain::{ContainerTag, Error, KeyId, Tenant};
use service::Ctx;
use service::{create_key, expires_at, list_keys, set_key_enabled};

use super::place::{open_place, operator_tenant, require_existing};
use crate::arguments::{Access, KeyAction, KeyStore};

pub(super) async fn run_keys(action: KeyAction) -> Result<()> {
    match action {
        KeyAction::Create {
            store,
            name,
            access,
            read_only,
            tags,
            expires_days,
        } => {
            let (ctx, tenant) = open_store(&store).await?;
            let is_read_only = read_only || matches!(access, Access::Read);
            let tags = tags
                .iter()
                .map(|tag| ContainerTag::parse(tag))
                .collect::<Result<Vec<_>, _>>()?;
            let spec = KeySpec {
                name,
                kind: KeyKind::Full,
                permission: if is_read_only {
                    Permission::Read
                } else {
                    Permission::Write
                },
                tags: (!tags.is_empty()).then_some(tags),
                expires_at: expires_at(ctx.clock.now(), expires_days)?,
                rate_limit: None,
            };
            let key = create_key(&ctx, &tenant, spec).await?;
            print_line!(
                "Created the key {} of the organization {}. It is shown only now:",
                key.record.id,
                store.org
            );
            print_line!("{}", key.key_text);
        }
        KeyAction::List { store } => print_keys(&store).await?,
        KeyAction::Disable { store, id } => set_enabled(&store, &id, false).await?,
        KeyAction::Enable { store, id } => set_enabled(&store, &id, true).await?,
    }

    Ok(())
}

async fn print_keys(store: &KeyStore) -> Result<()> {
    let (ctx, tenant) = open_existing_store(store).await?;
    let keys = list_keys(&ctx, &tenant).await?;
    if keys.is_empty() {
        print_line!("The organization {} has no keys.", store.org);
        return Ok(());
    }

    let all_containers: Vec<String> = keys.iter().map(name_containers).collect();
    let widest = all_containers.iter().map(String::len).max();
    let width = widest.unwrap_or(0).max("CONTAINERS".len());
    let print_line = |cells: [&str; 7], name: &str| {
        let [id, state, kind, access, created, expires, containers] = cells;
        print_line!(
            "{id:<12} {state:<9} {kind:<8} {access:<6} {created:<25} {expires:<25} {containers:<width$} {name}"
        );
    };
    let header = [
        "ID",
        "STATE",
        "KIND",
        "ACCESS",
        "CREATED",
        "EXPIRES",
        "CONTAINERS",
    ];
    print_line(header, "NAME");

    let now = ctx.clock.now();
    for (key, containers) in keys.iter().zip(&all_containers) {
        let state = match key.expires_at {
            Some(expires_at) if expires_at <= now => "expired",
            _ if key.enabled => "enabled",
            _ => "disabled",
        };
        let kind = match key.kind {
            KeyKind::Full => "full",
            KeyKind::Agent => "agent",
            KeyKind::Scoped => "scoped",
            KeyKind::Session => "session",
        };
        let access = if key.permission == Permission::Write {
            "write"
        } else {
            "read"
        };
        let expires = key
            .expires_at
            .map_or_else(|| "never".to_owned(), |expires_at| expires_at.to_string());

        print_line(
            [
                key.id.as_str(),
                state,
                kind,
                access,
                &key.created_at.to_string(),
                &expires,
                containers,
            ],
            &key.name,
        );
    }
    Ok(())
}

/// Returns the tags to which a key is limited, or `all`.
fn name_containers(key: &ApiKey) -> String {
    let Some(tags) = &key.tags else {
        return "all".to_owned();
    };
    let tags: Vec<&str> = tags.iter().map(ContainerTag::as_str).collect();
    tags.join(",")
}

async fn set_enabled(store: &KeyStore, id: &str, enabled: bool) -> Result<()> {
    let Some(id) = KeyId::parse(id) else {
        bail!("{id} is not a key id: it is the part of a key between the underscores");
    };

    let (ctx, tenant) = open_existing_store(store).await?;
    match set_key_enabled(&ctx, &tenant, &id, enabled).await {
        Err(Error::NotFound(_)) => {
            bail!("there is no key {id} in the organization {}", store.org)
        }
        result => result?,
    }
    print_line!(
        "{id} is {}",
        if enabled {
            "enabled"
        } else {
            "disabled; running servers follow within 30 seconds"
        }
    );

    Ok(())
}

/// Opens the place of the keys, and makes a data folder that does not exist.
async fn open_store(store: &KeyStore) -> Result<(Ctx, Tenant)> {
    let tenant = operator_tenant(&store.org)?;
    let ctx = match store.aws {
        true => open_table().await?,
        false => open_place(&store.place).await?,
    };
    Ok((ctx, tenant))
}

async fn open_existing_store(store: &KeyStore) -> Result<(Ctx, Tenant)> {
    if !store.aws {
        require_existing(&store.place)?;
    }
    open_store(store).await
}

/// Opens the table of keys on AWS.
async fn open_table() -> Result<Ctx> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a command reads its environment where it needs it, once"
    )]
    let Ok(secrets) = std::env::var("RECOLLECT_SECRETS_TABLE") else {
        bail!(
            "set RECOLLECT_SECRETS_TABLE to the deployment's table of secrets (an output of the stack)"
        );
    };

    let names = ResourceNames {
        secrets,
        ..ResourceNames::for_embedded()
    };

    let clients = Clients::new(&aws::load_config().await);
    Ok(aws::build_context(&clients, &names, Arc::new(SystemClock)))
}
