//! Comparison of the figures of `/v3/analytics/*` with a recount of the requests, over random
//! histories and whichever hours were rolled up at the time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use domain::activity::{Hour, RequestRecord, RequestType, TallySlices};
use domain::ports::RequestLog;
use domain::{Timestamp, ports::PortResult};
use futures::join;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::{FaultRates, TestApp, TestEnvironment};

use crate::analytics::{new_record, plus_ms};
use crate::client::OrgClient;

const SEEDS: u64 = 3;
const REQUESTS: usize = 120;
/// The number of hours over which the requests are spread.
const HOURS: i64 = 9;
const STATUSES: [u16; 8] = [200, 200, 200, 201, 400, 404, 429, 500];

/// Returns a request at a random time in the hours after `begin`. Many are at the very beginning or
/// end of an hour.
fn random_record(random: &mut StdRng, begin: Timestamp) -> RequestRecord {
    let hour = random.random_range(0..HOURS) * 3_600_000;
    let places = [0, 1, 3_599_999, random.random_range(0..3_600_000)];
    let at = plus_ms(begin, hour + places.choose(random).expect("a place"));
    let kind = *RequestType::ALL.choose(random).expect("a type");
    let status = *STATUSES.choose(random).expect("a status");
    let key = *["ka", "kb", "kc"].choose(random).expect("a key");
    let error = match status {
        400 => Some("ValidationError"),
        404 => Some("NotFoundError"),
        429 => Some("RateLimitError"),
        500 => Some("InternalError"),
        _ => None,
    };
    let (micros, name) = (random.random_range(0..5_000_000), random.random_range(0..4));
    let key_name = format!("{key} {name}");

    RequestRecord {
        micros,
        error: error.map(str::to_owned),
        key_name,
        ..new_record(at, kind, status, key)
    }
}

/// Writes a record, repeatedly until it is known to be stored.
async fn persist_record(app: &TestApp, client: &OrgClient, record: &RequestRecord) {
    for _ in 0..100 {
        let written: PortResult<()> = app
            .system
            .ctx
            .request_log
            .record(&client.tenant, record, client.now())
            .await;
        if written.is_ok() {
            return;
        }
    }
    panic!("it is never written");
}

/// Generates a history whose hours are rolled up in the meantime by two processes, one of which
/// crashes now and then.
async fn generate_history(seed: u64) -> (OrgClient, Vec<RequestRecord>, Timestamp) {
    let mut random = StdRng::seed_from_u64(seed);
    let world = TestEnvironment::new().expect("a folder");
    let client = OrgClient::of(TestApp::start(&world, seed).await.expect("an app"), "acme").await;
    let rough = TestApp::start(&world, !seed).await.expect("an app");
    rough.faults.set_rates(FaultRates::OCCASIONAL);
    let begin = Hour::containing(client.now())
        .start_time()
        .plus_seconds(-40 * 3600);
    let mut records = Vec::new();

    for _ in 0..REQUESTS {
        let record = random_record(&mut random, begin);
        let before = begin.plus_seconds(random.random_range(0..HOURS + 2) * 3600);
        let rolls = random.random_range(0..12);
        let roll_up = async |app: &TestApp, wanted: bool| {
            if wanted {
                maintenance::roll_up_hours(&app.system.ctx, before)
                    .await
                    .ok();
            }
        };

        if random.random_bool(0.1) {
            let calls = random.random_range(0..12);
            rough
                .faults
                .crash_at(Some(rough.faults.call_count() + calls));
            roll_up(&rough, true).await;
            rough.faults.crash_at(None);
        }

        let writer = if random.random_bool(0.5) {
            &rough
        } else {
            &client.app
        };
        join!(
            persist_record(writer, &client, &record),
            roll_up(&client.app, rolls == 0 || rolls == 1),
            roll_up(&rough, rolls == 1 || rolls == 2)
        );
        records.push(record);
    }

    records.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    (client, records, begin)
}

fn mean_duration(records: &[&RequestRecord]) -> f64 {
    let micros: u64 = records.iter().map(|record| record.micros).sum();
    micros as f64 / records.len() as f64 / 1000.0
}

fn group_by<'a, K: Ord>(
    records: &[&'a RequestRecord],
    part: impl Fn(&RequestRecord) -> K,
) -> Vec<(K, Vec<&'a RequestRecord>)> {
    let mut groups: BTreeMap<K, Vec<&RequestRecord>> = BTreeMap::new();
    records
        .iter()
        .for_each(|record| groups.entry(part(record)).or_default().push(record));
    groups.into_iter().collect()
}

/// Sorts groups by size, the largest first.
fn rank_groups<K: Ord>(mut groups: Vec<(K, Vec<&RequestRecord>)>) -> Vec<(K, Vec<&RequestRecord>)> {
    groups.sort_by_key(|(_, records)| Reverse(records.len()));
    groups
}

fn hour_of(record: &RequestRecord) -> String {
    Hour::containing(record.at).start_time().to_string()
}

fn recount_usage(records: &[&RequestRecord]) -> Value {
    let last = |records: &[&RequestRecord]| {
        records
            .iter()
            .map(|record| record.at)
            .max()
            .expect("one")
            .to_string()
    };
    let common = |records: &[&RequestRecord]| json!({"count": records.len(), "avgDuration": mean_duration(records), "lastUsed": last(records)});
    let with = |mut fields: Value, name: &str, value: Value| {
        fields[name] = value;
        fields
    };
    let types = rank_groups(group_by(records, |record| record.kind));
    let types = types
        .iter()
        .map(|(kind, all)| with(common(all), "type", json!(kind)));
    let hours = group_by(records, hour_of);
    let hours = hours.iter().map(
        |(hour, all)| json!({"hour": hour, "count": all.len(), "avgDuration": mean_duration(all)}),
    );
    let keys = rank_groups(group_by(records, |record| record.key.clone()));
    let keys = keys.iter().map(|(key, all)| {
        let name = all.last().expect("one").key_name.clone();
        with(
            with(common(all), "keyId", json!(key)),
            "keyName",
            json!(name),
        )
    });

    json!({
        "usage": types.collect::<Vec<_>>(),
        "hourly": hours.collect::<Vec<_>>(),
        "byKey": keys.collect::<Vec<_>>(),
    })
}

fn recount_errors(records: &[&RequestRecord]) -> Value {
    let failed: Vec<&RequestRecord> = records
        .iter()
        .filter(|record| record.status >= 400)
        .copied()
        .collect();
    let kind = |record: &RequestRecord| record.error.clone().expect("a type");
    let top = rank_groups(group_by(&failed, kind)).into_iter().map(|(kind, all)| {
        let statuses: BTreeSet<u16> = all.iter().map(|record| record.status).collect();
        let last = all.iter().map(|record| record.at).max().expect("one");
        json!({"type": kind, "count": all.len(), "statusCodes": statuses, "lastOccurred": last.to_string()})
    });

    let timeline = group_by(&failed, hour_of).into_iter().map(|(hour, all)| {
        let types: BTreeSet<String> = all.iter().map(|record| kind(record)).collect();
        json!({"time": hour, "count": all.len(), "types": types})
    });

    let statuses: BTreeMap<String, usize> = group_by(&failed, |record| record.status.to_string())
        .into_iter()
        .map(|(name, all)| (name, all.len()))
        .collect();
    json!({
        "totalErrors": failed.len(),
        "errorRate": if records.is_empty() { 0.0 } else { failed.len() as f64 / records.len() as f64 },
        "topErrors": top.collect::<Vec<_>>(),
        "timeline": timeline.collect::<Vec<_>>(),
        "byStatusCode": statuses,
    })
}

/// Compares the figures of several periods with a recount.
async fn compare_with_recount(
    client: &OrgClient,
    records: &[RequestRecord],
    begin: Timestamp,
    seed: u64,
) {
    let mut random = StdRng::seed_from_u64(seed);
    let end = begin.plus_seconds(HOURS * 3600);
    let mut spans = vec![(begin, end)];
    for _ in 0..2 {
        let edges = [records.choose(&mut random), records.choose(&mut random)];
        let mut edges = edges.map(|record| record.expect("a record").at);
        edges.sort();
        spans.push((edges[0], plus_ms(edges[1], random.random_range(0..2))));
    }

    for (from, to) in spans {
        let within: Vec<&RequestRecord> = records
            .iter()
            .filter(|record| from <= record.at && record.at < to)
            .collect();
        let query = format!("from={from}&to={to}");
        let mut found = client.get_figures(&format!("usage?{query}")).await;
        assert_eq!(found["totalMemories"], 0);
        assert_eq!(
            found["pagination"]["totalItems"],
            found["byKey"].as_array().expect("keys").len()
        );
        for more in ["totalMemories", "pagination"] {
            found.as_object_mut().expect("figures").remove(more);
        }
        assert_eq!(
            found,
            recount_usage(&within),
            "usage of seed {seed} {query}"
        );
        assert_eq!(
            client.get_figures(&format!("errors?{query}")).await,
            recount_errors(&within),
            "errors of seed {seed} {query}"
        );
        let logs = client.get_figures(&format!("logs?{query}&limit=100")).await;
        let newest: Vec<&str> = within
            .iter()
            .rev()
            .take(100)
            .map(|record| record.id.as_str())
            .collect();
        assert_eq!(
            crate::client::collect_field(&logs["logs"], "id"),
            newest,
            "logs of seed {seed} {query}"
        );
    }
}

/// Returns for each hour of a history whether it is rolled up.
async fn closed_hours(client: &OrgClient, begin: Timestamp) -> Vec<bool> {
    let activity: &dyn RequestLog = &*client.app.system.ctx.request_log;
    let (first, last) = (
        Hour::containing(begin),
        Hour::containing(begin.plus_seconds(HOURS * 3600 - 1)),
    );
    let hours = activity
        .count_by_hour(&client.tenant, first, last)
        .await
        .expect("hours");

    hours.iter().map(|hour| hour.tally.is_some()).collect()
}

async fn all_closed(client: &OrgClient, begin: Timestamp) -> bool {
    closed_hours(client, begin)
        .await
        .iter()
        .all(|closed| *closed)
}

async fn any_closed(client: &OrgClient, begin: Timestamp) -> bool {
    closed_hours(client, begin).await.contains(&true)
}

#[tokio::test]
async fn figures_are_those_of_a_recount_whatever_is_rolled_up() {
    for seed in 0..SEEDS {
        let (client, records, begin) = generate_history(seed).await;
        assert!(
            any_closed(&client, begin).await,
            "seed {seed} has rolled up nothing"
        );

        compare_with_recount(&client, &records, begin, seed).await;
        client.roll_up_hours(client.now()).await;
        assert!(all_closed(&client, begin).await, "seed {seed}");

        compare_with_recount(&client, &records, begin, seed).await;
        // A late record opens its hour again.
        let late = RequestRecord {
            key_name: "late".into(),
            ..new_record(begin, RequestType::Add, 404, "ka")
        };
        let late = RequestRecord {
            error: Some("NotFoundError".into()),
            ..late
        };
        client.write_record(&late).await;
        assert!(!all_closed(&client, begin).await, "seed {seed}");

        let mut records = records;
        records.push(late);
        records.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        compare_with_recount(&client, &records, begin, seed).await;
        client.roll_up_hours(client.now()).await;
        compare_with_recount(&client, &records, begin, seed).await;
    }
}

/// The second of the only request that is answered with 418.
const RARE_SECOND: i64 = 10;

/// Writes requests of an hour in time, each a second after the one before it.
async fn write_in_time(
    client: &OrgClient,
    begin: Timestamp,
    seconds: Range<i64>,
) -> Vec<RequestRecord> {
    let mut records = Vec::new();
    for second in seconds {
        let at = begin.plus_seconds(second);
        let kind = RequestType::ALL[usize::try_from(second % 5).expect("a type")];
        let status = match second {
            RARE_SECOND => 418,
            second if second % 7 == 0 => 404,
            _ => 200,
        };
        let record = new_record(at, kind, status, "ka");
        let log = &client.app.system.ctx.request_log;
        let written = log.record(&client.tenant, &record, at).await;
        written.expect("a record");
        records.push(record);
    }
    records
}

/// Returns the time up to which the open hour after `begin` is counted, if it has slices.
async fn counted_to(client: &OrgClient, begin: Timestamp) -> Option<Timestamp> {
    let (log, hour) = (&client.app.system.ctx.request_log, Hour::containing(begin));
    let hours = log.count_by_hour(&client.tenant, hour, hour).await;
    let token = hours.expect("hours").remove(0).token;
    let slices = log.get_slices(&client.tenant, hour, &token).await;
    slices.expect("an answer").map(|slices| slices.counted_to())
}

#[tokio::test]
async fn a_busy_hour_is_counted_before_it_ends() {
    let client = OrgClient::new().await;
    let begin = Hour::containing(client.now())
        .start_time()
        .plus_seconds(-40 * 3600);
    let roll_up = async |seconds: i64| {
        let before = begin.plus_seconds(seconds);
        let closed = maintenance::roll_up_hours(&client.app.system.ctx, before).await;
        closed.expect("hours to count")
    };
    let mut records = write_in_time(&client, begin, 0..900).await;
    assert_eq!(roll_up(900).await, 0);
    assert_eq!(counted_to(&client, begin).await, None, "it is not busy yet");

    records.extend(write_in_time(&client, begin, 900..1_290).await);
    assert_eq!(roll_up(1_290).await, 0);
    let quarter = begin.plus_seconds(960);
    assert_eq!(counted_to(&client, begin).await, Some(quarter));
    compare_with_recount(&client, &records, begin, 1).await;

    // A late record lets the hour be counted from its beginning.
    let late = new_record(begin.plus_seconds(70), RequestType::Add, 200, "kb");
    client.write_record(&late).await;
    records.insert(71, late);
    records.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    assert_eq!(counted_to(&client, begin).await, None);
    compare_with_recount(&client, &records, begin, 2).await;

    records.extend(write_in_time(&client, begin, 1_290..2_400).await);
    assert_eq!(roll_up(2_400).await, 0);
    let end = begin.plus_seconds(2_100);
    assert_eq!(counted_to(&client, begin).await, Some(end));
    compare_with_recount(&client, &records, begin, 3).await;
    read_all_pages(&client, &records, begin).await;

    assert_eq!(roll_up(3_900).await, 1);
    let end = Hour::containing(begin).end_time();
    assert_eq!(counted_to(&client, begin).await, Some(end));
    compare_with_recount(&client, &records, begin, 4).await;
    read_all_pages(&client, &records, begin).await;
    find_rare_request(&client, &records, begin).await;
}

/// Checks that a filter finds the only request that it admits, whose minute the slices name.
async fn find_rare_request(client: &OrgClient, records: &[RequestRecord], begin: Timestamp) {
    let end = begin.plus_seconds(3_600);
    let query = format!("logs?from={begin}&to={end}&statusCode=418&limit=20");
    let body = client.get_figures(&query).await;
    let rare = records.iter().filter(|record| record.status == 418);
    let rare: Vec<_> = rare.map(|record| record.id.clone()).collect();
    assert_eq!(rare.len(), 1);
    assert_eq!(crate::client::collect_field(&body["logs"], "id"), rare);
}

/// Checks that the pages of the log are the records, newest first.
async fn read_all_pages(client: &OrgClient, records: &[RequestRecord], begin: Timestamp) {
    let end = begin.plus_seconds(3_600);
    let mut all = Vec::new();
    for page in 1..=records.len().div_ceil(100) {
        let query = format!("logs?from={begin}&to={end}&limit=100&page={page}");
        let body = client.get_figures(&query).await;
        all.extend(crate::client::collect_field(&body["logs"], "id"));
    }
    let wanted: Vec<_> = records
        .iter()
        .rev()
        .map(|record| record.id.clone())
        .collect();
    assert_eq!(all, wanted);
}

#[tokio::test]
async fn an_hour_is_counted_in_steps() {
    let client = OrgClient::new().await;
    let ctx = &client.app.system.ctx;
    let hour = Hour(Hour::containing(client.now()).0 - 40);
    let mut records = Vec::new();
    for number in 0..60 {
        let at = hour.start_time().plus_seconds(number * 30);
        let record = RequestRecord {
            input: Some(json!("x".repeat(60_000))),
            ..new_record(at, RequestType::Search, 200, "ka")
        };
        client.write_record(&record).await;
        records.push(record);
    }

    let mut slices = TallySlices::new(hour);
    let mut steps = Vec::new();
    while !slices.is_complete() {
        let to = hour.end_time();
        let pages = service::count_on(ctx, &client.tenant, hour, &mut slices, to, 1).await;
        assert!(pages.expect("pages") <= 2);
        steps.push(slices.counted_to());
    }
    assert!(steps.len() > 2 && steps.is_sorted(), "{steps:?}");
    assert_eq!(slices.total(), records.iter().collect());
}

#[tokio::test]
async fn pages_and_filters_of_the_log_make_up_the_whole() {
    let (client, records, begin) = generate_history(77).await;
    let end = begin.plus_seconds(HOURS * 3600);
    type Admits = fn(&RequestRecord) -> bool;
    let filters: [(&str, Admits); 8] = [
        ("logs?", |_| true),
        ("logs?type=search", |record| {
            record.kind == RequestType::Search
        }),
        ("logs?statusCode=404", |record| record.status == 404),
        ("logs?keyId=kb&type=add", |record| {
            record.key == "kb" && record.kind == RequestType::Add
        }),
        ("logs?keyId=nobody", |_| false),
        ("requests?status=error", |record| record.status >= 400),
        ("requests?status=success&type=update", |record| {
            record.status < 400 && record.kind == RequestType::Update
        }),
        ("requests?type=delete", |record| {
            record.kind == RequestType::Delete
        }),
    ];

    for (question, admits) in filters {
        let wanted: Vec<&str> = records
            .iter()
            .rev()
            .filter(|record| admits(record))
            .map(|record| record.id.as_str())
            .collect();

        for limit in [11, 20, 100] {
            let pages = wanted.len().div_ceil(limit);
            let mut all = Vec::new();
            for page in 1..=pages + 1 {
                let query = format!("{question}&from={begin}&to={end}&limit={limit}&page={page}");
                let body = client.get_figures(&query).await;
                let place = json!({"currentPage": page, "limit": limit, "totalItems": wanted.len(), "totalPages": pages});
                assert_eq!(body["pagination"], place, "{query}");
                all.extend(crate::client::collect_field(&body["logs"], "id"));
            }
            assert_eq!(all, wanted, "{question} in pages of {limit}");
        }
    }

    for (place, record) in records.iter().rev().enumerate().take(12) {
        let body = client
            .get_figures(&format!(
                "logs?from={begin}&to={end}&limit=1&page={}",
                place + 1
            ))
            .await;
        assert_eq!(
            crate::client::collect_field(&body["logs"], "id"),
            [record.id.as_str()]
        );
    }

    let mut keys = Vec::new();
    for page in 1..=4 {
        let body = client
            .get_figures(&format!("usage?from={begin}&to={end}&limit=1&page={page}"))
            .await;
        assert_eq!(
            body["pagination"],
            json!({"currentPage": page, "limit": 1, "totalItems": 3, "totalPages": 3})
        );
        keys.extend(crate::client::collect_field(&body["byKey"], "keyId"));
    }

    keys.sort();
    assert_eq!(keys, ["ka", "kb", "kc"]);
}
