//! `/v3/analytics/*`: refused requests, the bounds of periods, and the rate limit.

use domain::activity::{RequestRecord, RequestType};
use domain::ports::Clock;
use domain::{Revision, Timestamp};
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::{FaultRates, TestAnswer};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error, expect_ok, pagination_shape};

pub(crate) const DAY: i64 = 24 * 3600;
const ROUTES: [&str; 5] = ["usage", "errors", "logs", "requests", "memory"];

/// Returns a request of `key` at this time, answered with this status.
pub(crate) fn new_record(
    at: Timestamp,
    kind: RequestType,
    status: u16,
    key: &str,
) -> RequestRecord {
    RequestRecord {
        id: Revision::random().as_str().to_owned(),
        at,
        kind,
        route: "POST /v4/search".into(),
        status,
        error: (status >= 400).then(|| "ValidationError".to_owned()),
        micros: 1_500,
        key: key.into(),
        key_name: format!("name of {key}"),
        containers: Vec::new(),
        input: Some(json!({"limit": 5})),
        output: Some(json!({"total": 0})),
    }
}

pub(crate) fn plus_ms(time: Timestamp, ms: i64) -> Timestamp {
    Timestamp::from_millis(time.as_millis() + ms)
}

impl OrgClient {
    pub(crate) fn now(&self) -> Timestamp {
        self.app.environment.clock.now()
    }

    /// Writes a record of the request log.
    pub(crate) async fn write_record(&self, record: &RequestRecord) {
        self.app
            .system
            .ctx
            .request_log
            .record(&self.tenant, record, self.now())
            .await
            .expect("a record");
    }

    /// Sends a question, a second after the previous one, so that the rate limit is never reached.
    pub(crate) async fn ask_analytics(&self, question: &str) -> TestAnswer {
        self.app.environment.clock.advance_seconds(1);
        self.get(&format!("/v3/analytics/{question}")).await
    }

    /// Returns the answer to a valid question.
    pub(crate) async fn get_figures(&self, question: &str) -> Value {
        let answer = self.ask_analytics(question).await;
        assert_eq!(answer.status, 200, "{question}: {}", answer.body);
        answer.body
    }

    /// Rolls up every hour that ended five minutes before `before`.
    pub(crate) async fn roll_up_hours(&self, before: Timestamp) {
        while maintenance::roll_up_hours(&self.app.system.ctx, before)
            .await
            .expect("hours to count")
            > 0
        {}
    }
}

#[tokio::test]
async fn an_organization_that_has_asked_nothing_has_empty_figures() {
    let client = OrgClient::new().await;
    let until = client.now();
    let shape = json!({"usage": [], "hourly": [], "byKey": [], "totalMemories": "int", "pagination": pagination_shape()});
    let usage = expect_ok(
        client.ask_analytics(&format!("usage?to={until}")).await,
        &shape,
    );
    assert_eq!(
        usage["pagination"],
        json!({"currentPage": 1, "limit": 20, "totalItems": 0, "totalPages": 0})
    );
    let errors = client.get_figures(&format!("errors?to={until}")).await;
    let none = json!({"totalErrors": 0, "errorRate": 0.0, "topErrors": [], "timeline": [], "byStatusCode": {}});
    assert_eq!(errors, none);
    let logs = client.get_figures(&format!("logs?to={until}")).await;
    assert_eq!(logs["logs"], json!([]));
    let memory = client.get_figures("memory").await;

    for figure in [
        "totalMemories",
        "totalMemoryEntries",
        "totalConnections",
        "totalContainerTags",
    ] {
        assert_eq!(memory[figure], 0, "{figure}");
    }
}

#[tokio::test]
async fn a_wrong_parameter_is_named() {
    let client = OrgClient::new().await;
    let (now, mut faults) = (client.now(), ErrorMismatches::default());
    let long = plus_ms(now.plus_seconds(-91 * DAY), -1);
    let yesterday = now.plus_seconds(-DAY);
    let common = [
        ("page=0", "page"),
        ("page=-1", "page"),
        ("page=first", "page"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=", "limit"),
        ("period=2h", "period"),
        ("period=all", "period"),
        ("period=", "period"),
        ("from=yesterday", "from"),
        ("to=2026-13-01", "to"),
        ("from=2026-01-01T25:00:00", "from"),
        ("limit=5&limit=6", "limit"),
    ];
    let spans = [
        format!("from={now}&to={yesterday}"),
        format!("from={}", now.plus_seconds(DAY)),
        format!("from={long}&to={yesterday}"),
        format!("from={}", now.plus_seconds(-91 * DAY)),
    ];

    for route in &ROUTES[..4] {
        let spans = spans.iter().map(|span| (span.as_str(), "from"));
        for (query, field) in common.into_iter().chain(spans) {
            let answer = client.ask_analytics(&format!("{route}?{query}")).await;
            faults.check_error(
                &format!("{route}?{query}"),
                &answer,
                400,
                "ValidationError",
                field,
            );
        }
    }

    for (question, field) in [
        ("logs?type=fast", "type"),
        ("logs?type=", "type"),
        ("requests?type=Add", "type"),
        ("logs?statusCode=ok", "statusCode"),
        ("logs?statusCode=99", "statusCode"),
        ("logs?statusCode=70000", "statusCode"),
        ("requests?status=400", "status"),
        ("memory?period=2d", "period"),
    ] {
        faults.check_error(
            question,
            &client.ask_analytics(question).await,
            400,
            "ValidationError",
            field,
        );
    }
    faults.assert_none();

    for question in [
        "logs?page=18446744073709551615&limit=100",
        "usage?page=18446744073709551615",
        "errors?page=9",
    ] {
        client.get_figures(question).await;
    }
}

#[tokio::test]
async fn a_key_that_reaches_some_containers_only_is_refused() {
    let client = OrgClient::new().await;
    let confined = client
        .app
        .create_key_with("acme", domain::key::Permission::Write, Some(&["mine"]))
        .await;
    let reader = client
        .app
        .create_key_with("acme", domain::key::Permission::Read, None)
        .await;

    for route in ROUTES {
        let path = format!("/v3/analytics/{route}");
        expect_error(
            &client.app.get(&path, &confined).await,
            403,
            "PermissionError",
            "",
        );
        expect_error(
            &client.app.get(&path, "").await,
            401,
            "AuthenticationError",
            "key",
        );
        assert_eq!(client.app.get(&path, &reader).await.status, 200, "{route}");
    }
}

#[tokio::test]
async fn a_time_holds_its_first_moment_and_not_its_last() {
    let client = OrgClient::new().await;
    let hour = Timestamp::parse("to", "2025-12-30T10:00:00Z").expect("a time");
    let end = hour.plus_seconds(3600);
    let middle = plus_ms(hour, 1_234_567);
    let times = [plus_ms(hour, -1), hour, middle, plus_ms(end, -1), end];
    for at in times {
        client
            .write_record(&new_record(at, RequestType::Search, 200, "a"))
            .await;
    }

    for rolled in [false, true] {
        for from in times {
            for to in times {
                for (from, to) in [(from, to), (plus_ms(from, 1), to), (from, plus_ms(to, 1))] {
                    if from > to {
                        continue;
                    }
                    let wanted = times.iter().filter(|at| from <= **at && **at < to).count();
                    let logs = client
                        .get_figures(&format!("logs?from={from}&to={to}"))
                        .await;
                    assert_eq!(
                        logs["pagination"]["totalItems"], wanted,
                        "{from} {to} {rolled}"
                    );
                    assert_eq!(
                        logs["logs"].as_array().map(Vec::len),
                        Some(wanted),
                        "{from} {to}"
                    );
                    let usage = client
                        .get_figures(&format!("usage?from={from}&to={to}"))
                        .await;
                    assert_eq!(
                        usage["usage"][0]["count"].as_u64().unwrap_or(0),
                        wanted as u64
                    );
                }
            }
        }
        client.roll_up_hours(client.now()).await;
    }

    // An offset's plus sign that the client did not escape arrives as a space.
    let logs = client
        .get_figures("logs?from=2025-12-30T11:00:00+01:00&to=2025-12-30T12:00:00+01:00")
        .await;
    assert_eq!(logs["pagination"]["totalItems"], 3);
}

#[tokio::test]
async fn what_is_older_than_ninety_days_is_not_shown() {
    let client = OrgClient::new().await;
    let now = client.now();
    let ages = [89 * DAY + 23 * 3600, 90 * DAY + 3600, 100 * DAY];
    for age in ages {
        client
            .write_record(&new_record(
                now.plus_seconds(-age),
                RequestType::Add,
                500,
                "a",
            ))
            .await;
    }

    for rolled in [false, true] {
        for (from, to) in [
            (Some(90), None),
            (Some(120), Some(40)),
            (Some(170), Some(80)),
            (Some(110), Some(95)),
        ] {
            let time = |name, days: Option<i64>| {
                days.map_or(String::new(), |days| {
                    format!("{name}={}&", now.plus_seconds(-days * DAY))
                })
            };
            let query = format!("{}{}", time("from", from), time("to", to));
            let answer = client.ask_analytics(&format!("errors?{query}")).await;
            let wanted = u64::from(to.is_none_or(|to| to < 90));
            assert_eq!(
                answer.body["totalErrors"], wanted,
                "{query} {rolled} {}",
                answer.body
            );
        }
        client.roll_up_hours(now).await;
    }

    client.app.environment.clock.advance_seconds(3601);
    let from = client.now().plus_seconds(-90 * DAY);
    assert_eq!(
        client.get_figures(&format!("errors?from={from}")).await["totalErrors"],
        0,
        "it has become too old"
    );
}

#[tokio::test]
async fn a_hundred_questions_a_minute_are_answered_and_no_more() {
    let client = OrgClient::new().await;
    let other = client.app.create_key("other").await;
    // Both keys are loaded from now on.
    client.get_figures("usage").await;
    client.app.get("/v3/analytics/usage", &other).await;
    client.app.environment.clock.advance_seconds(60);
    client.app.faults.set_rates(FaultRates {
        yields: 6,
        ..FaultRates::default()
    });

    // The period is in the past, so that the answers need no counting, which this test is not
    // about.
    let past = client.now().plus_seconds(-DAY);
    let caller = async |number: usize| {
        let mut statuses = Vec::new();
        for i in 0..5 {
            let route = ROUTES[(number + i) % 5];
            let answer = client
                .get(&format!("/v3/analytics/{route}?to={past}"))
                .await;
            if answer.status == 429 {
                expect_error(&answer, 429, "RateLimitError", "100");
            }
            let wait = answer
                .headers
                .get("retry-after")
                .and_then(|value| value.to_str().ok()?.parse().ok());
            statuses.push((answer.status.as_u16(), wait.unwrap_or(0_i64)));
        }
        statuses
    };
    let begun = client.now();
    let answers: Vec<(u16, i64)> = join_all((0..32).map(caller)).await.concat();
    let took = client.now().as_millis() - begun.as_millis();
    assert!(took < 60_000, "the clock went on by {took} ms");
    assert_eq!(
        answers.iter().filter(|(status, _)| *status == 200).count(),
        100,
        "{answers:?}"
    );

    let waits: Vec<i64> = answers
        .iter()
        .filter(|(status, _)| *status == 429)
        .map(|(_, wait)| *wait)
        .collect();
    assert!(
        waits.len() == 60 && waits.iter().all(|wait| (1..=60).contains(wait)),
        "{answers:?}"
    );
    assert_eq!(
        client.app.get("/v3/analytics/usage", &other).await.status,
        200,
        "another organization"
    );

    // A client that waits as told is answered, and a minute later the full hundred is available
    // again.
    client.app.environment.clock.advance_seconds(waits[0]);
    assert_eq!(client.get("/v3/analytics/errors").await.status, 200);

    client.app.environment.clock.advance_seconds(60);
    for number in 0..101 {
        let status = client
            .get(&format!("/v3/analytics/errors?to={past}"))
            .await
            .status;
        assert_eq!(status == 200, number < 100, "{number}: {status}");
    }
}

#[tokio::test]
async fn another_organization_sees_nothing() {
    let client = OrgClient::new().await;
    let at = client.now().plus_seconds(-3600);
    let one = new_record(at, RequestType::Search, 400, "a");
    client.write_record(&one).await;
    client
        .add_document(json!({"content": "The mill stands still."}))
        .await;
    let until = client.now();
    let (mine, other) = (client.key.clone(), client.app.create_key("other").await);

    for rolled in [false, true] {
        for (question, figure, is_there) in [
            (format!("usage?to={until}"), "/usage/0/count", true),
            (format!("usage?to={until}"), "/totalMemories", true),
            (format!("errors?to={until}"), "/totalErrors", true),
            (format!("logs?to={until}"), "/logs/0/id", true),
            (format!("requests?id={}", one.id), "/logs/0/id", true),
            ("memory".to_owned(), "/totalContainerTags", true),
        ] {
            for (key, wanted) in [(&mine, is_there), (&other, false)] {
                let body = client
                    .app
                    .get(&format!("/v3/analytics/{question}"), key)
                    .await
                    .body;
                let found = body.pointer(figure).is_some_and(|value| *value != 0);
                assert_eq!(found, wanted, "{question} {rolled} {body}");
            }
        }

        client.app.environment.clock.advance_seconds(600);
        client.roll_up_hours(client.now()).await;
    }
}
