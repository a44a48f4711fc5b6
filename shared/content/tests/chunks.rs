//! Tests of the guarantees of chunking on arbitrary text, and of chunks that follow the structure.

use std::time::{Duration, Instant};

use content::{
    Chunk, ChunkOptions, Format, MAX_CHUNKS, Turn, chunk_conversation, render_conversation,
    split_into_chunks,
};
use proptest::prelude::*;

/// Returns the slice of `text` between two character offsets.
fn slice(text: &str, start: usize, end: usize) -> String {
    text.chars().skip(start).take(end - start).collect()
}

/// Checks the guarantees that hold for any text.
fn check_guarantees(text: &str, chunks: &[Chunk], target: usize) -> Result<(), TestCaseError> {
    let characters: Vec<char> = text.chars().collect();
    let mut covered = vec![false; characters.len()];
    let mut last_start = None;
    for (index, chunk) in chunks.iter().enumerate() {
        prop_assert_eq!(chunk.position as usize, index);
        prop_assert_eq!(&chunk.text, &slice(text, chunk.start, chunk.end));
        prop_assert!(!chunk.text.trim().is_empty());
        prop_assert!(
            chunk.end - chunk.start <= 2 * target,
            "{} characters",
            chunk.end - chunk.start
        );
        prop_assert!(last_start < Some(chunk.start), "starts must grow");
        last_start = Some(chunk.start);
        covered[chunk.start..chunk.end].fill(true);
    }

    for (at, character) in characters.iter().enumerate() {
        prop_assert!(
            covered[at] || character.is_whitespace(),
            "character {at} ({character:?}) is in no chunk"
        );
    }

    Ok(())
}

fn options(target_chars: usize) -> ChunkOptions {
    ChunkOptions {
        target_chars,
        ..ChunkOptions::default()
    }
}

/// Generates text with the structures that the chunker recognizes.
fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "#{1,7} [a-z ]{0,12}",
        "[A-Za-z ,.!?]{0,120}",
        "[一-龠。！？]{0,80}",
        "\\PC{0,60}",
        "- [a-z. ]{0,40}",
        "\\|[a-z |]{0,40}\\|",
        Just("```".to_owned()),
        Just("---".to_owned()),
        Just("===".to_owned()),
        Just(String::new()),
        "[a-zA-Z0-9+/]{100,400}",
    ];
    proptest::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks_keep_their_promises_for_markdown(text in markdown(), target in 64usize..400) {
        for format in [Format::Markdown, Format::Text, Format::Code, Format::Data] {
            let chunks = split_into_chunks(&text, format, &options(target));
            check_guarantees(&text, &chunks, target)?;
            prop_assert_eq!(split_into_chunks(&text, format, &options(target)), chunks);
        }
    }

    #[test]
    fn chunks_keep_their_promises_for_any_text(text in "(?s).{0,600}", target in 0usize..200) {
        check_guarantees(&text, &split_into_chunks(&text, Format::Markdown, &options(target)), target.max(64))?;
    }

    #[test]
    fn chunks_keep_their_promises_for_code_and_data(text in code(), target in 64usize..400) {
        for format in [Format::Code, Format::Data] {
            check_guarantees(&text, &split_into_chunks(&text, format, &options(target)), target)?;
        }
    }

    #[test]
    fn windows_keep_their_promises(
        texts in proptest::collection::vec("(?s).{0,300}|[A-Za-z ,.]{0,900}", 0..20),
        target in 64usize..400,
        turns_per_window in 0usize..8,
        overlap_turns in 0usize..8,
    ) {
        let turns: Vec<Turn> = texts.into_iter().enumerate().map(|(index, text)| Turn {
            role: "user".into(),
            speaker: (index % 3 == 0).then(|| "Ann".into()),
            text,
            date: None,
        }).collect();
        let (text, spans) = render_conversation(&turns);
        let options = ChunkOptions { target_chars: target, turns_per_window, overlap_turns, ..ChunkOptions::default() };
        let windows = chunk_conversation(&text, &spans, &options);
        check_guarantees(&text, &windows, target)?;

        for window in &windows {
            let turns = window.turns.clone().expect("a window names its turns");
            prop_assert!(spans[turns.start].start <= window.start && window.end <= spans[turns.end - 1].end);
            prop_assert!(spans[turns.start].end > window.start && window.end > spans[turns.end - 1].start);
        }

        // Turns that are added later change only the last window.
        for length in 0..turns.len() {
            let (text, spans) = render_conversation(&turns[..length]);
            let before = chunk_conversation(&text, &spans, &options);
            let kept = before.len().saturating_sub(1);
            prop_assert_eq!(&before[..kept], &windows[..kept]);
        }
    }
}

/// Generates lines at several depths, some of them long, with brackets, strings and comments.
fn code() -> impl Strategy<Value = String> {
    let words = prop_oneof![
        "[a-z(){}\\[\\]:;,=<>\" ]{0,60}",
        "fn [a-z]{1,5}\\([a-z: ,]{0,20}\\) \\{",
        "// [a-z ]{0,30}",
        Just("}".to_owned()),
        Just(String::new()),
        "\"[a-z]{1,5}\": [\\[{]?[\"a-z0-9, ]{0,300}",
    ];
    let line = (0usize..6, words).prop_map(|(depth, words)| "  ".repeat(depth) + &words);
    proptest::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

#[test]
fn chunks_know_the_path_of_headings_above_them() {
    let text = "Intro.\n\n# Guide\n\n## Install\nRun it.\n\n## Use\nOpen it.\n\nTitle\n=====\nEnd.";
    let chunks = split_into_chunks(text, Format::Markdown, &options(900));
    let seen: Vec<(Vec<&str>, &str)> = chunks
        .iter()
        .map(|c| {
            (
                c.headings.iter().map(String::as_str).collect(),
                c.text.as_str(),
            )
        })
        .collect();

    assert_eq!(
        seen,
        [
            (vec![], "Intro."),
            (vec!["Guide", "Install"], "# Guide\n\n## Install\nRun it."),
            (vec!["Guide", "Use"], "## Use\nOpen it."),
            (vec!["Title"], "Title\n=====\nEnd."),
        ]
    );
}

#[test]
fn plain_text_has_no_headings() {
    let chunks = split_into_chunks("# not a heading\nx = 1", Format::Text, &options(900));
    assert_eq!(chunks.len(), 1);
    assert!(chunks[0].headings.is_empty());
}

#[test]
fn tables_and_code_are_not_torn_while_they_fit() {
    let table = format!("| a | b |\n|---|---|\n{}", "| one | two |\n".repeat(10));
    let code = format!("```\n{}```", "let x = 1. Yes. No.\n\n".repeat(8));
    let prose = "Here is a sentence of some length. ".repeat(6);
    let text = format!("{prose}\n\n{table}\n{prose}\n\n{code}\n\n{prose}");
    let chunks = split_into_chunks(&text, Format::Markdown, &options(110));
    for block in [table.trim(), &code] {
        assert!(
            chunks.iter().any(|chunk| chunk.text.contains(block)),
            "torn: {block}"
        );
    }
}

#[test]
fn large_tables_are_cut_between_rows() {
    let table = "| some cell | another cell |\n".repeat(40);
    for part in split_into_chunks(&table, Format::Markdown, &options(100)) {
        assert!(
            part.text
                .lines()
                .all(|row| row == "| some cell | another cell |"),
            "{}",
            part.text
        );
    }
}

#[test]
fn neighbours_in_a_section_share_sentences_but_sections_do_not() {
    let body: String = (0..30)
        .map(|n| format!("This is sentence number {n:02}. "))
        .collect();
    let chunks = split_into_chunks(
        &format!("# A\n{body}\n# B\n{body}"),
        Format::Markdown,
        &options(200),
    );
    let mut shared = 0;
    for pair in chunks.windows(2) {
        if pair[0].headings == pair[1].headings {
            assert!(
                pair[1].start < pair[0].end,
                "no overlap before {}",
                pair[1].text
            );
            assert!(
                pair[1].text.starts_with("This is sentence"),
                "{}",
                pair[1].text
            );
            shared += 1;
        } else {
            assert!(pair[1].start >= pair[0].end);
        }
    }

    assert!(shared >= 6, "{shared}");
}

#[test]
fn text_without_blanks_is_cut_at_its_punctuation() {
    let chunks = split_into_chunks(
        &"灯台守は毎晩らせん階段を上った。".repeat(40),
        Format::Text,
        &options(100),
    );
    assert!(chunks.len() > 5);
    assert!(chunks.iter().all(|chunk| chunk.text.ends_with('。')));
}

#[test]
fn a_short_document_is_one_chunk() {
    let text = "First paragraph.\n\nSecond paragraph.";
    let chunks = split_into_chunks(text, Format::Text, &ChunkOptions::default());
    assert_eq!(chunks.len(), 1);
    assert_eq!(
        (chunks[0].text.as_str(), chunks[0].start, chunks[0].end),
        (text, 0, 35)
    );
}

fn turn(speaker: &str, text: &str) -> Turn {
    Turn {
        role: "user".into(),
        speaker: Some(speaker.into()),
        text: text.into(),
        date: None,
    }
}

#[test]
fn conversation_is_rendered_turn_by_turn() {
    let mut turns = vec![
        turn("Ann", "Hi\r\n"),
        turn("Bob", " \n"),
        turn("Zoë", "Hello, Ann."),
    ];
    turns.push(Turn {
        role: "assistant".into(),
        speaker: None,
        text: "Yes?".into(),
        date: None,
    });

    let (text, spans) = render_conversation(&turns);
    assert_eq!(text, "Ann: Hi\n\nZoë: Hello, Ann.\n\nAssistant: Yes?");
    let parts: Vec<String> = spans
        .iter()
        .map(|span| slice(&text, span.start, span.end))
        .collect();
    assert_eq!(
        parts,
        ["Ann: Hi", "", "Zoë: Hello, Ann.", "Assistant: Yes?"]
    );
}

#[test]
fn windows_hold_whole_turns_and_share_one() {
    let turns: Vec<Turn> = (0..10).map(|n| turn("Ann", &format!("turn {n}"))).collect();
    let (text, spans) = render_conversation(&turns);
    let options = ChunkOptions {
        turns_per_window: 4,
        overlap_turns: 1,
        ..ChunkOptions::default()
    };

    let chunks = chunk_conversation(&text, &spans, &options);
    let ends: Vec<(&str, &str)> = chunks
        .iter()
        .map(|c| {
            (
                c.text.lines().next().unwrap(),
                c.text.lines().last().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        ends,
        [
            ("Ann: turn 0", "Ann: turn 3"),
            ("Ann: turn 3", "Ann: turn 6"),
            ("Ann: turn 6", "Ann: turn 9")
        ]
    );
}

#[test]
fn a_turn_with_much_white_space_has_no_two_chunks_at_one_place() {
    let words = "word, ".repeat(20);
    let (text, spans) = render_conversation(&[turn(
        "Ann",
        &format!("{words}{}{words}", "\u{b}".repeat(300)),
    )]);
    let options = ChunkOptions {
        target_chars: 64,
        ..ChunkOptions::default()
    };

    let chunks = chunk_conversation(&text, &spans, &options);
    let starts: Vec<usize> = chunks.iter().map(|chunk| chunk.start).collect();
    assert!(starts.is_sorted_by(|a, b| a < b), "{starts:?}");
}

#[test]
fn a_setting_of_any_chunk_size_works() {
    let text: String = (0..3000)
        .map(|n| {
            format!(
                "This is sentence number {n}.{}",
                if n % 7 == 0 { "\n\n" } else { " " }
            )
        })
        .collect();

    for size in [64, 100, 900, 4000, 16_000] {
        let chunks = split_into_chunks(&text, Format::Text, &ChunkOptions::for_chunk_size(size));
        let size = usize::try_from(size).expect("it is positive");
        check_guarantees(&text, &chunks, size).expect("the promises hold");
        let mean = chunks
            .iter()
            .map(|chunk| chunk.end - chunk.start)
            .sum::<usize>()
            / chunks.len();
        assert!(
            (size * 6 / 10..size * 13 / 10).contains(&mean),
            "{mean} for {size}"
        );
    }
}

#[test]
fn chunk_size_setting_is_honoured() {
    assert_eq!(ChunkOptions::for_chunk_size(-1), ChunkOptions::default());
    assert_eq!(ChunkOptions::for_chunk_size(300).target_chars, 300);
}

#[test]
fn a_list_written_in_headings_is_not_a_chunk_per_heading() {
    let text: String = (0..2000).map(|n| format!("# {n}\nx\n")).collect();
    let chunks = split_into_chunks(&text, Format::Markdown, &options(900));
    assert!(chunks.len() < 50, "{}", chunks.len());
    check_guarantees(&text, &chunks, 900).expect("the promises hold");
}

#[test]
fn a_long_line_above_many_lines_is_read_once() {
    let text = format!(
        "# T\n\n{}\n{}",
        "x".repeat(2_000_000),
        "a\n".repeat(500_000)
    );
    let started = Instant::now();
    let chunks = split_into_chunks(&text, Format::Markdown, &options(16_000));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(chunks.iter().all(|chunk| chunk.headings == ["T"]));
}

#[test]
fn an_underline_makes_a_heading_of_one_line_only() {
    let text = "Tides\n-----\nLow.\n\nHigh\nand low\n-------\nEnd.";
    let chunks = split_into_chunks(text, Format::Markdown, &options(900));
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].headings, ["Tides"]);
}

#[test]
fn chunks_repeat_only_so_much_of_the_headings_above_them() {
    let waves = |level: usize| "🌊".repeat(190) + &level.to_string();
    let mut markdown = String::new();
    for level in 1..=5 {
        markdown.push_str(&format!("{} {}\n\n", "#".repeat(level), waves(level)));
    }
    for n in 0..100 {
        markdown.push_str(&format!("###### Part {n}\n\n{}\n\n", "Water. ".repeat(12)));
    }
    let mut data = format!("\"{}\"", "Water. ".repeat(60));
    for level in (1..=16).rev() {
        data = format!("{{\"{}\": [{data}]}}", waves(level));
    }

    for (text, format) in [(markdown, Format::Markdown), (data, Format::Data)] {
        let chunks = split_into_chunks(&text, format, &options(100));
        for chunk in &chunks {
            let bytes: usize = chunk.headings.iter().map(String::len).sum();
            assert!(bytes <= 800, "{bytes} bytes in {format:?}");
        }
        assert!(chunks.iter().any(|chunk| !chunk.headings.is_empty()));
    }
}

#[test]
fn splitting_stops_with_one_chunk_too_many() {
    let text = format!("{}\n\n", "x".repeat(64)).repeat(MAX_CHUNKS + 100);
    let chunks = split_into_chunks(&text, Format::Text, &options(64));
    assert_eq!(chunks.len(), MAX_CHUNKS + 1);

    let turns = vec![turn("Ann", "Hi"); MAX_CHUNKS + 100];
    let (text, spans) = render_conversation(&turns);
    let options = ChunkOptions {
        turns_per_window: 1,
        ..ChunkOptions::default()
    };
    let windows = chunk_conversation(&text, &spans, &options);
    assert_eq!(windows.len(), MAX_CHUNKS + 1);
}
