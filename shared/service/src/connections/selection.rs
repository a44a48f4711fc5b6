//! The items that a user may select, and saving a selection.

use std::collections::HashSet;

use futures::stream::{self, StreamExt, TryStreamExt};

use super::change::{change_and_run, connection_not_found};
use super::provider_tokens::provider_access;
use crate::ConflictRetry;
use crate::Ctx;
use domain::connection::{
    Connection, ConnectionStatus, ExcludedItem, MAX_SELECTED_ITEMS, SelectedItem, Selection,
    SyncScope,
};
use domain::error::{Error, Result};
use domain::ports::{Connector, ItemKind, ItemPage, PickerView, ProviderItem};
use domain::tenant::Tenant;

/// The number of items that are looked up in parallel.
const PARALLEL_REQUESTS: usize = 8;
/// The largest length of an id in bytes, of an item or of a shared drive.
const MAX_ID_BYTES: usize = 256;
/// The number of characters of a name that are kept. The name is only shown.
const MAX_NAME: usize = 100;
/// The most folders above an excluded item that are kept. They are only shown.
const MAX_FOLDERS_ABOVE: usize = 32;
/// The field of a request with the selected items.
const SELECTED: &str = "resources";
/// The field of a request with the excluded items.
const EXCLUDED: &str = "excluded";
/// The largest size of a selection in bytes: it is stored in one record.
const MAX_BYTES: usize = 256 * 1024;

/// Returns a page of the items that the user of a connection may select.
///
/// # Errors
/// Returns [`Error::Invalid`] without permission, and the errors of the provider and of the ports.
pub async fn browse_items(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
    location: PickerLocation<'_>,
) -> Result<ItemPage> {
    check_selectable(connector, connection)?;
    let access = provider_access(ctx, connector, tenant, connection).await?;
    let PickerLocation {
        view,
        parent,
        query,
        page,
    } = location;

    Ok(connector
        .list_selectable(&access, view, parent, query, page)
        .await?)
}

/// The place in the picker that a user looks at.
#[derive(Debug, Clone, Copy)]
pub struct PickerLocation<'a> {
    /// The view, such as the user's own files or a shared drive.
    pub view: &'a PickerView,
    /// The folder.
    pub parent: Option<&'a str>,
    /// A text that names of items must contain.
    pub query: Option<&'a str>,
    /// The page of the listing.
    pub page: Option<&'a str>,
}

fn check_selectable(connector: &dyn Connector, connection: &Connection) -> Result<()> {
    if connector.oauth_flow().is_some() {
        return Ok(());
    }
    let name = connection.provider.as_str();
    let explanation = "its content was chosen when it was created";
    Err(Error::Unsupported(format!(
        "items cannot be selected for a connection to {name}; {explanation}"
    )))
}

/// Looks up the items that a caller selects. An id may be an alias of an item, such as `root`, but
/// a run finds the item only under its own id.
///
/// # Errors
/// Returns [`Error::Invalid`] about `field` naming an item that the account does not see or that
/// cannot be selected, and the errors of [`save_selection`], of the provider and of the ports.
pub async fn resolve_selected_items(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
    field: &'static str,
    choices: Vec<String>,
) -> Result<Vec<SelectedItem>> {
    check_selectable(connector, connection)?;
    check_state(connection)?;
    check_count(field, choices.len())?;
    choices.iter().try_for_each(|id| check_id(field, id))?;
    let access = &provider_access(ctx, connector, tenant, connection).await?;

    let resolve_item = |id: String| async move {
        match connector.get_item(access, &id).await? {
            Some(item) if !item.is_trashed => to_selected_item(field, item),
            _ => Err(invisible_item_error(field, &id)),
        }
    };

    stream::iter(choices.into_iter().map(resolve_item))
        .buffered(PARALLEL_REQUESTS)
        .try_collect()
        .await
}

fn invisible_item_error(field: &'static str, id: &str) -> Error {
    Error::invalid_field(field, format!("the account does not see the item {id}"))
}

fn to_selected_item(field: &'static str, item: ProviderItem) -> Result<SelectedItem> {
    let folder = match item.kind {
        ItemKind::Folder => true,
        ItemKind::File { .. } | ItemKind::Shortcut { .. } => false,
        ItemKind::Unreadable(reason) => {
            let message = format!("the item {} cannot be read: {}", item.id, reason.as_str());
            return Err(Error::invalid_field(field, message));
        }
    };

    Ok(SelectedItem {
        id: item.id,
        name: item.name,
        folder,
        drive: item.drive,
    })
}

fn check_count(field: &'static str, count: usize) -> Result<()> {
    if count > MAX_SELECTED_ITEMS {
        let rule = format!("at most {MAX_SELECTED_ITEMS} items; name the folders that they lie in");
        return Err(Error::invalid_field(field, rule));
    }
    Ok(())
}

/// Saves a selection in place of the previous one and requests a run. Items that are no longer
/// selected, and items that are excluded, lose their documents.
///
/// # Errors
/// Returns [`Error::Invalid`] for items that cannot be selected, [`Error::Conflict`] before there
/// is permission and when the connection takes everything, and the errors of the ports.
pub async fn save_selection(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    items: Vec<SelectedItem>,
    excluded: Vec<ExcludedItem>,
) -> Result<Connection> {
    check_state(connection)?;
    let (items, excluded) = (check_items(items)?, check_excluded(excluded)?);
    check_together(&items, &excluded)?;
    let selection = store(ctx, tenant, connection, items, excluded).await?;

    change_and_run(ctx, tenant, &connection.id, |connection| {
        check_state(connection)?;
        if connection.status == ConnectionStatus::AwaitingSelection {
            connection.status = ConnectionStatus::Active;
            connection.problem = None;
        }
        connection.selection = connection.selection.max(selection.rev);
        Ok(true)
    })
    .await
}

/// Checks that the connection is not being deleted and accepts a selection.
fn check_state(connection: &Connection) -> Result<()> {
    if connection.status == ConnectionStatus::Deleting {
        return Err(connection_not_found());
    }
    check_awaits_selection(connection)
}

/// Checks that the connection has permission and that its items are selected.
///
/// # Errors
/// Returns [`Error::Conflict`] before there is permission and when the connection takes the whole
/// drive.
pub(super) fn check_awaits_selection(connection: &Connection) -> Result<()> {
    if connection.status == ConnectionStatus::PendingOauth {
        let message = "the user of this connection has not given permission yet; that comes before a selection";
        return Err(Error::Conflict(message.into()));
    }

    if connection.scope == SyncScope::Full {
        let message = "this connection takes the whole drive; no items can be selected";
        return Err(Error::Conflict(message.into()));
    }

    Ok(())
}

fn check_id(field: &'static str, id: &str) -> Result<()> {
    if (1..=MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(char::is_control) {
        return Ok(());
    }
    let rule = format!("ids of 1 to {MAX_ID_BYTES} bytes without control characters");
    Err(Error::invalid_field(field, rule))
}

/// Checks selected items, and returns each once with its name cut to fit a record.
fn check_items(items: Vec<SelectedItem>) -> Result<Vec<SelectedItem>> {
    check_count(SELECTED, items.len())?;
    let (mut seen, mut unique_items) = (HashSet::new(), Vec::with_capacity(items.len()));

    for mut item in items {
        check_id(SELECTED, &item.id)?;
        if let Some(drive) = &item.drive {
            check_id(SELECTED, drive)?;
        }
        item.name = shorten_name(&item.name);
        if seen.insert(item.id.clone()) {
            unique_items.push(item);
        }
    }

    Ok(unique_items)
}

/// Checks excluded items, and returns each once, cut to fit a record.
fn check_excluded(items: Vec<ExcludedItem>) -> Result<Vec<ExcludedItem>> {
    check_count(EXCLUDED, items.len())?;
    let (mut seen, mut unique_items) = (HashSet::new(), Vec::with_capacity(items.len()));

    for mut item in items {
        check_id(EXCLUDED, &item.id)?;
        item.above.truncate(MAX_FOLDERS_ABOVE);
        for folder in &item.above {
            check_id(EXCLUDED, folder)?;
        }
        item.name = shorten_name(&item.name);
        if seen.insert(item.id.clone()) {
            unique_items.push(item);
        }
    }

    Ok(unique_items)
}

fn shorten_name(name: &str) -> String {
    name.chars()
        .filter(|c| !c.is_control())
        .take(MAX_NAME)
        .collect()
}

/// Checks that no item is both selected and excluded, and that all fit into a record.
fn check_together(items: &[SelectedItem], excluded: &[ExcludedItem]) -> Result<()> {
    let selected: HashSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    if let Some(item) = excluded
        .iter()
        .find(|item| selected.contains(item.id.as_str()))
    {
        let message = format!("the item {} is selected and excluded", item.id);
        return Err(Error::invalid_field(EXCLUDED, message));
    }

    let bytes = serde_json::to_vec(&(items, excluded)).map_or(usize::MAX, |text| text.len());
    if bytes > MAX_BYTES {
        let rule = format!("at most {MAX_BYTES} bytes; select and exclude fewer");
        return Err(Error::invalid_field(SELECTED, rule));
    }
    Ok(())
}

/// Stores the selection unless it equals the stored one.
async fn store(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    items: Vec<SelectedItem>,
    excluded: Vec<ExcludedItem>,
) -> Result<Selection> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let current = ctx.sync.get_selection(tenant, &connection.id).await?;
        if current.rev > 0 && current.items == items && current.excluded == excluded {
            return Ok(current);
        }

        let next = Selection {
            rev: current.rev + 1,
            items: items.clone(),
            excluded: excluded.clone(),
        };

        if ctx
            .sync
            .save_selection(tenant, &connection.id, &next)
            .await?
        {
            return Ok(next);
        }

        retry.wait().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, name: &str) -> SelectedItem {
        SelectedItem {
            id: id.into(),
            name: name.into(),
            folder: false,
            drive: None,
        }
    }

    #[test]
    fn a_selection_has_each_item_once_and_fits_a_record() {
        let kept = check_items(vec![
            item("a", "A\u{7}"),
            item("b", &"ü".repeat(300)),
            item("a", "again"),
        ])
        .unwrap();
        assert_eq!(
            kept.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(
            (kept[0].name.as_str(), kept[1].name.chars().count()),
            ("A", MAX_NAME)
        );
        for bad in ["", "a\nb", &"x".repeat(MAX_ID_BYTES + 1)] {
            assert!(check_items(vec![item(bad, "")]).is_err(), "{bad:?}");
        }

        let many = |count: usize| {
            (0..count)
                .map(|n| item(&n.to_string(), "n"))
                .collect::<Vec<_>>()
        };
        assert!(
            check_items(many(MAX_SELECTED_ITEMS)).is_ok()
                && check_items(many(MAX_SELECTED_ITEMS + 1)).is_err()
        );
        let large = (0..MAX_SELECTED_ITEMS)
            .map(|n| item(&format!("{n:0>256}"), &"\u{1F5C2}".repeat(MAX_NAME)));
        let large = check_items(large.collect()).unwrap();
        assert!(check_together(&large, &[]).is_err());
    }

    #[test]
    fn exclusions_are_no_selected_items_and_fit_a_record() {
        let excluded = |id: &str, above: usize| ExcludedItem {
            id: id.into(),
            name: "B\u{7}".into(),
            folder: true,
            above: vec!["f".into(); above],
        };
        let kept = check_excluded(vec![excluded("a", 40), excluded("a", 1)]).unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!(
            (kept[0].name.as_str(), kept[0].above.len()),
            ("B", MAX_FOLDERS_ABOVE)
        );
        assert!(check_together(&[item("b", "B")], &kept).is_ok());
        assert!(check_together(&[item("a", "A")], &kept).is_err());
        assert!(check_excluded(vec![excluded("", 0)]).is_err());
        let many = (0..=MAX_SELECTED_ITEMS).map(|n| excluded(&n.to_string(), 0));
        assert!(check_excluded(many.collect()).is_err());
    }
}
