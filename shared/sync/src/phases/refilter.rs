//! Applies changed rules of the organization to all records, without requests to the provider.

use domain::connection::RunPhase;

use crate::decide::items::provider_reason;
use crate::step_state::{StepState, TickError};

pub(crate) async fn refilter_items(
    step: &mut StepState<'_>,
    after: Option<String>,
) -> Result<(), TickError> {
    if step.state.rules == step.filter.digest {
        step.state.phase = Some(RunPhase::Fetch);
        return Ok(());
    }

    let (id, rows) = (&step.connection.id, step.context.limits.rows);
    let page = step
        .context
        .service
        .sync()
        .list_items(step.tenant, id, after.as_deref(), rows)
        .await?;
    let Some(last) = page.last().map(|record| record.id.clone()) else {
        step.state.rules.clone_from(&step.filter.digest);
        return Ok(());
    };

    step.add_known_records(&page);
    for record in page.iter().filter(|record| !record.folder) {
        let reason = provider_reason(record);
        // Another attempt is worthwhile if only the rules excluded the item.
        step.update_record(Some(record), record.clone(), reason)
            .await?;
    }

    step.state.phase = Some(RunPhase::Refilter { after: Some(last) });
    Ok(())
}
