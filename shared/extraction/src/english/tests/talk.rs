//! Things that people say about themselves in passing.

use domain::MemoryKind;

use super::{check_each, check_topics, group, instructions, topics, user};

#[test]
fn a_fact_is_found_behind_what_leads_in() {
    check_topics(&[
        (
            "News from me: I live in Bergen.",
            "user | residence | bergen",
        ),
        ("Not at all, I live in Bergen.", "user | residence | bergen"),
        (
            "Okay so I just moved to Bergen.",
            "user | residence | bergen",
        ),
        (
            "After all that snow I prefer tea over coffee.",
            "user | prefers coffee / tea | tea",
        ),
        ("Lately I live in Bergen.", "user | residence | bergen"),
        (
            "The boat sank, so the owner of the ferry line is Tormod now.",
            "ferry line | owner | tormod",
        ),
        (
            "I asked again and it turns out my shoe size is 40.",
            "user | shoe size | 40",
        ),
        (
            "I forgot to say that I'm allergic to wasps.",
            "user | allergy to wasps | wasps",
        ),
        (
            "Please remember that my sister's name is Siv.",
            "user | sister | siv",
        ),
        (
            "To answer that: I live in Bergen.",
            "user | residence | bergen",
        ),
        (
            "I couldn't say no. I have three goats.",
            "user | number of goats | three",
        ),
        (
            "My brother is a baker and I live in Bergen.",
            "user's brother | job | baker ; user | residence | bergen",
        ),
    ]);
}

#[test]
fn what_somebody_else_says_or_would_say_is_no_fact() {
    check_topics(&[
        ("Translate this: I live in Bergen. My name is Siv.", ""),
        ("Can you put this into Welsh: I live in Bergen.", ""),
        ("Here is the text: I live in Bergen and my name is Siv.", ""),
        ("She said: I live in Bergen.", ""),
        ("I never said that I live in Bergen.", ""),
        ("If I had a boat, my home would be the sea.", ""),
        ("Let's say I live in Bergen.", ""),
    ]);
}

#[test]
fn states_and_habits_have_topics() {
    check_topics(&[
        ("Everyone calls me Bibi.", "user | nickname | bibi"),
        ("My cat is called Moss.", "user | cat | moss"),
        ("Our choir is called Low Tide.", "choir | name | low tide"),
        ("Siv is my sister.", "user | sister | siv"),
        (
            "My neighbour Mrs. Lund has a dog named Pelle.",
            "mrs lund | dog | pelle",
        ),
        ("I have one cat.", "user | number of cats | one"),
        ("I've got two cats.", "user | number of cats | two"),
        ("I weigh 70 kilos.", "user | weight | 70 kilos"),
        ("I'm retired.", "user | employment | retired"),
        ("I'm no longer retired.", "user | employment | not retired"),
        ("I'm Norwegian.", "user | nationality | norwegian"),
        ("I'm on parental leave.", "user | leave | on parental leave"),
        ("I can't eat gluten.", "user | eats gluten | not gluten"),
        ("I gave up coffee.", "user | drinks coffee | not coffee"),
        ("I wake up at five.", "user | wake-up time | five"),
        ("I pay 700 euros for rent.", "user | rent | 700 euros"),
        (
            "I'm watching Northern Lights.",
            "user | is watching | northern lights",
        ),
        (
            "I'm no longer married.",
            "user | relationship status | not married",
        ),
        (
            "I'm not allergic to wasps any more.",
            "user | allergy to wasps | not wasps",
        ),
        ("Siv is no longer vegan.", "siv | diet | not vegan"),
        ("I broke up with Odd.", "user | partner | not odd"),
    ]);
}

#[test]
fn the_last_of_two_answers_in_a_talk_stays() {
    let found = user("My shoe size is 40. My shoe size is 41. My shoe size is 40.");
    assert_eq!(
        topics(&found),
        "user | shoe size | 41 ; user | shoe size | 40"
    );
    assert_eq!(user("My shoe size is 40. My shoe size is 40.").len(), 1);
}

#[test]
fn a_short_turn_in_the_first_person_is_english() {
    for text in ["I own a boat.", "I eat meat.", "I smoke."] {
        assert_eq!(user(text).len(), 1, "{text}");
    }
}

#[test]
fn an_instruction_speaks_to_the_assistant() {
    for (text, expected) in [
        // Facts with a phrase of instructions.
        ("every time i eat dairy i get cramps", ""),
        ("every time i drink coffee my heart races", ""),
        ("whenever i run my knee hurts", ""),
        ("each time i fly my ears pop", ""),
        ("whenever i cook my neighbours give me looks", ""),
        ("every time i have guests we use the big table", ""),
        ("from now on im vegan", ""),
        ("from now on my mum is living with us", ""),
        ("my son wants to be a doctor in future", ""),
        ("call me tomorrow", ""),
        ("call me when the parcel is there", ""),
        ("Call me Tomorrow", ""),
        // Instructions.
        (
            "from now on answer in german",
            "From now on answer in german.",
        ),
        (
            "from now on all prices in CAD",
            "From now on all prices in CAD.",
        ),
        (
            "from now on prices should be in CAD",
            "From now on prices should be in CAD.",
        ),
        ("in future, use metric", "In future, use metric."),
        (
            "every time you answer use metric",
            "Every time you answer use metric.",
        ),
        (
            "whenever i ask for a recipe give grams",
            "Whenever User asks for a recipe give grams.",
        ),
        (
            "whenever i ask for a recipe, give grams",
            "Whenever User asks for a recipe, give grams.",
        ),
        (
            "keep it short whenever i ask about work",
            "Keep it short whenever User asks about work.",
        ),
        ("call me Al", "Call User Al."),
        ("call me al please", "Call User al."),
    ] {
        assert_eq!(instructions(&user(text)), expected, "{text}");
    }
}

#[test]
fn a_fact_with_a_standing_phrase_is_kept() {
    check_topics(&[
        ("from now on im vegan", "user | diet | vegan"),
        (
            "every time i eat dairy i get cramps",
            "user | eats dairy | dairy",
        ),
    ]);
    for (text, expected) in [
        (
            "whenever i run my knee hurts",
            "Whenever User runs their knee hurts.",
        ),
        (
            "from now on my mum is living with us",
            "From now on User's mum is living with them.",
        ),
    ] {
        assert_eq!(user(text)[0].text, expected);
    }
}

#[test]
fn people_do_not_instruct_each_other() {
    for text in [
        "call me tomorrow",
        "call me Al",
        "from now on answer in german",
        "From now on send me the invoices.",
        "every time i eat dairy i get cramps",
        "always tell me first",
        "please remember that the key is under the mat",
        "from now on im vegan",
    ] {
        assert_eq!(instructions(&group(text)), "", "{text}");
    }
    assert_eq!(topics(&group("from now on im vegan")), "ann | diet | vegan");
}

#[test]
fn a_pronoun_after_a_name_refers_to_its_bearer() {
    let statements = user("My daughter's name is Eva. She's a dentist.");
    let texts: Vec<&str> = statements.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "User's daughter's name is Eva.",
            "User's daughter is a dentist."
        ]
    );

    let statements = user("my sisters name is kim shes 22 and studies law in leiden");
    assert_eq!(
        statements[0].text,
        "User's sister's name is kim; User's sister is 22 and studies law in leiden."
    );

    let statements = user("My name is Kim. She's a dentist.");
    assert!(!statements.iter().any(|s| s.text.contains("name is a")));
}

#[test]
fn a_named_relative_is_a_subject_together_with_the_speaker() {
    for (text, expected) in [
        (
            "my husband Paul and I have twin girls",
            "User's husband Paul and User have twin girls.",
        ),
        (
            "my boyfriend Jan and I live in Graz",
            "User's boyfriend Jan and User live in Graz.",
        ),
    ] {
        let statements = user(text);
        assert_eq!(statements[0].text, expected);
    }
}

/// Checks that every text has the statements beside it.
fn check_texts(cases: &[(&str, &str)]) {
    check_each(cases, |text| {
        let texts = user(text).into_iter().map(|found| found.text);
        texts.collect::<Vec<_>>().join(" ")
    });
}

#[test]
fn a_supposition_hides_only_its_own_clause() {
    check_texts(&[
        (
            "I live in Leeds but might be moving to Hull",
            "User lives in Leeds.",
        ),
        (
            "i have two kids, maybe a third one soon",
            "User has two kids.",
        ),
        (
            "i'm a nurse and not sure if i should eat before my shift",
            "User is a nurse.",
        ),
        (
            "got my dream job at NASA!!",
            "User got their dream job at NASA.",
        ),
        ("maybe i have two kids", ""),
        ("i might be moving to Hull", ""),
        ("my wife and I might be moving to Hull", ""),
        ("i had a dream that i lived in Paris", ""),
        ("i dreamt i was a pilot and we had a boat", ""),
        ("imagine i'm a pilot, how long are shifts", ""),
        ("imagine i'm a vegan", ""),
        ("assume i'm 65, when can i retire", ""),
        ("unless i'm pregnant, can i take it", ""),
        ("in case i'm diabetic", ""),
    ]);
}

#[test]
fn what_others_say_of_the_speaker_is_no_fact_unless_they_know() {
    check_topics(&[
        ("my ex said i'm a narcissist", ""),
        ("my neighbor said I'm allergic to work", ""),
        ("my dad told everyone i'm a lawyer", ""),
        ("my doctor said i'm diabetic", "user | diabetic | diabetic"),
        (
            "my test results say i'm diabetic",
            "user | diabetic | diabetic",
        ),
        (
            "the main thing to remember is that I'm diabetic",
            "user | diabetic | diabetic",
        ),
    ]);
}

#[test]
fn what_the_speaker_lacks_is_told_without_a_subject() {
    check_texts(&[
        (
            "dont have a car, i cycle everywhere",
            "User doesn't have a car. User cycles everywhere.",
        ),
        ("cant drive", "User can't drive."),
        ("haven't got a tv", "User hasn't got a tv."),
        ("don't have a clue", ""),
    ]);
}

#[test]
fn a_name_before_a_relationship_stays() {
    check_texts(&[
        (
            "Max, my oldest, just started school",
            "User: Max, User's oldest, just started school.",
        ),
        (
            "Thanks, my sister lives in Rome",
            "User's sister lives in Rome.",
        ),
        (
            "Hey Max, my flight is at 9, can you remind me",
            "User's flight is at 9.",
        ),
    ]);
}

#[test]
fn a_brief_request_to_an_assistant_tells_nothing() {
    check_texts(&[
        ("study plan for biology please", ""),
        ("work out plan for beginners", ""),
        ("plan dinner", ""),
        ("plan my week", ""),
        ("turn off the lights", ""),
        ("cheap hotels near Lisbon airport", ""),
        ("weather in Oslo tomorrow", ""),
        ("pasta recipe without eggs", ""),
        ("cook something with eggs", ""),
        ("study medicine in Leeds", "User studies medicine in Leeds."),
        ("read a book every week", "User: read a book every week."),
        (
            "plan to move to Spain in May",
            "User: plan to move to Spain in May (2025-05).",
        ),
    ]);
}

#[test]
fn drafts_and_forwarded_texts_are_not_the_speakers_own() {
    check_texts(&[
        (
            "cover letter: I am a highly motivated engineer with 10 years of experience at Google. fix \
             grammar",
            "",
        ),
        (
            "can you proofread this: I have been a nurse since 2010 and I love helping people.",
            "",
        ),
        ("improve this text\nI am a single mother of three", ""),
        (
            "My friend's message: I'm moving to Spain and I'm pregnant!! what do I reply?",
            "",
        ),
        (
            "my sister texted me: i quit my job and im moving in with dad",
            "",
        ),
        ("thanks for your help with the move\nLove, Greta", ""),
        ("sure, i'm made of money", ""),
        ("News from me: I live in Bergen.", "User lives in Bergen."),
    ]);
}

#[test]
fn what_happened_today_is_no_plan() {
    for (text, kind) in [
        ("got laid off today", MemoryKind::Event),
        ("weighed in at 78 this morning", MemoryKind::Event),
        ("Our son was born this morning!", MemoryKind::Event),
        ("we're leaving tonight", MemoryKind::Plan),
    ] {
        assert_eq!(user(text)[0].kind, kind, "{text}");
    }
}

#[test]
fn one_word_is_enough_for_what_the_speaker_is_or_never_did() {
    check_texts(&[
        ("I've never been to Paris", "User has never been to Paris."),
        ("I've never smoked", "User has never smoked."),
        ("we're catholic", "User and others are catholic."),
        ("no pork for me, i'm jewish", "User is jewish."),
        ("i'm tired", ""),
        ("I've never seen it", ""),
    ]);
}

#[test]
fn a_fact_behind_the_comma_of_a_question_is_told() {
    check_texts(&[
        (
            "what should I cook for my wife, she's vegan and hates mushrooms?",
            "User's wife is vegan and hates mushrooms.",
        ),
        (
            "present for my dad, he turns 70 on june 8?",
            "User's dad turns 70 on June 8 (2025-06-08).",
        ),
        ("what should i eat, i'm diabetic?", "User is diabetic."),
        ("what can i do, should i call him?", ""),
        (
            "my sister is coming, she's vegan?",
            "User's sister is coming.",
        ),
    ]);
}
