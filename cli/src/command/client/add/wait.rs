//! Waits until accepted documents are processed.

use std::time::{Duration, Instant};

use anyhow::Result;
use api_client::ApiClient;
use futures::{StreamExt, stream};
use indicatif::ProgressBar;

use super::super::api::{document_path, found, get};
use super::send::Accepted;

/// The documents that are looked at at a time.
const PARALLEL: usize = 4;
/// The first pause between two looks at a document. Each further pause is longer by half.
const FIRST_PAUSE: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The time for one document, after which it is left to itself.
const PATIENCE: Duration = Duration::from_secs(600);

/// The end of the processing of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Processed {
    Done,
    /// It has failed, for this reason.
    Failed(String),
    /// It was deleted meanwhile.
    Gone,
    /// It takes longer than anybody wants to wait.
    Unfinished,
}

/// Waits for all documents, and returns how each ended, in their order.
///
/// # Errors
/// Fails if the service cannot be asked any more.
pub(in super::super) async fn wait_for_all(
    client: &ApiClient,
    documents: &[Accepted],
    bar: &ProgressBar,
) -> Result<Vec<Processed>> {
    let waiting = documents.iter().map(|document| async move {
        let ended = wait_for_one(client, document).await;
        bar.inc(1);
        ended
    });
    let ended: Vec<Result<Processed>> = stream::iter(waiting).buffered(PARALLEL).collect().await;
    ended.into_iter().collect()
}

async fn wait_for_one(client: &ApiClient, document: &Accepted) -> Result<Processed> {
    if document.is_unchanged {
        return Ok(Processed::Done);
    }

    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(answer) = found(get(client, &document_path(&document.id)).await)? else {
            return Ok(Processed::Gone);
        };
        match answer["status"].as_str() {
            Some("done") => return Ok(Processed::Done),
            Some("failed") => {
                let reason = answer["errorMessage"].as_str();
                return Ok(Processed::Failed(
                    reason.unwrap_or("no reason is known").to_owned(),
                ));
            }
            _ if started.elapsed() > PATIENCE => return Ok(Processed::Unfinished),
            _ => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}
