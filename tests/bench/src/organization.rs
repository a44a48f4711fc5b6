//! Operations that concern a whole organization: lists, deletion and merge of large containers,
//! figures over a long request log, and the cost of logging a request.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use domain::activity::{RequestRecord, RequestType, TimeSpan};
use domain::document::{BodyForm, DocumentBody, IndexedRevision};
use domain::{
    ContainerId, ContainerTag, Document, DocumentChange, DocumentId, DocumentStatus, DocumentType,
    Dreaming, Metadata, OrgId, Pack, Revision, TaskType, Tenant, Timestamp,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::rig::{BenchSystem, percentiles};

/// The number of concurrent writes.
const PARALLEL: usize = 16;
/// The hours of requests that analytics covers, without those that are about to leave it.
pub(crate) const HOURS: i64 = 90 * 24 - 2;
/// The number of documents on a measured page.
const PAGE_SIZE: usize = 10;

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(documents: usize, requests: usize, hours: i64) -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    let tenant = Tenant::for_operator(OrgId::parse("local")?);
    log_overhead(&rig).await?;
    fill_container(&rig, &tenant, "large", documents).await?;
    measure_lists(&rig, documents).await?;
    fill_container(&rig, &tenant, "target", 100).await?;
    fill_container(&rig, &tenant, "small", 100).await?;

    rig.start_workers().await?;
    let begun = Instant::now();
    let body = json!({"containerTags": ["large", "target"], "targetContainerTag": "target"});
    let merge = rig.post("/v3/container-tags/merge", &body).await?;
    println!(
        "merge answer, {documents} documents:  {:.1} ms",
        to_millis(begun.elapsed())
    );
    let path = format!(
        "/v3/container-tags/merge/{}",
        merge["mergeId"].as_str().unwrap_or_default()
    );
    let merged = wait_for_status(&rig, &path, "completed").await?;
    println!(
        "merge to completed:  {:.1} s, 30 of them waiting",
        merged.as_secs_f64()
    );

    let mut answers = Vec::new();
    for tag in ["small", "target"] {
        let begun = Instant::now();
        let answer = rig
            .call("DELETE", &format!("/v3/container-tags/{tag}"), &Value::Null)
            .await?;
        println!(
            "delete answer, {} documents:  {:.1} ms",
            answer["deletedDocumentsCount"],
            to_millis(begun.elapsed())
        );
        answers.push(answer);
    }

    let id = answers[1]["deletionId"].as_str().context("a deletion")?;
    let path = format!("/v3/container-tags/deletions/{id}");
    // The deletion begins a minute later.
    while rig.call("GET", &path, &Value::Null).await?["report"]["documents"] == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let purged = wait_for_status(&rig, &path, "verifying")
        .await?
        .as_secs_f64();
    println!(
        "purge of {documents} documents:  {purged:.1} s, {:.0} documents/s",
        documents as f64 / purged
    );
    println!("{}", rig.call("GET", &path, &Value::Null).await?["report"]);
    rig.stop_workers().await;

    let first = rig.system.ctx.clock.now().plus_seconds(-hours * 3600);
    write_request_log(&rig, &tenant, requests, first).await?;
    measure_analytics(&rig, first, hours).await
}

/// Prints the time, the read units and the longest chain of calls of figures and pages of the request
/// log.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_analytics(rig: &BenchSystem, first: Timestamp, hours: i64) -> Result<()> {
    for path in [
        "usage",
        "errors",
        "logs",
        "logs?page=40&limit=100",
        "logs?page=1000&limit=100",
        "logs?type=search&statusCode=404",
    ] {
        let join = if path.contains('?') { '&' } else { '?' };
        let path_and_query = format!("/v3/analytics/{path}{join}from={first}");
        rig.meter.start_counting();
        let begun = Instant::now();
        let answer = rig.call("GET", &path_and_query, &Value::Null).await?;
        let millis = to_millis(begun.elapsed());
        let counts = rig.meter.take_counts();
        let total = answer["pagination"]["totalItems"]
            .as_u64()
            .or(answer["totalErrors"].as_u64());
        println!(
            "analytics {path} over {hours} hours:  {millis:.1} ms, {:.1} read units, chain {} ({total:?})",
            counts.read_units, counts.longest_chain
        );
    }

    Ok(())
}

fn to_millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Measures the cheapest request that is logged, with and without a log.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn log_overhead(rig: &BenchSystem) -> Result<()> {
    const CALLS: usize = 500;
    rig.add_text("small-talk", "Something.").await?;
    let search = json!({"q": "something", "containerTag": "small-talk"});
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let begun = Instant::now();
        rig.post("/v4/search", &search).await?;
        times.push(begun.elapsed());
    }

    let (middle, late, _) = percentiles(&mut times);
    println!("search of next to nothing, logged:  p50 {middle:.2} ms, p99 {late:.2} ms");
    let tenant = Tenant::for_operator(OrgId::parse("local")?);
    let mut times = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let now = rig.system.ctx.clock.now();
        let begun = Instant::now();
        rig.system
            .ctx
            .request_log
            .record(&tenant, &random_record(number, now), now)
            .await?;
        times.push(begun.elapsed());
    }

    let (middle, late, _) = percentiles(&mut times);
    println!("of it, writing the record:  p50 {middle:.2} ms, p99 {late:.2} ms");

    Ok(())
}

/// Prints the time, the read units and the longest chain of calls of lists of the large container.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_lists(rig: &BenchSystem, documents: usize) -> Result<()> {
    let pages = documents.div_ceil(PAGE_SIZE);
    let lists = [
        ("first page", json!({})),
        ("page 100", json!({"page": 100})),
        ("last page", json!({"page": pages})),
        ("oldest first", json!({"order": "asc"})),
        ("by the last change", json!({"sort": "updatedAt"})),
        ("below a path", json!({"filepath": "/nothing/"})),
        ("only failed ones", json!({"status": "failed"})),
        ("by a nested filter", json!({"filters": nested_filter()})),
    ];
    for (name, mut body) in lists {
        body["containerTags"] = json!(["large"]);
        body["limit"] = json!(PAGE_SIZE);
        rig.meter.start_counting();
        let begun = Instant::now();
        rig.post("/v3/documents/list", &body).await?;
        let millis = to_millis(begun.elapsed());
        let counts = rig.meter.take_counts();
        println!(
            "list of {documents} documents, {name}:  {millis:.1} ms, {:.1} read units, chain {}",
            counts.read_units, counts.longest_chain
        );
    }

    Ok(())
}

/// Returns a filter that one document in twenty passes: see [`metadata`].
fn nested_filter() -> Value {
    json!({"AND": [
        {"key": "team", "value": "team 3"},
        {"OR": [
            {"key": "year", "value": "2014", "filterType": "numeric", "numericOperator": ">"},
            {"key": "year", "value": "1990", "filterType": "numeric", "numericOperator": "<"},
        ]},
    ]})
}

/// Returns the metadata of the n-th document.
fn metadata(number: usize) -> Metadata {
    let year = 2000 + number / 10 % 30;
    let fields = json!({"team": format!("team {}", number % 10), "year": year});
    let fields = fields.as_object().cloned().unwrap_or_default();
    Metadata::from_stored(fields)
}

fn print_progress(what: &'static str, length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(what);
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
    style
        .map(|style| bar.clone().with_style(style))
        .unwrap_or(bar)
}

/// Fills a container with documents that search serves, without the time that processing takes.
async fn fill_container(
    rig: &BenchSystem,
    tenant: &Tenant,
    tag: &str,
    documents: usize,
) -> Result<()> {
    let ctx = &rig.system.ctx;
    let tag = ContainerTag::parse(tag)?;
    let now = ctx.clock.now();
    let container = ctx
        .containers
        .create_tag(tenant, &tag, ContainerId::random(), now)
        .await?;
    let bar = print_progress("documents", documents);
    let mut left = documents;
    while left > 0 {
        let batch = left.min(domain::ports::MAX_CHANGES_PER_COMMIT);
        let numbers = documents - left..documents - left + batch;
        let made = stream::iter(numbers)
            .map(|number| document(rig, tenant, &tag, container.primary_id(), number));
        let changes: Vec<DocumentChange> = made.buffered(PARALLEL).try_collect().await?;
        let head = ctx.index.get_head(tenant, container.primary_id()).await?;
        let committed = ctx
            .index
            .commit(tenant, container.primary_id(), &head, &changes, now)
            .await?;
        if !matches!(committed, domain::ports::CommitOutcome::Done(_)) {
            bail!("{committed:?} with nobody else writing");
        }
        // Compacts as maintenance would, so that the log stays short.
        if head.needs_compaction(&changes) {
            let compaction = rig.system.compaction;
            let _ = container_index::compact_index(
                ctx,
                tenant,
                container.primary_id(),
                None,
                compaction,
            )
            .await?;
        }
        left -= batch;
        bar.inc(batch as u64);
    }

    bar.finish_and_clear();
    Ok(())
}

async fn document(
    rig: &BenchSystem,
    tenant: &Tenant,
    tag: &ContainerTag,
    container: &ContainerId,
    number: usize,
) -> Result<DocumentChange> {
    let (id, revision, now) = (
        DocumentId::random(),
        Revision::random(),
        rig.system.ctx.clock.now(),
    );
    let text = format!("A document of its own, with the number {id}.");
    let pack = Pack {
        v: Pack::VERSION,
        model: String::new(),
        chosen_model: None,
        text: text.clone(),
        chunks: Vec::new(),
    };

    let place = format!("{container}/{id}/{revision}");
    let blobs = &rig.system.ctx.blobs;
    let size = text.len() as u64;
    let blob = blobs
        .put(tenant, &format!("{place}/body"), Bytes::from(text))
        .await?;
    let pack = blobs
        .put(tenant, &format!("{place}/pack"), pack.encode().into())
        .await?;
    let body = DocumentBody {
        blob: blob.clone(),
        form: BodyForm::Text,
        hash: String::new(),
        size,
        awaited_until: None,
        sent_at: Some(now),
    };

    let indexed = IndexedRevision {
        revision: revision.clone(),
        pack,
        body: blob,
        chunks: 0,
        kind: DocumentType::Text,
        title: None,
        statements_ref: None,
        authorship: None,
        summary: None,
    };

    Ok(DocumentChange::create(Document {
        id,
        container: container.clone(),
        tag: tag.clone(),
        further_tags: Vec::new(),
        custom_id: None,
        revision,
        revision_number: 1,
        status: DocumentStatus::Done,
        failure: None,
        attempts: 0,
        lease_until: Timestamp::from_millis(0),
        body,
        extracted: None,
        indexed: Some(indexed),
        kind: DocumentType::Text,
        title: None,
        properties: std::collections::BTreeMap::new(),
        url: None,
        metadata: metadata(number),
        filepath: None,
        description_changes: 0,
        filter_by_metadata: None,
        task_type: TaskType::Memory,
        dreaming: Dreaming::Dynamic,
        origin: None,
        superseded_by: None,
        document_date: None,
        provenance: None,
        created_at: now,
        updated_at: now,
    }))
}

/// Waits until the resource at `path` has the status, and returns the duration.
async fn wait_for_status(rig: &BenchSystem, path: &str, status: &str) -> Result<Duration> {
    const PATIENCE: Duration = Duration::from_secs(3600);
    let begun = Instant::now();
    loop {
        let answer = rig.call("GET", path, &Value::Null).await?;
        match answer["status"].as_str() {
            Some(found) if found == status => return Ok(begun.elapsed()),
            Some("failed") => bail!("{answer}"),
            _ if begun.elapsed() > PATIENCE => bail!("not within an hour: {answer}"),
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

fn random_record(number: usize, at: Timestamp) -> RequestRecord {
    let status = [200, 200, 200, 200, 200, 200, 200, 200, 404, 400][number % 10];
    let error = match status {
        404 => Some("NotFoundError".to_owned()),
        400 => Some("ValidationError".to_owned()),
        _ => None,
    };

    RequestRecord {
        id: Revision::random().as_str().to_owned(),
        at,
        kind: RequestType::ALL[number % 3],
        route: "POST /v4/search".into(),
        status,
        error,
        micros: 1_000 + (number % 977) as u64,
        key: format!("key{}", number % 5),
        key_name: format!("Key {}", number % 5),
        containers: Vec::new(),
        input: Some(json!({"q": "[27 characters]", "containerTag": "small-talk", "limit": 10})),
        output: Some(json!({"total": 3, "timing": 2})),
    }
}

/// Writes requests spread over the time since `first`, and rolls up the hours that have ended.
/// Checks whether sweeps at the time `now` have nothing more to count.
async fn is_counted(rig: &BenchSystem, tenant: &Tenant, now: Timestamp) -> Result<bool> {
    let log = &rig.system.ctx.request_log;
    let settled = now.plus_seconds(-300);
    for (_, hour) in log.list_overdue_hours(settled, 1).await? {
        let counts = log.count_by_hour(tenant, hour, hour).await?;
        let token = counts.first().map_or("", |counts| counts.token.as_str());
        let slices = log.get_slices(tenant, hour, token).await?;
        let counted_to = slices.map(|slices| slices.counted_to());
        if counted_to < Some(TimeSpan::of_minute(settled).start_time()) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn write_request_log(
    rig: &BenchSystem,
    tenant: &Tenant,
    requests: usize,
    first: Timestamp,
) -> Result<()> {
    let ctx = &rig.system.ctx;
    let now = ctx.clock.now();
    let duration = now.as_millis() - first.as_millis();
    let bar = print_progress("requests", requests);
    let writes = stream::iter(0..requests).map(|number| {
        let passed = duration * number as i64 / requests as i64;
        let at = Timestamp::from_millis(first.as_millis() + passed);
        let bar = bar.clone();
        async move {
            let record = random_record(number, at);
            bar.inc(1);
            // The record is written with its own time, so that it does not count as late.
            ctx.request_log.record(tenant, &record, at).await
        }
    });

    writes
        .buffer_unordered(PARALLEL)
        .try_collect::<()>()
        .await?;
    bar.finish_and_clear();
    let begun = Instant::now();
    let (mut hours, mut sweeps) = (0, 0);
    while !is_counted(rig, tenant, now).await? {
        hours += maintenance::roll_up_hours(ctx, now).await?;
        sweeps += 1;
    }

    let seconds = begun.elapsed().as_secs_f64();
    println!("{requests} requests in {hours} hours counted by {sweeps} sweeps:  {seconds:.1} s");

    Ok(())
}
