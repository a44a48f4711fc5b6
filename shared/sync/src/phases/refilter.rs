//! Applies changed rules of the organization to all records, without requests to the provider.

use domain::connection::{ItemRecord, ItemState, RunPhase, SkipReason};

use crate::work::{StepState, TickError};

pub(crate) async fn refilter_nodes(
    work: &mut StepState<'_>,
    after: Option<String>,
) -> Result<(), TickError> {
    if work.state.rules == work.filter.digest {
        work.state.phase = Some(RunPhase::Fetch);
        return Ok(());
    }

    let (id, rows) = (&work.connection.id, work.tools.limits.rows);
    let page = work
        .tools
        .desk
        .sync()
        .list_items(work.tenant, id, after.as_deref(), rows)
        .await?;
    let Some(last) = page.last().map(|node| node.id.clone()) else {
        work.state.rules.clone_from(&work.filter.digest);
        return Ok(());
    };

    work.add_known_nodes(&page);
    for node in page.iter().filter(|node| !node.folder) {
        let reason = provider_reason(node);
        // Another attempt is worthwhile if only the rules excluded the item.
        work.update_node(Some(node), node.clone(), reason).await?;
    }

    work.state.phase = Some(RunPhase::Refilter { after: Some(last) });
    Ok(())
}

/// Returns the reason for which the provider itself excludes a node, or `None` if only our rules
/// do.
pub(crate) fn provider_reason(node: &ItemRecord) -> Option<SkipReason> {
    use SkipReason as R;
    let ours = [
        R::Excluded,
        R::NotIncluded,
        R::FilteredOut,
        R::PendingFilter,
        R::Limit,
        R::TooLarge,
    ];

    match node.state {
        ItemState::Skipped { reason } if !ours.contains(&reason) => Some(reason),
        _ => None,
    }
}
