//! Tries a deployment as a client would: adds a document, searches it, and deletes it.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use api_client::{ApiClient, Method};
use domain::{Secret, Tenant};
use serde_json::{Value, json};
use service::{Ctx, create_key, expires_at, set_key_enabled};

use super::place::full_key;
use crate::transfer::TRIAL_TAG;

/// The name of the keys that trials use.
pub(super) const TRIAL_KEY_NAME: &str = "trial of the deployment";
const TEXT: &str =
    "The lighthouse of Recollect was lit for the first time by its keeper, Ines Farol.";
const QUESTION: &str = "Who lit the lighthouse?";
const ANSWER: &str = "Ines Farol";
/// The time for an address that was just made, and for functions that start for the first time.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// The time for a document to be done. Queues are polled for the first time after about a minute.
const DONE_TIMEOUT: Duration = Duration::from_secs(180);
const POLL_PAUSE: Duration = Duration::from_millis(500);

/// The times of a trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrialTimes {
    /// The time from adding the document until it was done.
    done: Duration,
    /// The time of the search.
    search: Duration,
}

impl fmt::Display for TrialTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, search) = (self.done.as_secs_f64(), self.search.as_millis());
        write!(
            f,
            "a document was done after {done:.1} s and found within {search} ms"
        )
    }
}

/// Waits until the API at `url` answers.
async fn wait_for_api(url: &str) -> Result<()> {
    let client = ApiClient::over_http(url)?.without_retries();
    let begun = Instant::now();
    loop {
        match client.send(Method::GET, "/health", None).await {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > START_TIMEOUT => {
                return Err(error).with_context(|| format!("the API at {url} does not answer"));
            }
            Err(_) => tokio::time::sleep(POLL_PAUSE).await,
        }
    }
}

/// Tries the API at `url` with a key that is made for it, and disabled afterwards.
pub(super) async fn try_deployment(ctx: &Ctx, tenant: &Tenant, url: &str) -> Result<TrialTimes> {
    wait_for_api(url).await?;
    let spec = full_key(TRIAL_KEY_NAME, expires_at(ctx.clock.now(), Some(1))?);
    let key = create_key(ctx, tenant, spec).await?;
    let client = ApiClient::over_http(url)?.with_key(Secret::new(key.key_text));
    let outcome = add_and_search(&client).await;
    // The key ends by itself within a day.
    set_key_enabled(ctx, tenant, &key.record.id, false)
        .await
        .ok();
    outcome
}

async fn add_and_search(client: &ApiClient) -> Result<TrialTimes> {
    let begun = Instant::now();
    let body = json!({"content": TEXT, "containerTag": TRIAL_TAG});
    let added = client
        .send(Method::POST, "/v3/documents", Some(&body))
        .await;
    let added = added.context("cannot add a document")?;
    let id = added["id"]
        .as_str()
        .context("the answer names no document")?;
    let path = format!("/v3/documents/{id}");

    let outcome = search_when_done(client, &path, begun).await;
    // A document that is left over harms nobody: it is in a container of its own.
    client.send(Method::DELETE, &path, None).await.ok();
    outcome
}

async fn search_when_done(client: &ApiClient, path: &str, begun: Instant) -> Result<TrialTimes> {
    loop {
        let document = client
            .send(Method::GET, path, None)
            .await
            .context("cannot read the document")?;
        match document["status"].as_str() {
            Some("done") => break,
            Some("failed") => {
                let reason = document["errorMessage"].as_str();
                bail!(
                    "the document failed: {}",
                    reason.unwrap_or("no reason is known")
                )
            }
            _ if begun.elapsed() > DONE_TIMEOUT => bail!(
                "the document is not done after {} seconds: look at the log of the function `processor`",
                DONE_TIMEOUT.as_secs()
            ),
            _ => tokio::time::sleep(POLL_PAUSE).await,
        }
    }

    let done = begun.elapsed();
    let searched = Instant::now();
    let body = json!({"q": QUESTION, "containerTag": TRIAL_TAG, "searchMode": "hybrid"});
    let answer = client
        .send(Method::POST, "/v4/search", Some(&body))
        .await
        .context("cannot search")?;
    if !holds_answer(&answer) {
        bail!("the search does not find the document that was just added");
    }
    Ok(TrialTimes {
        done,
        search: searched.elapsed(),
    })
}

fn holds_answer(answer: &Value) -> bool {
    answer["results"].to_string().contains(ANSWER)
}
