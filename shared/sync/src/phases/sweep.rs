//! Examines the items that a scan has not seen one by one, and removes those that are gone. For a
//! whole account, whose items are listed in any order, it also corrects paths.

use std::collections::HashMap;

use domain::connection::{Node, Phase};

use crate::phases::walk::verify;
use crate::scope::below;
use crate::work::{Halt, Work};

/// The most folders above a node that are followed. A longer chain is a cycle.
const DEEPEST: usize = 100;

pub(crate) async fn tick(work: &mut Work<'_>, after: Option<String>) -> Result<(), Halt> {
    let (id, rows) = (&work.connection.id, work.rows_to_look_at());
    let page = work
        .tools
        .desk
        .sync()
        .page(work.tenant, id, after.as_deref(), rows)
        .await?;
    let Some(last) = page.last().map(|node| node.id.clone()) else {
        let now = work.now();
        work.state.scanning_since = None;
        work.state.must_scan = false;
        work.state.reconciled_at = Some(now);
        work.state.phase = Some(Phase::Refilter { after: None });
        return Ok(());
    };

    work.look_anew();
    work.know(&page);
    let since = work.state.scanning_since.unwrap_or_default();
    let (unseen, seen): (Vec<Node>, Vec<Node>) =
        page.into_iter().partition(|node| node.seen < since);
    verify(work, &unseen).await?;
    if !work.is_selective() {
        put_right(work, seen).await?;
    }

    work.state.phase = Some(Phase::Sweep { after: Some(last) });
    Ok(())
}

/// Recomputes the paths of nodes from the names above them.
async fn put_right(work: &mut Work<'_>, nodes: Vec<Node>) -> Result<(), Halt> {
    let mut paths = HashMap::new();
    for node in nodes {
        let above = match &node.parent {
            Some(parent) => path_of(work, parent, &mut paths).await?,
            None => String::new(),
        };
        let path = below(&above, &node.name);
        if path != node.path {
            let moved = Node {
                path,
                ..node.clone()
            };
            let reason = crate::phases::refilter::own_reason(&node);
            work.settle(Some(&node), moved, reason).await?;
        }
    }

    Ok(())
}

/// Returns the path of a folder. A folder that no listing has shown, such as the top of a drive, is
/// recorded.
async fn path_of(
    work: &mut Work<'_>,
    folder: &str,
    paths: &mut HashMap<String, String>,
) -> Result<String, Halt> {
    let (mut names, mut ids) = (Vec::new(), Vec::new());
    let mut next = Some(folder.to_owned());
    let mut path = String::new();
    while let Some(id) = next.filter(|id| ids.len() < DEEPEST && !ids.contains(id)) {
        if let Some(known) = paths.get(&id) {
            path.clone_from(known);
            break;
        }
        let Some((name, parent)) = name_of(work, &id).await? else {
            break;
        };
        names.push(name);
        ids.push(id);
        next = parent;
    }

    for (id, name) in ids.into_iter().zip(names).rev() {
        path = below(&path, &name);
        paths.insert(id, path.clone());
    }

    Ok(path)
}

async fn name_of(
    work: &mut Work<'_>,
    folder: &str,
) -> Result<Option<(String, Option<String>)>, Halt> {
    if let Some(node) = work.node(folder).await? {
        return Ok(Some((node.name, node.parent)));
    }

    let Some(item) = work.look(folder).await?.filter(|item| !item.trashed) else {
        return Ok(None);
    };

    let (_, above) = work.above(&item).await?;
    let stamp = work.stamp();
    work.upsert(&item, below(&above, &item.name), stamp).await?;

    Ok(Some((item.name, item.parent)))
}
