//! Applies changed rules of the organization to all records, without requests to the provider.

use domain::connection::{Node, NodeState, Phase, SkipReason};

use crate::work::{Halt, Work};

pub(crate) async fn tick(work: &mut Work<'_>, after: Option<String>) -> Result<(), Halt> {
    if work.state.rules == work.filter.digest {
        work.state.phase = Some(Phase::Fetch);
        return Ok(());
    }

    let (id, rows) = (&work.connection.id, work.tools.limits.rows);
    let page = work
        .tools
        .desk
        .sync()
        .page(work.tenant, id, after.as_deref(), rows)
        .await?;
    let Some(last) = page.last().map(|node| node.id.clone()) else {
        work.state.rules.clone_from(&work.filter.digest);
        return Ok(());
    };

    work.know(&page);
    for node in page.iter().filter(|node| !node.folder) {
        let reason = own_reason(node);
        // Another attempt is worthwhile if only the rules excluded the item.
        work.settle(Some(node), node.clone(), reason).await?;
    }

    work.state.phase = Some(Phase::Refilter { after: Some(last) });
    Ok(())
}

/// Returns the reason for which the provider itself excludes a node, or `None` if only our rules
/// do.
pub(crate) fn own_reason(node: &Node) -> Option<SkipReason> {
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
        NodeState::Skipped { reason } if !ours.contains(&reason) => Some(reason),
        _ => None,
    }
}
