//! Statements that replace each other have one topic, however they are phrased.

use domain::{MemoryKind, Statement, Trust};

use super::{check_topics, passage, user};
use crate::{Passage, Role, SourceText, extract_statements};

#[test]
fn a_habit_and_its_end_have_one_topic() {
    check_topics(&[
        (
            "I play the cello in a quartet on Sundays.",
            "user | plays cello | cello",
        ),
        (
            "I no longer play the cello.",
            "user | plays cello | not cello",
        ),
        (
            "I stopped playing the cello last year.",
            "user | plays cello | not cello",
        ),
        (
            "My niece has given up playing the cello.",
            "user's niece | plays cello | not cello",
        ),
        ("I drive a green van.", "user | drives | green van"),
        ("I no longer drive.", "user | drives | nothing"),
        (
            "I'm no longer looking for a flat.",
            "user | looks for flat | not flat",
        ),
        ("I run every morning.", "user | runs | runs"),
        (
            "I have a membership at the Rowing House.",
            "user | has rowing house membership | rowing house membership",
        ),
        (
            "I cancelled my Rowing House membership.",
            "user | has rowing house membership | not rowing house membership",
        ),
        ("I sold my kayak in May.", "user | has kayak | not kayak"),
    ]);
}

#[test]
fn things_and_roles_have_one_answer() {
    check_topics(&[
        ("The locker code is 5512.", "user | locker code | 5512"),
        (
            "The code for the locker changed to 7720.",
            "user | locker code | 7720",
        ),
        (
            "My fee was raised from 40 to 55 euros.",
            "user | fee | 55 euros",
        ),
        ("Our boat is called Puffin.", "boat | name | puffin"),
        (
            "The main server was renamed to otter.",
            "main server | name | otter",
        ),
        ("Ruth is the head of design.", "design | head | ruth"),
        ("The head of design is Ravi.", "design | head | ravi"),
        (
            "Ravi leads the payments team.",
            "payments team | lead | ravi",
        ),
        ("Ravi is my landlord.", "user | landlord | ravi"),
        (
            "The status of the rollout is paused.",
            "rollout | status | paused",
        ),
        ("My office is in Tromso.", "office | location | tromso"),
        (
            "We chose Delve for the search.",
            "user | uses for search | delve",
        ),
        (
            "We decided to paint the fence dark red.",
            "user | paint fence | dark red",
        ),
        (
            "I prefer evening lessons.",
            "user | prefers lessons | evening",
        ),
        (
            "I prefer lessons in the morning.",
            "user | prefers lessons | morning",
        ),
        ("Please give me detailed answers.", ""),
        (
            "Please always give me detailed answers.",
            "user | prefers answers | detailed",
        ),
        (
            "From now on, answer in Danish.",
            "user | answer language | danish",
        ),
    ]);
}

#[test]
fn occasions_keep_their_time_and_place() {
    check_topics(&[
        (
            "The choir meets on Mondays at 7 pm.",
            "choir | schedule | monday 7 pm",
        ),
        ("The ferry leaves at 6:20.", "ferry | time | 6:20"),
        (
            "The ferry leaves at 6:50 on May 2.",
            "ferry | date | 2025-05-02 6:50",
        ),
        (
            "The farewell dinner will be at Casa Blu on May 2.",
            "farewell dinner | date | 2025-05-02 casa blu",
        ),
        (
            "My piano exam is on January 20, wish me luck!",
            "piano exam | date | 2026-01-20",
        ),
        (
            "My piano exam on January 20 has been cancelled.",
            "piano exam | date | cancelled",
        ),
        (
            "The concert was pushed to October.",
            "concert | date | 2025-10",
        ),
        (
            "The wedding of my cousin is in Como.",
            "wedding of cousin | location | como",
        ),
        (
            "The deadline for Project Lark is May 9.",
            "project lark | deadline | 2025-05-09",
        ),
        (
            "I no longer plan to visit Malta in May.",
            "user | plans visit malta | not visit malta",
        ),
    ]);
}

#[test]
fn things_without_capitals_are_no_employer_or_residence() {
    check_topics(&[
        ("i joined a gym last week", ""),
        ("i joined my cousin at the beach", ""),
        ("i joined the gym last week", ""),
        (
            "I joined the Labour Party.",
            "user | member of labour party | labour party",
        ),
        ("i joined acme last week", "user | employer | acme"),
        ("I joined the BBC.", "user | employer | bbc"),
        ("i moved to a smaller desk", ""),
        ("we moved to the front row", ""),
        ("i moved to leeds", "user | residence | leeds"),
        (
            "i moved to the netherlands",
            "user | residence | netherlands",
        ),
    ]);
}

#[test]
fn what_people_are_do_or_use_is_no_identity() {
    check_topics(&[
        // Names.
        ("I'm OK.", ""),
        ("I'm HIV positive.", ""),
        ("I'm ADHD.", ""),
        ("I'm SO HAPPY", ""),
        ("I'm Google certified.", ""),
        ("I'm Ghanaian.", "user | nationality | ghanaian"),
        ("I'm TJ.", "user | name | tj"),
        ("I'm Mary Ann.", "user | name | mary ann"),
        ("I'm Anna from Berlin", "user | name | anna"),
        // Ages.
        ("I'm 182", ""),
        ("I'm 182cm", ""),
        ("I turned 182", ""),
        ("I'm 34", "user | age | 34"),
        // Occupations.
        ("I'm a light sleeper.", ""),
        ("I'm a good driver.", ""),
        ("I'm an early riser.", ""),
        ("I'm a bus driver.", "user | job | bus driver"),
        ("My job is stressful.", ""),
        ("My job is in finance.", ""),
        ("My job is a joke.", ""),
        ("My job is nurse.", "user | job | nurse"),
        ("My job title is data lead.", "user | job | data lead"),
        // Employers.
        ("I work at the weekend.", ""),
        ("I work for the money.", ""),
        ("i work for 8 hours a day", ""),
        ("I work at the hospital.", "user | employer | hospital"),
        ("i work for 3m", "user | employer | 3m"),
        (
            "I work at the Home Office.",
            "user | employer | home office",
        ),
        ("I joined Tom for lunch.", ""),
        ("I joined Tom at the beach.", ""),
        ("I joined Acme as a designer.", "user | employer | acme"),
        // Homes.
        ("I live in a bubble.", ""),
        ("I live in the moment.", ""),
        (
            "I live in a small village.",
            "user | residence | small village",
        ),
        ("I moved to Linux.", ""),
        ("I moved to Google.", ""),
        ("moved to thursday", ""),
        ("We moved to June.", ""),
        ("I moved to Spain in 2019.", "user | residence | spain"),
        // Studies.
        ("I study in the library.", ""),
        ("I study at home.", ""),
        ("I study biology.", "user | education | biology"),
        ("I study at Oxford.", "user | education | at oxford"),
        // Cars.
        ("I drive my kids.", ""),
        ("I drive my sister to school.", ""),
        ("I drive an hour to work.", ""),
        ("I drive my Tesla to work.", "user | drives | tesla"),
    ]);
}

#[test]
fn a_people_or_a_post_is_no_name_of_a_relative() {
    check_topics(&[
        ("My wife is Italian.", "user's wife | nationality | italian"),
        (
            "My sister is German and French.",
            "user's sister | nationality | german",
        ),
        (
            "My partner is Jewish.",
            "user's partner | religion | jewish",
        ),
        ("My brother is CEO of a bank.", ""),
        ("My wife is Oda.", "user | spouse | oda"),
        ("My brother is called TJ.", "user | brother | tj"),
        ("MY BROTHER IS OMAR.", "user | brother | omar"),
        ("My son is TJ.", "user | son | tj"),
        ("My sister is VP.", ""),
    ]);
}

#[test]
fn dates_lie_on_the_side_that_the_clause_names() {
    for (text, expected) in [
        // Said in April 2025.
        (
            "our lease is up in December",
            "User's lease is up in December (2025-12).",
        ),
        (
            "My contract is over in November.",
            "User's contract is over in November (2025-11).",
        ),
        (
            "Our rent goes up in January.",
            "User's rent goes up in January (2026-01).",
        ),
        (
            "The lease ended in December.",
            "The lease ended in December (2024-12).",
        ),
        (
            "signed up for a half marathon in October",
            "User signed up for a half marathon in October (2025-10).",
        ),
        (
            "I've signed up for a half marathon in November.",
            "User has signed up for a half marathon in November (2025-11).",
        ),
        (
            "I registered for a race in December.",
            "User registered for a race in December (2025-12).",
        ),
        (
            "I signed up in October for a half marathon.",
            "User signed up in October (2024-10) for a half marathon.",
        ),
        (
            "I ran a half marathon in October.",
            "User ran a half marathon in October (2024-10).",
        ),
        ("I was born on March 3.", "User was born on March 3."),
        ("born on the 3rd of march", "User born on the 3rd of March."),
        ("I was born in March.", "User was born in March."),
        (
            "My daughter was born on May 5.",
            "User's daughter was born on May 5.",
        ),
        (
            "My niece was born on Friday.",
            "User's niece was born on Friday (2025-04-11).",
        ),
        (
            "sat in traffic for two hours",
            "User sat in traffic for two hours.",
        ),
    ] {
        let found = user(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].text, expected);
    }
    check_topics(&[
        ("I was born on March 3.", "user | birthday | march 3"),
        (
            "I was born on March 3 1990.",
            "user | birthday | march 3 1990",
        ),
        ("I was born in March.", ""),
        ("I was born in Bergen.", "user | birthplace | bergen"),
    ]);
    assert_eq!(
        user("signed up for a half marathon in October")[0].kind,
        MemoryKind::Plan
    );
    assert!(user("I was born on March 3.")[0].event.is_none());
}

/// Returns the statements of the messages of a user in one conversation.
fn messages(texts: &[&str]) -> Vec<Statement> {
    let mut start = 0;
    let passages = texts.iter().map(|text| {
        let passage = Passage {
            start_char: start,
            ..passage(text, Role::User, None)
        };
        start += text.chars().count() + 1;
        passage
    });
    extract_statements(&SourceText {
        passages: passages.collect(),
        trust: Trust::User,
    })
}

#[test]
fn the_next_message_may_correct_a_date_or_a_name() {
    for (earlier, later, expected) in [
        (
            "my birthday is june 3",
            "sorry *july 3",
            "User's birthday is July 3 (2025-07-03).",
        ),
        (
            "my birthday is june 3",
            "no, july 3",
            "User's birthday is July 3 (2025-07-03).",
        ),
        ("I live in Bern", "i mean Biel, typo", "User lives in Biel."),
        (
            "my daughter's name is Anna",
            "*Anne",
            "User's daughter's name is Anne.",
        ),
    ] {
        let statements = messages(&[earlier, later]);
        let texts: Vec<&str> = statements.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, [expected], "{later}");
        let end = earlier.chars().count() + 1 + later.chars().count();
        assert_eq!((statements[0].start, statements[0].end), (0, end));
    }

    let flight = &messages(&["my flight is on friday at 6", "sorry saturday"]);
    assert_eq!(flight.len(), 1);
    assert!(flight[0].text.contains("Saturday (") && flight[0].event.is_some());
    assert_ne!(
        flight[0].event,
        messages(&["my flight is on friday at 6"])[0].event
    );
    assert_eq!(
        messages(&["my flight is on friday", "saturday at 6 is the party"]).len(),
        2
    );
}

#[test]
fn the_nearest_verb_tells_the_side_of_a_date() {
    for (text, expected) in [
        // Said in April 2025.
        ("I accepted the offer and start on June 1", "2025-06-01"),
        (
            "flight got cancelled, now we leave on 14 June",
            "2025-06-14",
        ),
        ("got the visa, flying out on june 2", "2025-06-02"),
        ("they moved my start date to June 1", "2025-06-01"),
        ("finished my thesis, defense is on may 12", "2025-05-12"),
        (
            "my sister accepted the job and starts on May 1",
            "2025-05-01",
        ),
        ("bday is on the 9th of dec", "2025-12-09"),
        ("I went hiking on may 12", "2024-05-12"),
        ("I was in Rome from May 2 to May 5", "2024-05-05"),
        ("I had blood tests on May 3", "2024-05-03"),
        ("stopped smoking and drinking on june 2", "2024-06-02"),
    ] {
        let texts: Vec<_> = user(text).into_iter().map(|found| found.text).collect();
        assert!(texts.concat().contains(expected), "{text}: {texts:?}");
    }
}
