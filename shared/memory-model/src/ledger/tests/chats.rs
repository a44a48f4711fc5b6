//! Messages of a user on different days, read by the rules, and the memories that are left of them.

use domain::Trust;
use extraction::{Passage, SourceText, extract_statements};

use super::{day, document_statements, ledger, live_texts};

/// Returns the live memories of messages, each of which a user says a day after the one before it.
fn memories_of(messages: &[&str]) -> Vec<String> {
    let documents = messages.iter().zip(1..).map(|(text, number)| {
        let passage = Passage::of_user(text, day(i64::from(number) + 9_000));
        let statements = extract_statements(&SourceText {
            passages: vec![passage],
            trust: Trust::User,
        });
        document_statements(number, statements)
    });
    let ledger = ledger(documents);
    live_texts(&ledger).into_iter().map(str::to_owned).collect()
}

/// Checks that a memory of the first message is left after the second one, with this beginning.
fn assert_kept(messages: &[&str], kept: &str) {
    let memories = memories_of(messages);
    assert!(
        memories.iter().any(|memory| memory.starts_with(kept)),
        "{messages:?}: {memories:?}"
    );
}

#[test]
fn what_is_over_takes_nothing_else_with_it() {
    for (earlier, later, kept) in [
        (
            "we have 3 cats: Miso, Tofu and Nori",
            "Nori passed away on sunday",
            "User and others have 3 cats: Miso",
        ),
        (
            "I have two brothers, Max and Leo, and a sister, Mia",
            "Max died last year",
            "User has two brothers",
        ),
        (
            "i drive a 2006 corolla and ride a ducati",
            "sold the ducati",
            "User drives a 2006 corolla",
        ),
        (
            "my number is +447700900123, email is jo.b@example.com",
            "new number: +447700900999",
            "User's number is +447700900123, email",
        ),
        (
            "my laptop is an m1 macbook air, phone's a pixel 7",
            "upgraded to a pixel 10",
            "User's laptop is an m1",
        ),
        (
            "diagnosed w type 2 diabetes in march, started metformin 500mg",
            "doc upped metformin to 1000mg twice a day",
            "Diagnosed w type 2 diabetes",
        ),
        (
            "I live in Denver with my partner Alex",
            "signed the lease in Portland, moving sept 1",
            "User lives in Denver",
        ),
        (
            "I live in Denver with my partner Alex",
            "I am looking for a new flat",
            "User lives in Denver",
        ),
    ] {
        assert_kept(&[earlier, later], kept);
    }
}

#[test]
fn what_is_over_alone_ends() {
    for (earlier, later) in [
        ("i drive a red ducati", "sold the ducati"),
        ("i work at lidl, nights", "i quit my job"),
        ("we have a cat called Miso, she's 4", "Miso died"),
    ] {
        let memories = memories_of(&[earlier, later]);
        assert_eq!(memories.len(), 1, "{memories:?}");
    }
}

#[test]
fn the_age_of_a_relative_leaves_the_speakers() {
    for later in ["我们有一个女儿，叫小雨，5岁", "我妈妈60岁了"] {
        assert_kept(&["我今年32岁", later], "我今年32岁");
    }
    assert_eq!(memories_of(&["我今年32岁", "我今年33岁"]), ["我今年33岁"]);
}

#[test]
fn an_everyday_change_replaces_what_was_said_before() {
    for (earlier, later) in [
        (
            "my favorite band is Radiohead",
            "Khruangbin is my fav band now",
        ),
        ("i work at Volvo", "started at Polestar on monday"),
        ("been vegetarian for 10 years", "I eat meat again"),
        (
            "my accountant is Nadia Shah",
            "new accountant is Owen Clarke",
        ),
        ("i'm single", "i have a boyfriend now"),
        ("we use jira", "we moved from jira to linear"),
        ("my rent is 900", "rent went up to 980"),
        ("moro em recife", "a gente se mudou pra Floripa"),
    ] {
        let memories = memories_of(&[earlier, later]);
        assert_eq!(memories.len(), 1, "{memories:?}");
    }
}
