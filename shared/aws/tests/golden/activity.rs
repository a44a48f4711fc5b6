//! The request log: requests, open hours and tallies. Also repeated requests and rate limits.

use domain::activity::{Hour, RequestRecord, RequestTally, TallySlices, TimeSpan};
use domain::ports::{CreationConditions, RememberedRequest};
use domain::{RateLimit, Tenant};
use serde_json::{Value, json};

use crate::values::{
    LAST_TIME, NOW, container_id, document_id, from_json, longest_tenant, smallest_document, tenant,
};
use crate::world::World;

const LIMIT: RateLimit = RateLimit {
    max: 2,
    window_ms: 60_000,
};

fn smallest_request() -> RequestRecord {
    from_json(json!({
        "id": "",
        "at": NOW,
        "kind": "request",
        "route": "",
        "status": 0,
        "micros": 0,
        "key": "",
        "key_name": "",
    }))
}

fn largest_request() -> RequestRecord {
    from_json(json!({
        "id": "request-ü#",
        "at": NOW,
        "kind": "search",
        "route": "POST /v4/search",
        "status": u16::MAX,
        "error": "a \"reason\"",
        "micros": u64::MAX,
        "key": "Rk3v9PqLm2",
        "key_name": "the laptop of Änne",
        "containers": [container_id("b"), container_id("a"), container_id("b")],
        "input": {"q": "日本", "n": [1, null, true, -0.5]},
        "output": null,
    }))
}

/// Returns a request of an earlier hour, whose contents are empty.
fn late_request() -> RequestRecord {
    RequestRecord {
        id: "late".to_owned(),
        at: NOW.plus_seconds(-2 * 3600),
        containers: vec![container_id("a")],
        input: Some(json!({})),
        output: Some(json!("")),
        ..smallest_request()
    }
}

/// Returns a request with more containers than its record keeps.
fn wide_request() -> RequestRecord {
    RequestRecord {
        id: "wide".to_owned(),
        containers: (0..1001).map(|i| container_id(&format!("c{i}x"))).collect(),
        input: Some(json!("removed")),
        ..smallest_request()
    }
}

/// Returns a request whose contents are removed after it was logged.
fn forgotten_request() -> RequestRecord {
    RequestRecord {
        id: "forgotten".to_owned(),
        containers: vec![container_id("forgotten")],
        input: Some(json!("removed")),
        output: Some(json!("removed")),
        ..smallest_request()
    }
}

fn tally() -> RequestTally {
    let requests = [
        RequestRecord {
            at: LAST_TIME,
            ..largest_request()
        },
        smallest_request(),
    ];
    requests.iter().collect()
}

fn remembered(name: &str) -> RememberedRequest {
    RememberedRequest {
        document: document_id(name),
        request_digest: "ff".repeat(32),
        created_document: None,
    }
}

pub(crate) async fn write(world: &World) {
    let log = &world.ctx.request_log;
    let tenant = tenant();
    for request in [
        smallest_request(),
        largest_request(),
        late_request(),
        wide_request(),
        forgotten_request(),
    ] {
        let logged = log.record(&tenant, &request, NOW).await;
        logged.expect("a logged request");
    }
    let hour = Hour::containing(NOW);
    let names = [format!("{:013}#forgotten", NOW.as_millis())];
    let removed = log.remove_contents(&tenant, hour, &names).await;
    removed.expect("a request without contents");

    for (tenant, tally) in [
        (longest_tenant(), RequestTally::default()),
        (Tenant::for_operator(tenant.org().clone()), tally()),
    ] {
        close_hour(world, &tenant, &tally).await;
    }

    for name in ["new", "made"] {
        world
            .ctx
            .idempotency
            .remember(&tenant, name, remembered(name), None, NOW, LAST_TIME)
            .await
            .expect("a remembered request");
    }
    let conditions = CreationConditions {
        alternatives: Vec::new(),
        replaces: None,
        reference: None,
        request_key: Some("made".to_owned()),
    };
    world
        .ctx
        .documents
        .create(&tenant, &smallest_document("made"), &conditions)
        .await
        .expect("a document");

    for request in ["first", "second"] {
        let admitted = world
            .ctx
            .rate_limits
            .admit(&tenant, "key/ü#", LIMIT, request, NOW)
            .await;
        admitted.expect("an answer").expect("a place");
    }
}

/// Returns the slices of an hour with a request at its beginning, the first minute of which is counted.
fn slices(hour: Hour) -> TallySlices {
    let mut slices = TallySlices::new(hour);
    slices.count(&RequestRecord {
        at: hour.start_time(),
        ..smallest_request()
    });
    slices.finish(TimeSpan::of_minute(hour.start_time()).end_time());
    slices
}

/// Logs a request an hour ago, and closes that hour with `tally`.
async fn close_hour(world: &World, tenant: &Tenant, tally: &RequestTally) {
    let log = &world.ctx.request_log;
    let at = NOW.plus_seconds(-3600);
    let hour = Hour::containing(at);
    let request = RequestRecord {
        at,
        ..smallest_request()
    };
    log.record(tenant, &request, at)
        .await
        .expect("a logged request");

    let counts = log.count_by_hour(tenant, hour, hour).await;
    let counts = counts.expect("the hour");
    let token = &counts[0].token;
    let stored = log.put_slices(tenant, hour, token, &slices(hour)).await;
    stored.expect("slices");
    let is_closed = log.close_hour(tenant, hour, token, tally).await;
    assert!(is_closed.expect("a closed hour"));
}

pub(crate) async fn check(world: &World) {
    check_former(world).await;

    let log = &world.ctx.request_log;
    let hour = Hour(Hour::containing(NOW).0 - 1);
    let hours = log.count_by_hour(&tenant(), hour, hour).await;
    let token = &hours.expect("hours")[0].token;
    for (token, wanted) in [(token.as_str(), Some(slices(hour))), ("", None)] {
        let found = log.get_slices(&tenant(), hour, token).await;
        assert_eq!(found.expect("an answer"), wanted);
    }
}

/// Checks the items that an earlier version wrote as well.
pub(crate) async fn check_former(world: &World) {
    check_requests(world).await;
    check_hours(world).await;

    for (name, created) in [("new", None), ("made", Some(document_id("made")))] {
        let found = world
            .ctx
            .idempotency
            .remember(&tenant(), name, remembered("other"), None, NOW, LAST_TIME)
            .await;
        let wanted = RememberedRequest {
            created_document: created,
            ..remembered(name)
        };
        assert_eq!(found.expect("a remembered request"), wanted);
    }

    // Both requests are in the window, which has no place for a third one.
    for (request, has_place) in [("first", true), ("second", true), ("third", false)] {
        let admitted = world
            .ctx
            .rate_limits
            .admit(&tenant(), "key/ü#", LIMIT, request, NOW)
            .await;
        assert_eq!(admitted.expect("an answer").is_ok(), has_place);
    }
}

async fn check_requests(world: &World) {
    let log = &world.ctx.request_log;
    let tenant = tenant();
    let hour = Hour::containing(NOW);
    let largest = RequestRecord {
        containers: vec![container_id("a"), container_id("b")],
        ..largest_request()
    };
    let wide = RequestRecord {
        containers: Vec::new(),
        input: None,
        ..wide_request()
    };
    let forgotten = RequestRecord {
        input: None,
        output: None,
        ..forgotten_request()
    };

    let span = TimeSpan::for_hour(hour);
    let found = log
        .list_requests(&tenant, hour, span, None, usize::MAX)
        .await;
    let mut wanted = vec![wide, largest, forgotten, smallest_request()];
    assert_eq!(found.expect("requests"), (wanted.clone(), None));

    wanted.reverse();
    let outlines = log.list_outlines(&tenant, hour, span, None).await;
    let (outlines, _) = outlines.expect("outlines");
    let without_contents = wanted.iter().map(|request| RequestRecord {
        input: None::<Value>,
        output: None,
        ..request.clone()
    });
    assert!(without_contents.eq(outlines));

    let late = late_request();
    let late_hour = Hour::containing(late.at);
    let span = TimeSpan::for_hour(late_hour);
    let found = log
        .list_requests(&tenant, late_hour, span, None, usize::MAX)
        .await;
    assert_eq!(found.expect("requests"), (vec![late], None));

    let containers = ["a", "b", "forgotten"].map(container_id);
    let found = log.list_contents(&tenant, hour, &containers, None).await;
    let names = vec![format!("{:013}#request-ü#", NOW.as_millis())];
    assert_eq!(found.expect("requests with contents"), (names, None));
}

async fn check_hours(world: &World) {
    let log = &world.ctx.request_log;
    let last = Hour::containing(NOW);
    let (first, middle) = (Hour(last.0 - 2), Hour(last.0 - 1));

    let hours = log.count_by_hour(&tenant(), first, last).await;
    let hours = hours.expect("hours");
    let tallies: Vec<_> = hours.iter().map(|at| (at.hour, at.tally.clone())).collect();
    let wanted = [(first, None), (middle, Some(tally())), (last, None)];
    assert_eq!(tallies, wanted);

    let hours = log.count_by_hour(&longest_tenant(), first, last).await;
    let hours = hours.expect("hours");
    assert_eq!(hours.len(), 1);
    assert_eq!(hours[0].tally, Some(RequestTally::default()));

    let overdue = log.list_overdue_hours(LAST_TIME, 10).await;
    let overdue = overdue.expect("hours");
    let overdue: Vec<_> = overdue.into_iter().map(|(_, hour)| hour).collect();
    assert_eq!(overdue, [first, last]);
}
