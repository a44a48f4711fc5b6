//! Examines the items that a scan has not seen one by one, and removes those that are gone. For a
//! whole account, whose items are listed in any order, it also corrects paths.

use std::collections::HashMap;

use domain::connection::{ItemRecord, RunPhase};

use crate::phases::walk::verify_nodes;
use crate::scope::join_path;
use crate::work::{StepState, TickError};

/// The most folders above a node that are followed. A longer chain is a cycle.
const MAX_DEPTH: usize = 100;

pub(crate) async fn sweep_nodes(
    work: &mut StepState<'_>,
    after: Option<String>,
) -> Result<(), TickError> {
    let (id, rows) = (&work.connection.id, work.lookup_page_size());
    let page = work
        .tools
        .desk
        .sync()
        .list_items(work.tenant, id, after.as_deref(), rows)
        .await?;
    let Some(last) = page.last().map(|node| node.id.clone()) else {
        let now = work.now();
        work.state.scanning_since = None;
        work.state.must_scan = false;
        work.state.reconciled_at = Some(now);
        work.state.phase = Some(RunPhase::Refilter { after: None });
        return Ok(());
    };

    work.clear_lookups();
    work.add_known_nodes(&page);
    let since = work.state.scanning_since.unwrap_or_default();
    let (unseen, seen): (Vec<ItemRecord>, Vec<ItemRecord>) =
        page.into_iter().partition(|node| node.seen < since);
    verify_nodes(work, &unseen).await?;
    if !work.is_selective() {
        correct_paths(work, seen).await?;
    }

    work.state.phase = Some(RunPhase::Sweep { after: Some(last) });
    Ok(())
}

/// Recomputes the paths of nodes from the names above them.
async fn correct_paths(work: &mut StepState<'_>, nodes: Vec<ItemRecord>) -> Result<(), TickError> {
    let mut paths = HashMap::new();
    for node in nodes {
        let above = match &node.parent {
            Some(parent) => folder_path(work, parent, &mut paths).await?,
            None => String::new(),
        };
        let path = join_path(&above, &node.name);
        if path != node.path {
            let moved = ItemRecord {
                path,
                ..node.clone()
            };
            let reason = crate::phases::refilter::provider_reason(&node);
            work.update_node(Some(&node), moved, reason).await?;
        }
    }

    Ok(())
}

/// Returns the path of a folder. A folder that no listing has shown, such as the top of a drive, is
/// recorded.
async fn folder_path(
    work: &mut StepState<'_>,
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
        let Some((name, parent)) = folder_name(work, &id).await? else {
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
    work: &mut StepState<'_>,
    folder: &str,
) -> Result<Option<(String, Option<String>)>, TickError> {
    if let Some(node) = work.current_node(folder).await? {
        return Ok(Some((node.name, node.parent)));
    }

    let Some(item) = work
        .look_up_item(folder)
        .await?
        .filter(|item| !item.is_trashed)
    else {
        return Ok(None);
    };

    let (_, above) = work.folders_above(&item).await?;
    let stamp = work.step_number();
    work.record_item(&item, join_path(&above, &item.name), stamp)
        .await?;

    Ok(Some((item.name, item.parent)))
}
