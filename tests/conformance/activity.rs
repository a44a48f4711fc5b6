//! Conformance tests of [`domain::ports::Activity`].

use domain::activity::{Hour, RequestRecord, RequestTally, RequestType, TallySlices, TimeSpan};
use domain::ports::HourCounts;
use domain::{ContainerId, Revision, Tenant, Timestamp};
use serde_json::json;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_request_is_read_back_whole_in_its_hour,
    an_hour_is_open_from_its_first_request_on_until_it_is_closed,
    a_late_request_opens_a_closed_hour_again,
    counts_that_a_late_request_overtook_are_not_stored,
    of_many_who_close_an_hour_all_store_the_same,
    slices_are_those_of_the_token_of_the_hour,
    hours_are_overdue_from_their_end_on_oldest_first,
    a_busy_hour_is_overdue_from_its_beginning_on,
    contents_are_taken_out_of_some_containers_and_counts_stay_true,
    long_hours_are_read_in_pages,
);

/// Returns the time `minutes` into an hour, far from the end of the hour and of the day.
fn time_in_hour(hour: i64, minutes: i64) -> Timestamp {
    Hour(484_640 + hour).start_time().plus_seconds(minutes * 60)
}

fn empty_request(at: Timestamp) -> RequestRecord {
    RequestRecord {
        id: Revision::random().as_str().to_owned(),
        at,
        kind: RequestType::Search,
        route: "POST /v4/search".into(),
        status: 200,
        error: None,
        micros: 1_234_567,
        key: "k1".into(),
        key_name: "ä key".into(),
        containers: Vec::new(),
        input: None,
        output: None,
    }
}

/// Returns a request with contents.
fn request_with_contents(at: Timestamp, containers: &[&ContainerId]) -> RequestRecord {
    let mut containers: Vec<ContainerId> = containers.iter().map(|&id| id.clone()).collect();
    containers.sort();
    let (input, output) = (
        Some(json!({"q": "食 \"x\""})),
        Some(json!({"results": [1, null]})),
    );
    RequestRecord {
        containers,
        input,
        output,
        ..empty_request(at)
    }
}

/// Records a request `minutes` after it arrived.
async fn record(setting: &PortFixture, tenant: &Tenant, record: &RequestRecord, minutes: i64) {
    let now = record.at.plus_seconds(minutes * 60);
    retry_unavailable(async || setting.ctx().request_log.record(tenant, record, now).await)
        .await
        .expect("a record");
}

/// Returns all records of an hour, oldest first, and the number of pages.
async fn read_hour(
    setting: &PortFixture,
    tenant: &Tenant,
    hour: Hour,
) -> (Vec<RequestRecord>, usize) {
    let (mut records, mut after, mut pages) = (Vec::new(), None::<String>, 0);
    loop {
        let page = async || {
            setting
                .ctx()
                .request_log
                .list_requests(
                    tenant,
                    hour,
                    TimeSpan::for_hour(hour),
                    after.as_deref(),
                    usize::MAX,
                )
                .await
        };
        let (found, next) = retry_unavailable(page).await.expect("a page");
        records.extend(found);
        pages += 1;
        if next.is_none() {
            records.reverse();
            return (records, pages);
        }
        after = next;
    }
}

async fn list_hours(
    setting: &PortFixture,
    tenant: &Tenant,
    from: Hour,
    to: Hour,
) -> Vec<HourCounts> {
    retry_unavailable(async || {
        setting
            .ctx()
            .request_log
            .count_by_hour(tenant, from, to)
            .await
    })
    .await
    .expect("hours")
}

/// Returns the token of the hour, which must be open.
async fn hour_token(setting: &PortFixture, hour: Hour) -> String {
    match list_hours(setting, &setting.alpha, hour, hour)
        .await
        .as_slice()
    {
        [open] if open.hour == hour && open.tally.is_none() => open.token.clone(),
        other => panic!("{hour:?} is not open: {other:?}"),
    }
}

async fn close_hour(setting: &PortFixture, hour: Hour, token: &str, tally: &RequestTally) -> bool {
    let close = async || {
        setting
            .ctx()
            .request_log
            .close_hour(&setting.alpha, hour, token, tally)
            .await
    };
    retry_unavailable(close).await.expect("an answer")
}

/// Counts the hour as it is and closes it.
async fn count_hour(setting: &PortFixture, hour: Hour) -> RequestTally {
    let token = hour_token(setting, hour).await;
    let tally: RequestTally = read_hour(setting, &setting.alpha, hour)
        .await
        .0
        .iter()
        .collect();
    assert!(close_hour(setting, hour, &token, &tally).await);
    tally
}

async fn a_request_is_read_back_whole_in_its_hour(setting: &PortFixture) {
    let (a, b) = (ContainerId::random(), ContainerId::random());
    let failed = RequestRecord {
        status: 404,
        error: Some("NotFoundError".into()),
        ..empty_request(time_in_hour(0, 7))
    };
    let wanted = [
        empty_request(time_in_hour(0, 0)),
        request_with_contents(time_in_hour(0, 5), &[&a, &b]),
        failed,
        request_with_contents(time_in_hour(0, 59), &[]),
    ];
    for one in wanted.iter().rev() {
        record(setting, &setting.alpha, one, 0).await;
        record(setting, &setting.alpha, one, 1).await;
    }

    let hour = Hour::containing(time_in_hour(0, 0));
    assert_eq!(
        read_hour(setting, &setting.alpha, hour).await,
        (wanted.to_vec(), 1),
        "each once, in the order of time"
    );

    let outlines = wanted.clone().map(|one| RequestRecord {
        input: None,
        output: None,
        ..one
    });
    let page = async || {
        setting
            .ctx()
            .request_log
            .list_outlines(&setting.alpha, hour, TimeSpan::for_hour(hour), None)
            .await
    };
    assert_eq!(
        retry_unavailable(page).await.expect("a page"),
        (outlines.to_vec(), None)
    );

    // A span begins with its first moment and ends before its last.
    let span = TimeSpan::for_hour(hour)
        .since(wanted[1].at)
        .until(wanted[3].at);
    let page = async || {
        let log = &setting.ctx().request_log;
        log.list_requests(&setting.alpha, hour, span, None, usize::MAX)
            .await
    };
    assert_eq!(
        retry_unavailable(page).await.expect("a page"),
        (vec![wanted[2].clone(), wanted[1].clone()], None),
        "newest first"
    );
    assert!(
        read_hour(setting, &setting.alpha, hour.next())
            .await
            .0
            .is_empty()
    );
    assert!(
        read_hour(setting, &setting.beta, hour).await.0.is_empty(),
        "of another organization"
    );
    assert!(
        list_hours(setting, &setting.beta, hour, hour)
            .await
            .is_empty()
    );
}

async fn an_hour_is_open_from_its_first_request_on_until_it_is_closed(setting: &PortFixture) {
    let (first, quiet, third) = (
        Hour::containing(time_in_hour(0, 0)),
        Hour::containing(time_in_hour(1, 0)),
        Hour::containing(time_in_hour(2, 0)),
    );
    assert!(
        list_hours(setting, &setting.alpha, first, third)
            .await
            .is_empty()
    );
    for time in [time_in_hour(0, 0), time_in_hour(0, 30), time_in_hour(2, 59)] {
        record(setting, &setting.alpha, &empty_request(time), 0).await;
    }

    let before = hour_token(setting, first).await;
    record(
        setting,
        &setting.alpha,
        &empty_request(time_in_hour(0, 59)),
        2,
    )
    .await;
    let other = setting.with_organizations_swapped().await;
    record(
        &other,
        &setting.alpha,
        &empty_request(time_in_hour(0, 59)),
        1,
    )
    .await;
    assert_eq!(
        hour_token(setting, first).await,
        before,
        "in time, by whichever process"
    );
    let tally = count_hour(setting, first).await;
    assert_eq!(tally.total_where(|_| true).map(|cell| cell.count), Some(4));
    let open = HourCounts {
        hour: third,
        token: hour_token(setting, third).await,
        tally: None,
    };
    let closed = HourCounts {
        hour: first,
        token: before.clone(),
        tally: Some(tally.clone()),
    };
    let wanted = [closed, open.clone()];
    assert_eq!(
        list_hours(setting, &setting.alpha, first, third).await,
        wanted
    );
    assert_eq!(
        list_hours(setting, &setting.alpha, quiet, third).await,
        [open]
    );
    assert!(
        list_hours(setting, &setting.alpha, third, first)
            .await
            .is_empty()
    );
    assert!(
        close_hour(setting, first, &before, &tally).await,
        "our own closing again"
    );
    assert!(
        !close_hour(setting, quiet, "", &tally).await,
        "it never was open"
    );
}

async fn a_late_request_opens_a_closed_hour_again(setting: &PortFixture) {
    let hour = Hour::containing(time_in_hour(0, 0));
    record(
        setting,
        &setting.alpha,
        &empty_request(time_in_hour(0, 1)),
        0,
    )
    .await;
    count_hour(setting, hour).await;

    for count_before in 1..3 {
        let late = empty_request(time_in_hour(0, 58));
        record(setting, &setting.alpha, &late, 5).await;
        let token = hour_token(setting, hour).await;
        let tally = count_hour(setting, hour).await;
        assert_eq!(
            tally.total_where(|_| true).map(|cell| cell.count),
            Some(count_before + 1)
        );
        assert_eq!(
            list_hours(setting, &setting.alpha, hour, hour).await,
            [HourCounts {
                hour,
                token,
                tally: Some(tally)
            }]
        );
    }
}

async fn counts_that_a_late_request_overtook_are_not_stored(setting: &PortFixture) {
    let hour = Hour::containing(time_in_hour(0, 0));
    record(
        setting,
        &setting.alpha,
        &empty_request(time_in_hour(0, 1)),
        0,
    )
    .await;
    let before = hour_token(setting, hour).await;
    let stale: RequestTally = read_hour(setting, &setting.alpha, hour)
        .await
        .0
        .iter()
        .collect();
    record(
        setting,
        &setting.alpha,
        &empty_request(time_in_hour(0, 2)),
        70,
    )
    .await;
    assert!(!close_hour(setting, hour, &before, &stale).await);
    assert_ne!(hour_token(setting, hour).await, before, "it stays open");
    assert_eq!(
        count_hour(setting, hour)
            .await
            .total_where(|_| true)
            .map(|cell| cell.count),
        Some(2)
    );
    assert!(!close_hour(setting, hour, &before, &stale).await);
}

async fn of_many_who_close_an_hour_all_store_the_same(setting: &PortFixture) {
    let hour = Hour::containing(time_in_hour(0, 0));
    record(
        setting,
        &setting.alpha,
        &empty_request(time_in_hour(0, 1)),
        0,
    )
    .await;
    let token = hour_token(setting, hour).await;
    let tally: RequestTally = read_hour(setting, &setting.alpha, hour)
        .await
        .0
        .iter()
        .collect();
    let all = (0..8).map(|_| close_hour(setting, hour, &token, &tally));
    assert_eq!(futures::future::join_all(all).await, [true; 8]);
    assert_eq!(
        list_hours(setting, &setting.alpha, hour, hour).await,
        [HourCounts {
            hour,
            token,
            tally: Some(tally)
        }]
    );
}

async fn slices_are_those_of_the_token_of_the_hour(setting: &PortFixture) {
    let hour = Hour::containing(time_in_hour(0, 0));
    let slices_with = async |token: &str| {
        let log = &setting.ctx().request_log;
        let get = async || log.get_slices(&setting.alpha, hour, token).await;
        retry_unavailable(get).await.expect("an answer")
    };
    let put = async |token: &str, slices: &TallySlices| {
        let log = &setting.ctx().request_log;
        let put = async || log.put_slices(&setting.alpha, hour, token, slices).await;
        retry_unavailable(put).await.expect("an answer");
    };

    let request = empty_request(time_in_hour(0, 1));
    record(setting, &setting.alpha, &request, 0).await;
    let before = hour_token(setting, hour).await;
    assert_eq!(slices_with(&before).await, None);
    let mut slices = TallySlices::new(hour);
    slices.count(&request);
    slices.finish(time_in_hour(0, 2));
    put(&before, &slices).await;
    assert_eq!(slices_with(&before).await, Some(slices.clone()));
    slices.finish(time_in_hour(0, 3));
    put(&before, &slices).await;
    assert_eq!(slices_with(&before).await, Some(slices.clone()));

    // A record counts as late three minutes after its request, although its hour has not ended.
    let late = empty_request(time_in_hour(0, 1));
    record(setting, &setting.alpha, &late, 3).await;
    let token = hour_token(setting, hour).await;
    assert_ne!(token, before);
    assert_eq!(slices_with(&token).await, None);

    slices.count(&late);
    put(&token, &slices).await;
    assert!(close_hour(setting, hour, &token, &slices.total()).await);
    assert_eq!(slices_with(&token).await, Some(slices));
    assert_eq!(slices_with(&before).await, None);
}

async fn a_busy_hour_is_overdue_from_its_beginning_on(setting: &PortFixture) {
    let overdue = async |before: Timestamp| {
        let log = &setting.ctx().request_log;
        let found = retry_unavailable(async || log.list_overdue_hours(before, 10).await).await;
        found.expect("hours").len()
    };
    let time = time_in_hour(0, 30);
    for _ in 0..999 {
        record(setting, &setting.alpha, &empty_request(time), 0).await;
    }
    assert_eq!(overdue(time).await, 0);
    // A mark that fails is put after the next request.
    for _ in 0..20 {
        record(setting, &setting.alpha, &empty_request(time), 0).await;
    }
    assert_eq!(overdue(time).await, 1);
    assert_eq!(overdue(time_in_hour(0, 0)).await, 0);

    count_hour(setting, Hour::containing(time)).await;
    assert_eq!(overdue(time).await, 0);
}

async fn hours_are_overdue_from_their_end_on_oldest_first(setting: &PortFixture) {
    let overdue = async |before: Timestamp, limit: usize| {
        let found = retry_unavailable(async || {
            setting
                .ctx()
                .request_log
                .list_overdue_hours(before, limit)
                .await
        })
        .await;
        let named = |(tenant, hour): (Tenant, Hour)| (tenant.org().as_str().to_owned(), hour);
        found
            .expect("hours")
            .into_iter()
            .map(named)
            .collect::<Vec<_>>()
    };

    for (tenant, time) in [
        (&setting.beta, time_in_hour(2, 0)),
        (&setting.alpha, time_in_hour(0, 59)),
        (&setting.beta, time_in_hour(1, 0)),
    ] {
        record(setting, tenant, &empty_request(time), 0).await;
    }

    let wanted = [
        ("alpha", time_in_hour(0, 0)),
        ("beta", time_in_hour(1, 0)),
        ("beta", time_in_hour(2, 0)),
    ];
    let wanted = wanted.map(|(org, time)| (org.to_owned(), Hour::containing(time)));
    assert!(overdue(time_in_hour(1, 0), 10).await.is_empty());
    assert_eq!(overdue(time_in_hour(1, 1), 10).await, wanted[..1]);
    for limit in [1, 2, 3, 10] {
        assert_eq!(
            overdue(time_in_hour(9, 0), limit).await,
            wanted[..limit.min(3)]
        );
    }

    count_hour(setting, wanted[0].1).await;
    assert_eq!(overdue(time_in_hour(9, 0), 10).await, wanted[1..]);
}

/// Returns the names of the records of an hour with contents of the containers, and the number of
/// pages.
async fn records_about(
    setting: &PortFixture,
    hour: Hour,
    containers: &[ContainerId],
) -> (Vec<String>, usize) {
    let (mut names, mut after, mut pages) = (Vec::new(), None::<String>, 0);
    loop {
        let activity = &setting.ctx().request_log;
        let page = async || {
            activity
                .list_contents(&setting.alpha, hour, containers, after.as_deref())
                .await
        };
        let (found, next) = retry_unavailable(page).await.expect("a page");
        names.extend(found);
        pages += 1;
        if next.is_none() {
            return (names, pages);
        }
        after = next;
    }
}

async fn forget_contents(setting: &PortFixture, hour: Hour, names: &[String]) {
    let forget = async || {
        setting
            .ctx()
            .request_log
            .remove_contents(&setting.alpha, hour, names)
            .await
    };
    retry_unavailable(forget).await.expect("an answer");
}

async fn contents_are_taken_out_of_some_containers_and_counts_stay_true(setting: &PortFixture) {
    let ids: Vec<ContainerId> = (0..50).map(|_| ContainerId::random()).collect();
    let (a, b, c) = (&ids[0], &ids[1], &ids[2]);
    let hour = Hour::containing(time_in_hour(0, 0));
    let of = [vec![a], vec![a, b], vec![b], vec![], vec![c]];
    let all: Vec<RequestRecord> = (0..)
        .zip(&of)
        .map(|(i, of)| request_with_contents(time_in_hour(0, i), of))
        .collect();
    for one in &all {
        record(setting, &setting.alpha, one, 0).await;
        record(setting, &setting.beta, one, 0).await;
    }

    let telling_of =
        async |hour: Hour, ids: &[ContainerId]| records_about(setting, hour, ids).await.0;
    for (ids, found) in [
        (&ids[..0], 0),
        (&ids[..1], 2),
        (&ids[1..3], 3),
        (&ids[3..], 0),
        (&ids[..], 4),
    ] {
        assert_eq!(
            (
                telling_of(hour, ids).await.len(),
                telling_of(hour.next(), ids).await.len()
            ),
            (found, 0)
        );
    }

    let gone = [c.clone(), a.clone()];
    let names = telling_of(hour, &gone).await;
    for _ in 0..2 {
        forget_contents(setting, hour, &names).await;
        assert_eq!(
            telling_of(hour, &gone).await,
            Vec::<String>::new(),
            "nothing is left of them"
        );
    }

    // Contents that have expired in the meantime do not come back.
    forget_contents(setting, hour.next(), &names).await;
    assert!(
        read_hour(setting, &setting.alpha, hour.next())
            .await
            .0
            .is_empty()
    );
    let without = |record: &RequestRecord| RequestRecord {
        input: None,
        output: None,
        ..record.clone()
    };

    let wanted = [
        without(&all[0]),
        without(&all[1]),
        all[2].clone(),
        all[3].clone(),
        without(&all[4]),
    ];
    assert_eq!(read_hour(setting, &setting.alpha, hour).await.0, wanted);
    assert_eq!(
        read_hour(setting, &setting.beta, hour).await.0,
        all,
        "of another organization"
    );
}

async fn long_hours_are_read_in_pages(setting: &PortFixture) {
    let (hour, containers) = (
        Hour::containing(time_in_hour(0, 0)),
        [ContainerId::random()],
    );
    let text = "x".repeat(60_000);
    let mut all = Vec::new();
    for i in 0..40 {
        let input = Some(json!({"i": i, "text": text}));
        all.push(RequestRecord {
            input,
            ..request_with_contents(time_in_hour(0, i), &[&containers[0]])
        });
        record(setting, &setting.alpha, &all[all.len() - 1], 0).await;
    }

    let (records, pages) = read_hour(setting, &setting.alpha, hour).await;
    assert!(
        records == all && (3..=4).contains(&pages),
        "{} records in {pages} pages",
        records.len()
    );
    let (names, pages) = records_about(setting, hour, &containers).await;
    assert!(
        names.len() == 40 && pages > 1,
        "{} names in {pages} pages",
        names.len()
    );
    forget_contents(setting, hour, &names).await;
    let (records, _) = read_hour(setting, &setting.alpha, hour).await;
    assert!(
        records.len() == 40
            && records
                .iter()
                .all(|one| one.input.is_none() && one.output.is_none())
    );
}
