use super::super::{Passage, Role, SourceText, extract_statements};
use domain::{MemoryKind, Statement, Timestamp, Trust};

mod change;
mod talk;

/// The day on which everything is said, a Tuesday.
const SAID: &str = "2025-04-15";

fn passage<'a>(text: &'a str, role: Role, speaker: Option<&'a str>) -> Passage<'a> {
    Passage {
        text,
        start_char: 0,
        role,
        speaker,
        origin: None,
        said_at: Timestamp::parse("day", SAID).unwrap(),
    }
}

fn said(text: &str, role: Role, speaker: Option<&str>) -> Vec<Statement> {
    extract_statements(&SourceText {
        passages: vec![passage(text, role, speaker)],
        trust: Trust::User,
    })
}

fn user(text: &str) -> Vec<Statement> {
    said(text, Role::User, None)
}

/// Returns what Ann says to Bob in a chat without an assistant.
fn group(text: &str) -> Vec<Statement> {
    extract_statements(&SourceText {
        passages: vec![
            passage(text, Role::User, Some("Ann")),
            passage("ok", Role::User, Some("Bob")),
        ],
        trust: Trust::User,
    })
}

/// Checks that what is read of every text is what stands beside it.
fn check_each(cases: &[(&str, &str)], read: impl Fn(&str) -> String) {
    let found = cases.iter().map(|(text, _)| (*text, read(text)));
    let wrong: Vec<_> = found
        .zip(cases)
        .filter(|(found, case)| found.1 != case.1)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks that every text has the topics beside it.
fn check_topics(cases: &[(&str, &str)]) {
    check_each(cases, |text| topics(&user(text)));
}

fn instructions(statements: &[Statement]) -> String {
    let instructions = statements
        .iter()
        .filter(|statement| statement.kind == MemoryKind::Instruction);
    let texts = instructions.map(|statement| statement.text.as_str());
    texts.collect::<Vec<_>>().join(" ")
}

fn topics(statements: &[Statement]) -> String {
    let topics = statements
        .iter()
        .filter_map(|statement| statement.topic.as_ref());
    let described = topics.map(|topic| {
        let negation = if topic.negated { "not " } else { "" };
        format!(
            "{} | {} | {negation}{}",
            topic.subject, topic.attribute, topic.value
        )
    });
    described.collect::<Vec<_>>().join(" ; ")
}

#[test]
fn the_same_property_has_the_same_topic() {
    let cases = [
        ("My name is Jon.", "user | name | jon"),
        ("Actually, my name is Jon, not John.", "user | name | jon"),
        ("I'm Petra.", "user | name | petra"),
        ("I live in Berlin.", "user | residence | berlin"),
        ("I'm based in Berlin now.", "user | residence | berlin"),
        (
            "I moved from Bonn to Berlin last year.",
            "user | residence | berlin",
        ),
        (
            "We recently relocated to Berlin.",
            "user | residence | berlin",
        ),
        (
            "I don't live in Berlin any more.",
            "user | residence | not berlin",
        ),
        (
            "I no longer live in Berlin.",
            "user | residence | not berlin",
        ),
        ("I'm originally from Portugal.", "user | origin | portugal"),
        (
            "I work at Brightwater Labs.",
            "user | employer | brightwater labs",
        ),
        (
            "I got a new job at Brightwater Labs.",
            "user | employer | brightwater labs",
        ),
        (
            "I just joined Brightwater Labs.",
            "user | employer | brightwater labs",
        ),
        (
            "I quit my job at Brightwater Labs.",
            "user | employer | not brightwater labs",
        ),
        ("I'm a software engineer.", "user | job | software engineer"),
        (
            "I work as a software engineer.",
            "user | job | software engineer",
        ),
        ("I was promoted to team lead.", "user | job | team lead"),
        ("I'm 34 years old.", "user | age | 34"),
        ("I just turned 35.", "user | age | 35"),
        ("My birthday is March 3.", "user | birthday | march 3"),
        ("I'm married.", "user | relationship status | married"),
        (
            "We got engaged last month.",
            "user | relationship status | engaged",
        ),
        ("My wife's name is Oda.", "user | spouse | oda"),
        ("My sister is Anna.", "user | sister | anna"),
        ("I have a dog named Rex.", "user | dog | rex"),
        ("My dog's name is Rex.", "user | dog | rex"),
        ("I have two kids.", "user | number of kids | two"),
        ("My phone number is 555-0142.", "user | phone | 555-0142"),
        (
            "My email address is pia@example.org.",
            "user | email | pia@example.org",
        ),
        ("I'm vegetarian.", "user | diet | vegetarian"),
        ("I'm a vegan now.", "user | diet | vegan"),
        (
            "I'm allergic to peanuts.",
            "user | allergy to peanuts | peanuts",
        ),
        (
            "My favorite color is green.",
            "user | favourite color | green",
        ),
        (
            "My favourite colour is teal.",
            "user | favourite color | teal",
        ),
    ];
    check_topics(&cases);
}

#[test]
fn likes_plans_and_things_have_topics() {
    let cases = [
        ("I love jazz.", "user | likes jazz | jazz"),
        ("I really enjoy jazz.", "user | likes jazz | jazz"),
        ("I hate jazz.", "user | likes jazz | not jazz"),
        ("I can't stand jazz.", "user | likes jazz | not jazz"),
        ("I don't like jazz anymore.", "user | likes jazz | not jazz"),
        ("I no longer like jazz.", "user | likes jazz | not jazz"),
        ("I stopped liking jazz.", "user | likes jazz | not jazz"),
        (
            "I prefer tea over coffee.",
            "user | prefers coffee / tea | tea",
        ),
        (
            "I prefer coffee to tea.",
            "user | prefers coffee / tea | coffee",
        ),
        (
            "Nadia prefers coffee rather than tea.",
            "nadia | prefers coffee / tea | coffee",
        ),
        (
            "I'm going to visit Rome next month.",
            "user | plans visit rome | visit rome",
        ),
        (
            "I'm planning to visit Rome.",
            "user | plans visit rome | visit rome",
        ),
        (
            "I'm not going to visit Rome.",
            "user | plans visit rome | not visit rome",
        ),
        ("We switched from Vim to Emacs.", "user | uses vim | emacs"),
        ("We use Vim.", "user | uses vim | vim"),
        (
            "We use Kanto for billing.",
            "user | uses for billing | kanto",
        ),
        (
            "We switched from Kanto to Abacus for billing.",
            "user | uses for billing | abacus",
        ),
        ("The meeting is on Friday.", "meeting | date | 2025-04-18"),
        (
            "The meeting has been moved to Monday.",
            "meeting | date | 2025-04-21",
        ),
        (
            "My dentist appointment is on Friday.",
            "dentist appointment | date | 2025-04-18",
        ),
        (
            "I have a dentist appointment next Monday.",
            "dentist appointment | date | 2025-04-21",
        ),
        (
            "The meeting with Bob is tomorrow.",
            "meeting with bob | date | 2025-04-16",
        ),
        (
            "The report is due on May 2.",
            "report | deadline | 2025-05-02",
        ),
        (
            "The grant's deadline is May 2.",
            "grant | deadline | 2025-05-02",
        ),
        ("The server has 16 GB of RAM.", "server | ram | 16 gb"),
        (
            "Project Heron's budget is $4000.",
            "project heron | budget | $4000",
        ),
        (
            "The budget of Project Heron is $5000.",
            "project heron | budget | $5000",
        ),
        ("The licence costs $30.", "licence | price | $30"),
        (
            "The staging server is down.",
            "staging server | status | down",
        ),
        (
            "Project Heron is on hold.",
            "project heron | status | on hold",
        ),
        ("You can call me Alex.", "user | name to use | alex"),
    ];
    check_topics(&cases);
}

#[test]
fn the_first_person_becomes_the_speaker() {
    let cases = [
        (
            None,
            "Honestly, I think the old logo has more charm.",
            "User thinks the old logo has more charm.",
        ),
        (
            Some("Mira"),
            "I've been painting watercolours for seven years.",
            "Mira has been painting watercolours for seven years.",
        ),
        (
            Some("Mira"),
            "Wow, that's great! I don't eat meat and I'm allergic to nuts.",
            "Mira doesn't eat meat.|Mira is allergic to nuts.",
        ),
        (
            None,
            "I'm meeting Bob tomorrow.",
            "User is meeting Bob tomorrow (2025-04-16).",
        ),
        (
            None,
            "My sister lives in Oslo.",
            "User's sister lives in Oslo.",
        ),
        (
            None,
            "By the way, I live in Oslo with my wife.",
            "User lives in Oslo with their wife.",
        ),
        (
            None,
            "Please always answer in German.",
            "Always answer in German.",
        ),
        (
            None,
            "From now on, never use emojis in titles.",
            "From now on, never use emojis in titles.",
        ),
        (
            None,
            "Quick note for later: the archive room is in basement 2.",
            "The archive room is in basement 2.",
        ),
        (
            None,
            "Decided to drop the paper catalogue.",
            "User decided to drop the paper catalogue.",
        ),
    ];
    let texts = |(speaker, text, _)| {
        let found = said(text, Role::User, speaker);
        found
            .into_iter()
            .map(|statement| statement.text)
            .collect::<Vec<_>>()
            .join("|")
    };

    let wrong: Vec<_> = cases
        .iter()
        .filter(|case| texts(**case) != case.2)
        .map(|case| (texts(*case), case.2))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn remarks_are_written_as_sentences() {
    for (text, expected) in [
        (
            "cataract op at the clinic, 7.15 am",
            "User: cataract op at the clinic, 7.15 am.",
        ),
        (
            "every week its sunday roast at my aunts",
            "User: every week its Sunday roast at User's aunts.",
        ),
        (
            "i flog dinosaurs at the market",
            "User flogs dinosaurs at the market.",
        ),
        (
            "i just took my kids camping in wales",
            "User just took their kids camping in wales.",
        ),
        (
            "standing order with fennimore bank",
            "User: standing order with fennimore bank.",
        ),
        (
            "matteo (my 15yo) does parkour",
            "Matteo (User's 15yo) does parkour.",
        ),
        (
            "left achilles flares up if i do hills",
            "User: left achilles flares up if User does hills.",
        ),
        (
            "flying to halifax (not the english one!!) with my son Tom. hes 15",
            "User is flying to halifax (not the english one!!) with their son Tom; User's son Tom is 15.",
        ),
    ] {
        let statements = user(text);
        let texts: Vec<&str> = statements.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(texts, [expected]);
    }
}

#[test]
fn noise_states_nothing() {
    let noise = [
        "Hello!",
        "Hi Mira, how are you?",
        "Thanks so much!",
        "Wow, that's great!",
        "That sounds amazing, Mira!",
        "What did you do yesterday?",
        "You did a great job.",
        "I think so too.",
        "I hope you have a great weekend!",
        "If I won the lottery, I would buy a boat.",
        "\"I live in Paris\" is an example sentence.",
        "For example: I live in Paris.",
        "That's just my take.",
        "I love it!",
        "Keep up the good work!",
        "Click here to subscribe to our newsletter.",
        "```\nlet user = \"I live in Paris\";\n```",
    ];
    for text in noise {
        assert_eq!(user(text), [], "{text}");
    }
}

#[test]
fn kinds_and_lasting_follow_from_the_sentence() {
    use MemoryKind::*;
    let cases = [
        ("I live in Oslo.", Fact, true),
        ("I prefer tea over coffee.", Preference, true),
        ("Always cite your sources in footnotes.", Instruction, true),
        (
            "We decided on the blue tiles for the kitchen.",
            Decision,
            false,
        ),
        ("I'll send Bob the invoice tomorrow.", Plan, false),
        ("I promised Bob to send the invoice by Friday.", Plan, false),
        ("I visited Bergen last week.", Event, false),
        ("The meeting is on Friday.", Event, false),
        ("I visited Bergen yesterday.", Event, false),
        // A remark about a task is no standing fact.
        ("Standard is in column D.", Fact, false),
    ];

    for (text, kind, is_static) in cases {
        let found = user(text);
        assert_eq!(found.len(), 1, "{text}");
        let actual = (found[0].kind, found[0].is_static);
        assert_eq!(actual, (kind, is_static), "{text}");
        // An event stays when its day has passed: "When was my exam?" is asked afterwards.
        assert_eq!(found[0].forget_after, None, "{text}");
    }
}

#[test]
fn a_pronoun_is_told_only_when_it_is_clear_what_it_means() {
    let found = user("Nadia works at Brightwater Labs. She prefers tea over coffee.");
    assert_eq!(found[1].text, "Nadia prefers tea over coffee.");
    assert_eq!((found[1].start, found[1].end), (0, 61));
    assert!(found[1].confidence < found[0].confidence);
    assert_eq!(user("She prefers tea over coffee."), []);
}

#[test]
fn a_pronoun_means_nobody_of_another_gender() {
    for (text, expected) in [
        (
            "My sister has a new boyfriend. He's a chef.",
            "user's sister | has boyfriend | boyfriend ; user's sister's boyfriend | job | chef",
        ),
        (
            "My sister has a new boyfriend. She's a chef.",
            "user's sister | has boyfriend | boyfriend ; user's sister | job | chef",
        ),
        (
            "My brother has a wife. She works at Siemens.",
            "user's brother | has wife | wife ; user's brother's wife | employer | siemens",
        ),
        (
            "My sister lives in Bonn. She's a chef.",
            "user's sister | residence | bonn ; user's sister | job | chef",
        ),
        // It is not known who is meant.
        (
            "My sister lives in Bonn. He's a chef.",
            "user's sister | residence | bonn",
        ),
        (
            "Anna's husband is a baker. She is a nurse.",
            "anna's husband | job | baker",
        ),
        (
            "My brother has a son. He works at Siemens.",
            "user's brother | has son | son",
        ),
        ("My sister married a doctor. He lives in Bonn.", ""),
    ] {
        assert_eq!(topics(&user(text)), expected, "{text}");
    }
    assert_eq!(
        user("My sister has a new boyfriend. He's a chef.")[1].text,
        "User's sister's boyfriend is a chef."
    );
}

#[test]
fn an_assistant_is_believed_in_promises_and_what_it_repeats() {
    let cases = [
        (
            "I'd recommend the blue tiles. They are easier to clean.",
            "",
        ),
        (
            "I'll remind you tomorrow.",
            "The assistant will remind you tomorrow (2025-04-16).",
        ),
        ("You live in Oslo.", "User lives in Oslo."),
        ("Oslo is the capital of Norway.", ""),
    ];
    for (text, expected) in cases {
        let found = said(text, Role::Assistant, None);
        assert_eq!(
            found
                .iter()
                .map(|one| one.text.as_str())
                .collect::<Vec<_>>()
                .join("|"),
            expected,
            "{text}"
        );
        assert!(
            found
                .iter()
                .all(|one| one.confidence <= 0.4 && one.trust == Trust::Assistant)
        );
    }

    assert_eq!(said("I live in Oslo.", Role::Other, None), []);
}

#[test]
fn nothing_is_invented() {
    let texts = [
        "Nadia runs the bakery on Elm Street. She opened it in 2019, and I've worked there since May.",
        "We’re moving to Łódź next month — my brother can’t come, but he’ll visit us in August!",
        "I switched from Kanto to Abacus. It handles refunds; the old one didn't. I'd rather keep both until June.",
        "Committed to two reviews a week. Updating the plan accordingly. My view: they're worth it.",
    ];
    for text in texts {
        let source = text.to_lowercase();
        for statement in user(text) {
            for word in statement
                .text
                .to_lowercase()
                .split(|letter: char| !letter.is_alphanumeric())
            {
                let stem = word
                    .strip_suffix("es")
                    .or(word.strip_suffix('s'))
                    .unwrap_or(word);
                let added = [
                    "user",
                    "others",
                    "is",
                    "are",
                    "has",
                    "have",
                    "had",
                    "will",
                    "would",
                    "their",
                    "them",
                    "themselves",
                    "to",
                    "and",
                ];
                let digits = word.bytes().all(|byte| byte.is_ascii_digit());
                assert!(
                    digits || added.contains(&word) || source.contains(stem),
                    "{word} in {}",
                    statement.text
                );
            }
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(I|my|We|the|Bob's|'s|’|n't|will|is|from|to|in|\\$|5|May|on|Friday|:|,|—|\"|ß|語|🎉|last|of|a|and|\\.| ){0,40}") {
        for statement in user(&text) {
            proptest::prop_assert!(statement.start < statement.end && statement.end <= text.chars().count());
        }
    }
}
