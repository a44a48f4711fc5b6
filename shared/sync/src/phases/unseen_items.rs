//! Examines the items that a scan has not seen one by one, and removes those that are gone. For a
//! whole account, whose items are listed in any order, it also corrects paths.

use std::collections::HashMap;

use domain::connection::{ItemRecord, RunPhase};

use crate::decide::items::provider_reason;
use crate::decide::scans;
use crate::item_paths::join_path;
use crate::phases::walk::verify_items;
use crate::step_state::{StepState, TickError};

/// The most folders above a record that are followed. A longer chain is a cycle.
const MAX_DEPTH: usize = 100;

pub(crate) async fn examine_unseen_items(
    step: &mut StepState<'_>,
    after: Option<String>,
) -> Result<(), TickError> {
    let (id, rows) = (&step.connection.id, step.lookup_page_size());
    let page = step
        .context
        .service
        .sync()
        .list_items(step.tenant, id, after.as_deref(), rows)
        .await?;
    let Some(last) = page.last().map(|record| record.id.clone()) else {
        let now = step.now();
        scans::end_scan(&mut step.state, now);
        return Ok(());
    };

    step.clear_lookups();
    step.add_known_records(&page);
    let since = step.state.scanning_since.unwrap_or_default();
    let (unseen, seen): (Vec<ItemRecord>, Vec<ItemRecord>) =
        page.into_iter().partition(|record| record.seen < since);
    verify_items(step, &unseen).await?;
    if !step.is_selective() {
        correct_paths(step, seen).await?;
    }

    step.state.phase = Some(RunPhase::UnseenItems { after: Some(last) });
    Ok(())
}

/// Recomputes the paths of records from the names above them.
async fn correct_paths(
    step: &mut StepState<'_>,
    records: Vec<ItemRecord>,
) -> Result<(), TickError> {
    let mut paths = HashMap::new();
    for record in records {
        let above = match &record.parent {
            Some(parent) => folder_path(step, parent, &mut paths).await?,
            None => String::new(),
        };
        let path = join_path(&above, &record.name);
        if path != record.path {
            let moved = ItemRecord {
                path,
                ..record.clone()
            };
            let reason = provider_reason(&record);
            step.update_record(Some(&record), moved, reason).await?;
        }
    }

    Ok(())
}

/// Returns the path of a folder. A folder that no listing has shown, such as the top of a drive, is
/// recorded.
async fn folder_path(
    step: &mut StepState<'_>,
    folder: &str,
    paths: &mut HashMap<String, String>,
) -> Result<String, TickError> {
    let (mut names, mut ids) = (Vec::new(), Vec::new());
    let mut next = Some(folder.to_owned());
    let mut path = String::new();
    while let Some(id) = next.filter(|id| ids.len() < MAX_DEPTH && !ids.contains(id)) {
        if let Some(known) = paths.get(&id) {
            path.clone_from(known);
            break;
        }
        let Some((name, parent)) = folder_name(step, &id).await? else {
            break;
        };
        names.push(name);
        ids.push(id);
        next = parent;
    }

    for (id, name) in ids.into_iter().zip(names).rev() {
        path = join_path(&path, &name);
        paths.insert(id, path.clone());
    }

    Ok(path)
}

async fn folder_name(
    step: &mut StepState<'_>,
    folder: &str,
) -> Result<Option<(String, Option<String>)>, TickError> {
    if let Some(record) = step.current_record(folder).await? {
        return Ok(Some((record.name, record.parent)));
    }

    let Some(item) = step
        .look_up_item(folder)
        .await?
        .filter(|item| !item.is_trashed)
    else {
        return Ok(None);
    };

    let (_, above) = step.folders_above(&item).await?;
    let stamp = step.step_number();
    step.record_item(&item, join_path(&above, &item.name), stamp)
        .await?;

    Ok(Some((item.name, item.parent)))
}
