//! The organization's rules have changed: all that is known is held against them, without a look at the provider.

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
        // A try is worth it again when nothing but the rules stood against it.
        work.settle(Some(node), node.clone(), reason).await?;
    }

    work.state.phase = Some(Phase::Refilter { after: Some(last) });
    Ok(())
}

/// Why the provider itself leaves a node out: what no rule of ours has said.
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
