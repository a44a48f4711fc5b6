use super::*;

/// Returns the turns of a text as `role name: words`, or `None` if it is no transcript.
fn turns_of(text: &str) -> Option<Vec<String>> {
    let turns = Transcript::parse(text)?.into_turns();
    let line = |turn: ConversationTurn| {
        let name = turn.name.map(|name| format!(" {name}")).unwrap_or_default();
        format!("{}{name}: {}", turn.role, turn.text)
    };
    Some(turns.into_iter().map(line).collect())
}

/// Joins the text that is sent to the stored one. Returns `None` if one of them is no transcript, or
/// if the sent one replaces the stored one.
fn join_transcripts(stored: &str, sent: &str) -> Option<String> {
    Transcript::parse(stored)?.join(Transcript::parse_continuation(sent)?)
}

#[test]
fn transcripts_of_every_form_are_divided_into_turns() {
    let chat = &["user: I live in Oslo.", "assistant: Noted."][..];
    let people = &[
        "user Alice: Hi.",
        "user Bob: Hello.",
        "user Alice: I live in Oslo.",
    ][..];
    let cases: &[(&str, &[&str])] = &[
        ("User: I live in Oslo.\nAssistant: Noted.", chat),
        ("user: I live in Oslo.\nassistant: Noted.", chat),
        ("USER: I live in Oslo.\nASSISTANT: Noted.", chat),
        ("Human: I live in Oslo.\nAI: Noted.", chat),
        ("Human: I live in Oslo.\n\nAssistant: Noted.\n", chat),
        ("Me: I live in Oslo.\nChatGPT: Noted.", chat),
        ("User: I live in Oslo.\r\nAssistant: Noted.\r\n", chat),
        ("**User**: I live in Oslo.\n**Assistant**: Noted.", chat),
        ("**User:** I live in Oslo.\n\n**Assistant:** Noted.", chat),
        ("[user] I live in Oslo.\n[assistant] Noted.", chat),
        ("[user]: I live in Oslo.\n[assistant]: Noted.", chat),
        ("1. [user] I live in Oslo.\n2. [assistant] Noted.", chat),
        ("1. User: I live in Oslo.\n2. Assistant: Noted.", chat),
        ("1) user: I live in Oslo.\n2) assistant: Noted.", chat),
        ("<user> I live in Oslo.\n<assistant> Noted.", chat),
        ("<|user|>\nI live in Oslo.\n<|assistant|>\nNoted.", chat),
        ("## User\n\nI live in Oslo.\n\n## Assistant\n\nNoted.", chat),
        ("### User:\nI live in Oslo.\n### Assistant:\nNoted.", chat),
        ("User:\nI live in Oslo.\nAssistant:\nNoted.", chat),
        ("  User: I live in Oslo.\n  Assistant: Noted.", chat),
        (
            "[09:30] User: I live in Oslo.\n[09:31] Assistant: Noted.",
            chat,
        ),
        (
            "[2026-04-15 09:30] User: I live in Oslo.\n[2026-04-15 09:31] Assistant: Noted.",
            chat,
        ),
        (
            "2026-04-15T09:30:00Z User: I live in Oslo.\n2026-04-15T09:31:00Z Assistant: Noted.",
            chat,
        ),
        (
            "(9:30 AM) User: I live in Oslo.\n(9:31 AM) Assistant: Noted.",
            chat,
        ),
        ("Nutzer: I live in Oslo.\nAssistent: Noted.", chat),
        ("Usuario: I live in Oslo.\nAsistente: Noted.", chat),
        ("用户：I live in Oslo.\n助手：Noted.", chat),
        ("ユーザー: I live in Oslo.\nアシスタント: Noted.", chat),
        (
            r#"[{"role":"user","content":"I live in Oslo."},{"role":"assistant","content":"Noted."}]"#,
            chat,
        ),
        (
            r#"[{"type":"human","content":"I live in Oslo."},{"type":"ai","content":"Noted."}]"#,
            chat,
        ),
        (
            r#"{"messages":[{"type":"human","content":"I live in Oslo."},{"type":"ai","content":"Noted."}]}"#,
            chat,
        ),
        // An assistant that only calls a tool, as Pipecat stores it.
        (
            r#"[{"role":"user","content":"I live in Oslo."},
                {"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"save"}}]},
                {"role":"tool","tool_call_id":"1","content":"Saved."},
                {"role":"assistant","content":"Noted."}]"#,
            &[
                "user: I live in Oslo.",
                "assistant: ",
                "tool: Saved.",
                "assistant: Noted.",
            ],
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"I live in Oslo."}]},
                {"role":"assistant","content":"Noted."}]}"#,
            chat,
        ),
        (
            "{\"role\":\"user\",\"content\":\"I live in Oslo.\"}\n{\"role\":\"assistant\",\"content\":\"Noted.\"}\n",
            chat,
        ),
        ("User: I live in Oslo.", &chat[..1]),
        (
            r#"{"role": "user", "content": "I live in Oslo."}"#,
            &chat[..1],
        ),
        ("Alice: Hi.\nBob: Hello.\nAlice: I live in Oslo.", people),
        (
            "**Alice**: Hi.\n**Bob**: Hello.\n**Alice**: I live in Oslo.",
            people,
        ),
        (
            "[15.04.26, 09:30:12] Alice: Hi.\n[15.04.26, 09:31:00] Bob: Hello.\n[15.04.26, 09:31:20] Alice: I live in Oslo.",
            people,
        ),
        (
            "15/04/2026, 09:30 - Alice: Hi.\n15/04/2026, 09:31 - Bob: Hello.\n15/04/2026, 09:32 - Alice: I live in Oslo.",
            people,
        ),
        (
            "System: You are kind.\nUser: Hi.\nTool: 42\nAssistant: Hello.",
            &[
                "system: You are kind.",
                "user: Hi.",
                "tool: 42",
                "assistant: Hello.",
            ],
        ),
        (
            "Alice: I live in Oslo.\nAssistant: Noted.\nAlice: Thanks.\nAssistant: Sure.",
            &[
                "user Alice: I live in Oslo.",
                "assistant: Noted.",
                "user Alice: Thanks.",
                "assistant: Sure.",
            ],
        ),
        (
            "# Chat of Monday\n\nUser: I live in Oslo.\nAssistant: Noted.",
            &[
                "system: # Chat of Monday",
                "user: I live in Oslo.",
                "assistant: Noted.",
            ],
        ),
        (
            "User: Here is my file:\nport: 80\nname: x\nAssistant: I see.\nUser: I live in Oslo.",
            &[
                "user: Here is my file:\nport: 80\nname: x",
                "assistant: I see.",
                "user: I live in Oslo.",
            ],
        ),
        (
            "User: Two lines.\nThis is the second.\nAssistant: Noted.",
            &["user: Two lines.\nThis is the second.", "assistant: Noted."],
        ),
        (
            "Dr. Smith: Come in.\nAnna-Lena O'Neil: Thanks.\nDr. Smith: Sit down.",
            &[
                "user Dr. Smith: Come in.",
                "user Anna-Lena O'Neil: Thanks.",
                "user Dr. Smith: Sit down.",
            ],
        ),
    ];

    for (text, expected) in cases {
        let found = turns_of(text).unwrap_or_else(|| panic!("no transcript: {text}"));
        assert_eq!(found, *expected, "{text}");
    }
    assert!(cases.len() >= 40);
}

#[test]
fn other_texts_are_no_transcripts() {
    let cases = [
        "",
        "I live in Oslo.",
        "Name: Alice\nCity: Oslo\nAge: 40",
        "Note: buy milk\nNote: call Bob\nNote: pay rent",
        "Q: What is it?\nA: A service.\nQ: And why?\nA: Because.",
        // A novel with dialogue.
        "\"Where do you live?\" asked Alice.\n\"In Oslo,\" said Bob.\n\"Me too,\" said Alice.",
        "Alice looked up: it rained.\nBob said nothing.\nAlice: that was her name.",
        "Chapter 1: The road\nIt began in Oslo.\nChapter 2: The sea\nIt ended there.",
        // Logs.
        "INFO: started\nWARN: slow\nINFO: stopped\nERROR: failed",
        "2026-04-15 09:30:00 INFO: started\n2026-04-15 09:30:01 ERROR: failed\n2026-04-15 09:30:02 INFO: stopped",
        "[09:30:00] Server: started\n[09:30:01] Client: connected\n[09:30:02] Server: stopped",
        "Nov 23 18:00:01 host sshd[123]: session opened\nNov 23 18:00:02 host sshd[123]: closed",
        "[INFO] user logged in\n[WARN] user logged out\n[INFO] done",
        "user=alice action=login\nuser=bob action=login",
        // Mails.
        "From: Alice <a@x.example>\nTo: Bob <b@x.example>\nSubject: Oslo\n\nI live in Oslo.",
        "Re: Oslo\nFrom: Alice\nTo: Bob\n\nSee you there.",
        "Subject: Re: Re: Oslo\nDate: Monday\n\nUser: that is the word.",
        "Von: Anna\nAn: Bernd\nBetreff: Oslo\n\nBis bald.",
        // YAML and other data.
        "user: alice\nport: 80\nhost: example.com",
        "user: alice\nsystem: linux\n",
        "user:\n  name: alice\n  city: oslo\nassistant:\n  name: bob\n",
        "services:\n  user:\n    image: x\n  assistant:\n    image: y\n",
        "- user: alice\n  role: admin\n- user: bob\n  role: guest\n",
        "model: gpt\nuser: alice\ntemperature: 1\nstream: true",
        "[user]\nname = Alice\nemail = a@x.example\n",
        "[tool.black]\nline-length = 100\n",
        r#"{"user": "alice", "assistant": "bob"}"#,
        r#"[{"name": "alice", "content": "x"}]"#,
        r#"[{"role": "admin", "content": "x"}]"#,
        // Records with a type and a content.
        r#"{"type": "model", "name": "X-200", "content": "Pump for cold water", "price": 129}"#,
        r#"[{"type": "model", "content": "Pump"}, {"type": "tool", "content": "Wrench"}]"#,
        "{\"type\":\"system\",\"content\":\"Disk full\"}\n{\"type\":\"user\",\"content\":\"Ann\"}",
        r#"["user", "assistant"]"#,
        "[1, 2, 3]",
        // Prose that mentions the words.
        "The user: a person who uses it.\nThe assistant: a program.",
        "Model: X200\nModel: X300\nModel: X400",
        "User: admin",
        "User: admin\nPassword: secret",
        "Manager: Bob Smith\nAssistant: Maria Lopez",
        "Step: mix\nStep: bake\nStep: eat",
        "https://example.com/user: a page\nhttps://example.com/assistant: a page",
        "A guide to chats. They look like this, and so on.\nIt has a title.\nAnd a preface.\nUser: hi\nAssistant: hello",
        "| User | Assistant |\n|---|---|\n| hi | hello |",
        "def user():\n    return 1\nclass Assistant:\n    pass",
    ];

    for text in cases {
        assert_eq!(turns_of(text), None, "{text}");
    }
    assert!(cases.len() >= 40);
}

#[test]
fn turns_keep_their_times_and_the_words_of_others_are_marked() {
    let text = "[2026-04-15 09:30] Alice: Hi.\n[2026-04-15T11:31:00+02:00] Bob: Hello.\n[09:32] Alice: Bye.";
    let turns = Transcript::parse(text).unwrap().into_turns();
    let times: Vec<_> = turns
        .iter()
        .map(|turn| turn.at.map(|at| at.to_string()))
        .collect();
    let expected = [
        Some("2026-04-15T09:30:00.000Z"),
        Some("2026-04-15T09:31:00.000Z"),
        None,
    ];
    assert_eq!(times, expected.map(|time| time.map(str::to_owned)));
    let is_external = |turn: &ConversationTurn| turn.provenance == Some(Provenance::External);
    assert!(turns.iter().all(is_external));

    let messages = r#"[{"role":"user","content":"Hi.","timestamp":1776245400},
        {"role":"user","content":"Hi.","created_at":1776245400000},
        {"role":"user","content":"Hi.","date":"2026-04-15T09:30:00"},
        {"role":"user","content":"Hi.","time":true}]"#;
    let turns = Transcript::parse(messages).unwrap().into_turns();
    let times: Vec<_> = turns.iter().map(|turn| turn.at).collect();
    let at = Timestamp::parse("at", "2026-04-15T09:30:00Z").ok();
    assert_eq!(times, [at, at, at, None]);
}

#[test]
fn new_turns_are_joined_and_a_grown_transcript_replaces() {
    let stored = "User: I live in Oslo.\nAssistant: Noted.\n";
    let cases = [
        // New turns alone.
        (
            "User: My dog is Rex.",
            Some("User: I live in Oslo.\nAssistant: Noted.\nUser: My dog is Rex."),
        ),
        // The latest part, with a new turn.
        (
            "Assistant: Noted.\nUser: My dog is Rex.\n",
            Some("User: I live in Oslo.\nAssistant: Noted.\nUser: My dog is Rex.\n"),
        ),
        // The whole history.
        (
            "User: I live in Oslo.\nAssistant: Noted.\nUser: My dog is Rex.",
            None,
        ),
        ("User: I live in Oslo.\nAssistant: Noted.", None),
        // No transcript.
        ("I have moved to Bergen.", None),
        (
            r#"[{"role":"user","content":"My dog is Rex."}]"#,
            Some("User: I live in Oslo.\nAssistant: Noted.\nuser: My dog is Rex.\n"),
        ),
    ];
    for (sent, expected) in cases {
        let joined = join_transcripts(stored, sent);
        assert_eq!(joined.as_deref(), expected, "{sent}");
    }

    let messages = r#"[{"role":"user","content":"I live in Oslo.","id":1}]"#;
    let joined = join_transcripts(
        messages,
        r#"[{"role":"user","content":"My dog is Rex.","id":2}]"#,
    );
    let joined: serde_json::Value = serde_json::from_str(&joined.unwrap()).unwrap();
    assert_eq!(
        joined,
        serde_json::json!([
            {"role": "user", "content": "I live in Oslo.", "id": 1},
            {"role": "user", "content": "My dog is Rex.", "id": 2},
        ])
    );
    let joined = join_transcripts(messages, "Assistant: Noted.\nUser: My dog is Rex.");
    assert_eq!(
        turns_of(&joined.unwrap()).unwrap(),
        [
            "user: I live in Oslo.",
            "assistant: Noted.",
            "user: My dog is Rex."
        ]
    );
    assert_eq!(join_transcripts("Just a note.", stored), None);

    let typed = r#"[{"type":"human","content":"I live in Oslo."}]"#;
    let joined = join_transcripts(typed, r#"[{"type":"ai","content":"Noted."}]"#);
    assert_eq!(
        turns_of(&joined.unwrap()).unwrap(),
        ["user: I live in Oslo.", "assistant: Noted."]
    );
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_reader_and_turns_follow_each_other(
        lines in proptest::collection::vec(
            "(User: |assistant: |\\[user\\] |Anna: |\\[2026-04-15 09:30\\] |12. |## User|\\*\\*Bob:\\*\\* |[\\[{<(#*:0-9]{1,6}|key: )?[ a-zäß.!\"“:<>🙂]{0,20}", 0..8),
    ) {
        let text = lines.join("\n");
        let mut end = 0;
        for line in find_speaker_lines(&text) {
            proptest::prop_assert!(end <= line.start && line.start < line.speech_start);
            proptest::prop_assert!(text.is_char_boundary(line.speech_start));
            end = line.speech_start;
        }
        Transcript::parse(&text);
        join_transcripts(&text, &text);
    }
}

#[test]
fn a_short_turn_continues_a_transcript_and_is_none_by_itself() {
    let stored = "User: I live in Oslo.\nAssistant: Noted.";
    for turn in [
        "User: Yes.",
        "user: ok",
        "Assistant: Hello?",
        "**User**: Thanks!",
    ] {
        let joined = join_transcripts(stored, turn);
        assert_eq!(
            joined.as_deref(),
            Some(format!("{stored}\n{turn}").as_str())
        );
        assert_eq!(turns_of(turn), None, "{turn}");
    }
    for text in [
        "Yes.",
        "Note: yes",
        "user: me\npassword: x",
        "A note.\nUser: Yes.",
    ] {
        assert_eq!(join_transcripts(stored, text), None, "{text}");
    }
}
