//! Statements that take back what was said before them.

use domain::{EventPeriod, MemoryKind, Retraction, RetractionEffect, Statement};

use super::{day, document_statements, find_memory, ledger, live_texts, lives_in, statement};

pub(super) fn retracting(
    text: &str,
    effect: RetractionEffect,
    words: &[&str],
    said_day: i64,
) -> Statement {
    Statement {
        retraction: Some(Retraction {
            effect,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            aspects: Vec::new(),
            kept_words: Vec::new(),
            spans: Vec::new(),
        }),
        ..statement(text, None, said_day)
    }
}

fn forget(words: &[&str], said_day: i64) -> Statement {
    retracting("forget it", RetractionEffect::Forgets, words, said_day)
}

#[test]
fn a_request_forgets_what_was_said_before_and_nothing_later() {
    let before = document_statements(1, vec![statement("User owes a debt of 400.", None, 1)]);
    let request = document_statements(2, vec![forget(&["debts"], 2)]);
    let after = document_statements(3, vec![statement("User paid every debt.", None, 3)]);

    let all = ledger([before.clone(), request.clone(), after.clone()]);
    assert_eq!(live_texts(&all), ["User paid every debt."]);
    let forgotten = all.memories().find(|memory| memory.forgotten.is_some());
    assert_eq!(
        forgotten.and_then(|memory| memory.forgotten.as_ref()?.reason.clone()),
        Some("asked for in a conversation".to_owned())
    );

    // The order of arrival does not matter, and nothing is lost: without the request, the memory
    // is there again.
    let mut other = ledger([after, request.clone(), before]);
    assert_eq!(live_texts(&other), live_texts(&all));
    other.remove_document(&request.document.id);
    other.recompute_memories();
    assert_eq!(
        live_texts(&other),
        ["User owes a debt of 400.", "User paid every debt."]
    );
}

#[test]
fn a_request_about_money_keeps_dates_years_and_phone_numbers() {
    let said = [
        "User earns 61k.",
        "User pays £900 rent.",
        "User goes to the dentist (2025-04-18).",
        "User has lived in Rotterdam since 2018.",
        "User's number is 07700 900123.",
    ];
    let statements = said.map(|text| statement(text, None, 1)).to_vec();
    let request = document_statements(2, vec![forget(&["salary", "#"], 2)]);
    let ledger = ledger([document_statements(1, statements), request]);

    assert_eq!(live_texts(&ledger), said[2..]);
}

#[test]
fn a_statement_that_names_nobody_goes_with_the_one_before_it() {
    let mut lawsuit = statement("User is in a lawsuit.", None, 1);
    let mut hearing = statement("Hearing is on July 8.", None, 1);
    let mut club = statement("User's bread club meets on Saturdays.", None, 1);
    (lawsuit.start, lawsuit.end) = (0, 20);
    (hearing.start, hearing.end) = (22, 42);
    (club.start, club.end) = (43, 80);
    let before = document_statements(1, vec![lawsuit, hearing, club]);
    let request = document_statements(2, vec![forget(&["lawsuit"], 2)]);

    assert_eq!(
        live_texts(&ledger([before, request])),
        ["User's bread club meets on Saturdays."]
    );
}

#[test]
fn an_ending_ends_what_has_all_of_its_words() {
    let sold = retracting(
        "User sold the red car.",
        RetractionEffect::Ends,
        &["red", "car"],
        2,
    );
    let mut rule = statement("Always write car with a capital, also red car.", None, 1);
    rule.kind = MemoryKind::Instruction;
    let before = document_statements(
        1,
        vec![
            statement("User drives a red car.", None, 1),
            statement("User's car insurance is due.", None, 1),
            rule,
        ],
    );

    let ledger = ledger([before, document_statements(2, vec![sold])]);
    assert_eq!(
        live_texts(&ledger),
        [
            "Always write car with a capital, also red car.",
            "User sold the red car.",
            "User's car insurance is due.",
        ]
    );
    let ended = ledger.memories().find(|memory| !memory.is_latest);
    assert_eq!(
        ended.map(|memory| memory.text.as_str()),
        Some("User drives a red car.")
    );
}

#[test]
fn a_change_replaces_remarks_and_plans_that_share_a_word() {
    let change = retracting(
        "User: new slot for physio, Thursdays 8am.",
        RetractionEffect::Replaces,
        &["physio", "slot"],
        2,
    );
    let mut appointment = statement("Physio is Wednesday with Agnieszka.", None, 1);
    appointment.is_static = false;
    let before = document_statements(
        1,
        vec![
            appointment,
            statement("User's physio is called Rory.", None, 1),
            statement("User has a frozen shoulder.", None, 1),
        ],
    );
    assert_eq!(
        live_texts(&ledger([before, document_statements(2, vec![change])])),
        [
            "User has a frozen shoulder.",
            "User's physio is called Rory.",
            "User: new slot for physio, Thursdays 8am.",
        ]
    );
}

#[test]
fn a_change_of_an_aspect_takes_back_what_was_said_about_it() {
    let about = |text: &str, aspect: &str| Statement {
        aspects: vec![aspect.to_owned()],
        ..statement(text, None, 1)
    };
    let mut change = retracting("User quit today.", RetractionEffect::Replaces, &[], 2);
    if let Some(retraction) = &mut change.retraction {
        retraction.aspects = vec!["job".to_owned()];
    }
    let before = document_statements(
        1,
        vec![
            about("User works in a warehouse.", "job"),
            about("User's sister works in a bank.", "job of another"),
            about("User lives in Bonn.", "residence"),
        ],
    );

    let ledger = ledger([before, document_statements(2, vec![change])]);
    assert_eq!(
        live_texts(&ledger),
        [
            "User lives in Bonn.",
            "User quit today.",
            "User's sister works in a bank.",
        ]
    );
    let quit = find_memory(&ledger, "User quit today.");
    assert_eq!(quit.changed_aspects, ["job"]);
}

#[test]
fn a_dismissal_ends_instructions_only() {
    let mut rule = statement("Start every answer with a summary.", None, 1);
    rule.kind = MemoryKind::Instruction;
    let fact = statement("User writes a summary every week.", None, 1);
    let dismissal = retracting(
        "drop the summary",
        RetractionEffect::Dismisses,
        &["summary"],
        2,
    );
    let ledger = ledger([
        document_statements(1, vec![rule, fact]),
        document_statements(2, vec![dismissal]),
    ]);
    assert_eq!(live_texts(&ledger), ["User writes a summary every week."]);
}

#[test]
fn what_is_to_stay_stays_and_words_of_others_take_nothing_back() {
    let said = |name| document_statements(name, vec![lives_in("Bonn", 1)]);
    let mut request = forget(&["residence"], 2);
    if let Some(retraction) = &mut request.retraction {
        retraction.kept_words = vec!["bonn".to_owned()];
    }
    let kept = ledger([said(1), document_statements(2, vec![request])]);
    assert_eq!(live_texts(&kept), ["User lives in Bonn."]);

    let mut foreign = forget(&["residence"], 2);
    foreign.trust = domain::Trust::External;
    let ignored = ledger([said(1), document_statements(2, vec![foreign])]);
    assert_eq!(live_texts(&ignored), ["User lives in Bonn."]);
}

/// Puts a statement at this position of its document.
fn at(start: usize, statement: Statement) -> Statement {
    let end = start + 8;
    Statement {
        start,
        end,
        ..statement
    }
}

/// Returns a statement about a debt, whose text has this number.
fn debt(number: usize) -> Statement {
    statement(&format!("User has debt number {number}."), None, 1)
}

#[test]
fn within_a_document_a_request_forgets_what_stands_before_it() {
    // The document was written after the times of which it speaks.
    let request = at(20, forget(&["debt"], 1));
    let statements = vec![
        at(10, debt(10)),
        at(20, debt(20)),
        at(30, debt(30)),
        request,
    ];
    let ledger = ledger([document_statements(1, statements)]);
    assert_eq!(
        live_texts(&ledger),
        ["User has debt number 20.", "User has debt number 30."]
    );
}

#[test]
fn a_request_forgets_what_begins_within_its_spans() {
    let mut request = at(60, forget(&[], 1));
    if let Some(retraction) = &mut request.retraction {
        retraction.spans = vec![(10, 20), (40, 50)];
    }
    let places = [9, 10, 19, 20, 45];
    let statements = places.map(|place| at(place, debt(place)));
    let document = document_statements(1, [&statements[..], &[request.clone()]].concat());
    assert_eq!(
        live_texts(&ledger([document])),
        ["User has debt number 20.", "User has debt number 9."]
    );

    // Spans are those of the document of the request.
    let other = document_statements(1, statements.to_vec());
    let of_request = document_statements(2, vec![request]);
    assert_eq!(live_texts(&ledger([other, of_request])).len(), places.len());
}

#[test]
fn an_ending_leaves_past_events_and_earlier_endings() {
    let event = |text: &str, last_day| Statement {
        kind: MemoryKind::Event,
        event: Some(EventPeriod {
            from: day(1),
            to: day(last_day),
        }),
        ..statement(text, None, 1)
    };
    let ending = retracting("User sold the car.", RetractionEffect::Ends, &["car"], 3);
    let earlier = retracting("User crashed a car.", RetractionEffect::Ends, &["gym"], 1);
    let change = retracting(
        "User moved the car.",
        RetractionEffect::Replaces,
        &["gym"],
        1,
    );
    let before = vec![
        event("User raced the car yesterday.", 2),
        event("User races the car today.", 3),
        event("User races the car tomorrow.", 4),
        earlier,
        change,
    ];
    let ledger = ledger([
        document_statements(1, before),
        document_statements(2, vec![ending]),
    ]);
    assert_eq!(
        live_texts(&ledger),
        [
            "User crashed a car.",
            "User raced the car yesterday.",
            "User sold the car.",
        ]
    );
}

#[test]
fn a_change_replaces_what_is_about_the_same_aspect_of_another_life() {
    let about = |aspect: &str, statement: Statement| Statement {
        aspects: vec![aspect.to_owned()],
        ..statement
    };
    let job_of = |name: &str, aspect| {
        let topic = (name, "employer", "bank");
        let text = format!("The {name} works in a bank.");
        about(aspect, statement(&text, Some(topic), 1))
    };
    let change = retracting("Left the bank.", RetractionEffect::Replaces, &["bank"], 2);
    let ledger = ledger([
        document_statements(
            1,
            vec![job_of("sister", "job of another"), job_of("river", "place")],
        ),
        document_statements(2, vec![about("job", change)]),
    ]);
    assert_eq!(
        live_texts(&ledger),
        ["Left the bank.", "The river works in a bank."]
    );
}

#[test]
fn a_statement_goes_with_one_right_before_it_that_names_the_user() {
    let remaining = |before: &str, gap: usize| {
        let before = at(0, statement(before, None, 1));
        let hearing = at(
            before.end + gap,
            statement("Hearing is on July 8.", None, 1),
        );
        let request = document_statements(2, vec![forget(&["lawsuit"], 2)]);
        let ledger = ledger([document_statements(1, vec![before, hearing]), request]);
        live_texts(&ledger).len()
    };
    assert_eq!(remaining("User is in a lawsuit.", 4), 0);
    assert_eq!(remaining("User is in a lawsuit.", 5), 1);
    assert_eq!(remaining("Lawsuit is in court.", 4), 1);
}

#[test]
fn a_word_of_a_script_without_spaces_is_found_within_a_text() {
    let stated = document_statements(1, vec![statement("彼には借金がある。", None, 1)]);
    let request = document_statements(2, vec![forget(&["借金"], 2)]);
    assert!(live_texts(&ledger([stated, request])).is_empty());
}
