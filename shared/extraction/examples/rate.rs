//! Measures how fast statements are extracted: `cargo run --release -p extraction --example rate
//! FOLDERS`.
//!
//! A folder may contain `conversations.json` (sessions of turns), `dataset.jsonl` with its
//! translations, such as `dataset.de.jsonl`, and texts such as `ru.txt`, whose paragraphs are turns
//! of one user. Without folders, only the short chats below are read. Each text is read repeatedly
//! until it amounts to some megabytes.

#![expect(clippy::print_stdout, reason = "a report is this program's purpose")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use domain::{Timestamp, Trust};
use extraction::{Passage, Role, SourceText, extract_statements};
use serde_json::Value;

/// The number of bytes to read of each text.
const BYTES: usize = 4 << 20;

/// Turns of one user in several languages, each of one or two sentences in the style of a chat.
const CHATS: [(&str, &str); 6] = [
    (
        "English",
        "I moved to Leeds last spring, and I love the small bakery around the corner.\n\
         Yesterday my sister called about the boat. She wants to sell it in June.\n\
         No, I have not read that book yet! It was too long for the train.\n\
         We decided to paint the kitchen green. My brother Tom will help on Saturday.",
    ),
    (
        "German",
        "Ich bin letztes Frühjahr nach Leipzig gezogen und mag die kleine Bäckerei um die Ecke sehr.\n\
         Gestern hat meine Schwester wegen des Bootes angerufen. Sie will es im Juni verkaufen.\n\
         Nein, das Buch habe ich noch nicht gelesen! Für die Bahn war es zu schwer.\n\
         Wir haben beschlossen, die Küche grün zu streichen. Mein Bruder Tom hilft am Samstag.",
    ),
    (
        "Spanish",
        "Me mudé a Valencia la primavera pasada y me encanta la panadería de la esquina.\n\
         Ayer llamó mi hermana por lo del barco. Quiere venderlo en junio.\n\
         ¡No, todavía no he leído ese libro! Era demasiado largo para el tren.\n\
         Decidimos pintar la cocina de verde. Mi hermano Tomás ayudará el sábado.",
    ),
    (
        "Russian",
        "Прошлой весной я переехал в Казань, и мне очень нравится маленькая пекарня за углом.\n\
         Вчера сестра звонила насчёт лодки. Она хочет продать её в июне.\n\
         Нет, эту книгу я ещё не читал! Для поезда она была слишком тяжёлой.\n\
         Мы решили покрасить кухню в зелёный цвет. Мой брат Артём поможет в субботу.",
    ),
    (
        "Chinese",
        "我去年春天搬到了成都，很喜欢街角的那家小面包店。\n\
         昨天我妹妹打电话来说船的事。她想在六月把它卖掉。\n\
         没有，那本书我还没看！在火车上看太长了。\n\
         我们决定把厨房漆成绿色。我哥哥周六来帮忙。",
    ),
    (
        "Japanese",
        "去年の春に仙台へ引っ越しました。角の小さなパン屋がとても好きです。\n\
         昨日、妹からボートのことで電話がありました。六月に売りたいそうです。\n\
         いいえ、その本はまだ読んでいません！電車で読むには長すぎました。\n\
         台所を緑色に塗ることに決めました。兄が土曜日に手伝ってくれます。",
    ),
];

/// The speakers and turns of a text that is read as one source.
type Conversation = Vec<(String, String)>;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<28} {:>8} {:>16} {:>8}",
        "text", "kB", "statements/kB", "MB/s"
    );
    for (name, chat) in CHATS {
        measure_rate(
            name,
            &[chat
                .lines()
                .map(|turn| ("Ana".to_owned(), turn.to_owned()))
                .collect()],
        );
    }

    for folder in std::env::args().skip(1) {
        for path in list_text_files(Path::new(&folder))? {
            let conversations = read_talks(&path)?;
            measure_rate(
                &path.file_name().unwrap_or_default().to_string_lossy(),
                &conversations,
            );
        }
    }

    Ok(())
}

/// Returns the text files of a folder, by name.
fn list_text_files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == "conversations.json" || name.starts_with("dataset.") || is_language(&name)
    });
    files.sort();
    Ok(files)
}

/// Checks whether a file is named after a language, such as `ru.txt`.
fn is_language(name: &str) -> bool {
    name.strip_suffix(".txt")
        .is_some_and(|language| language.len() == 2)
}

fn read_talks(path: &Path) -> Result<Vec<Conversation>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let single_turn = |text: &str| vec![("Ana".to_owned(), text.to_owned())];

    Ok(match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => {
            let samples: Vec<Value> = serde_json::from_str(&text)?;
            samples.iter().flat_map(sessions).collect()
        }
        Some("jsonl") => {
            let rows: Vec<Value> = text
                .lines()
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()?;
            rows.iter()
                .filter_map(|row| row["text"].as_str())
                .map(single_turn)
                .collect()
        }
        _ => text.split("\n\n").map(single_turn).collect(),
    })
}

/// Returns the sessions of a conversation.
fn sessions(sample: &Value) -> Vec<Conversation> {
    let read_turn = |turn: &Value| {
        Some((
            turn["speaker"].as_str()?.to_owned(),
            turn["text"].as_str()?.to_owned(),
        ))
    };
    let session = |number: u8| sample["conversation"][format!("session_{number}")].as_array();
    (1..100)
        .filter_map(session)
        .map(|turns| turns.iter().filter_map(read_turn).collect())
        .collect()
}

/// Reads the talks until they amount to [`BYTES`], and prints how long that took.
fn measure_rate(name: &str, conversations: &[Conversation]) {
    let bytes: usize = conversations
        .iter()
        .flatten()
        .map(|(_, text)| text.len())
        .sum();
    let rounds = BYTES / bytes.max(1) + 1;
    let started = Instant::now();
    let mut found = 0;
    for _ in 0..rounds {
        found += conversations
            .iter()
            .map(|conversation| extract_statements(&build_source(conversation)).len())
            .sum::<usize>();
    }

    let bytes_read = (bytes * rounds) as f64;
    let rate = bytes_read / 1e6 / started.elapsed().as_secs_f64();
    println!(
        "{name:<28} {:>8.1} {:>16.2} {rate:>8.2}",
        bytes as f64 / 1e3,
        found as f64 * 1e3 / bytes_read
    );
}

fn build_source(conversation: &Conversation) -> SourceText<'_> {
    let said_at = Timestamp::from_millis(1_744_675_200_000);
    let mut start = 0;
    let passages = conversation.iter().map(|(speaker, text)| {
        let passage = Passage {
            text,
            start_char: start,
            role: Role::User,
            speaker: Some(speaker),
            origin: None,
            said_at,
        };
        start += text.chars().count() + 1;
        passage
    });

    SourceText {
        passages: passages.collect(),
        trust: Trust::User,
    }
}
