//! Plain texts in which people note something for themselves: `allergies: penicillin, latex`.
//!
//! A note is short, no prose, and about the person: they name themselves, label what is theirs, or type as
//! in a message. Reports, letters, product pages, code and settings are none, and a card with a name may
//! be anybody's. Of prose, the rules for plain text find more.

use text::{Language, guess_language};

use super::spelling::has_typed_spelling;
use super::words::{ChatWords, LowerText, chat_words_of, word_ranges};
use crate::dates::{is_season_or_month, is_weekday};

/// The longest note, in bytes.
const MAX_NOTE_BYTES: usize = 4_000;
/// The longest note that only its spelling shows to be one, in bytes.
const MAX_TYPED_NOTE_BYTES: usize = 600;
/// The parts of a note of which one has to be about the person.
const PARTS_FOR_EACH_OWN: usize = 3;
/// The longest label before a colon, in words.
const MAX_LABEL_WORDS: usize = 4;
/// The openings of lines of code.
const CODE_OPENINGS: &[&str] = &[
    "$ ",
    "//",
    "/*",
    "#!",
    "--",
    "import ",
    "def ",
    "fn ",
    "const ",
    "function ",
    "npm ",
    "pip ",
    "git ",
    "cargo ",
    "docker ",
    "sudo ",
];
/// Words that may begin a line of code or a note.
const CODE_WORDS: &[&str] = &[
    "from ", "class ", "let ", "public ", "return ", "select ", "var ",
];
/// Signs in a line of code after such a word.
const CODE_SIGNS: &[&str] = &[" import ", " from ", "=", "(", "<"];
/// Marks that stand in code.
const CODE_MARKS: &[&str] = &["=>", "::", "()", "==", "</", "/>", "&&", "${", "{{", "\":"];

/// Checks whether a text is a note that its author wrote about themselves.
///
/// Only notes in English are known. A note has few words that show its language.
pub(crate) fn is_personal_note(text: &str) -> bool {
    if text.len() > MAX_NOTE_BYTES {
        return false;
    }
    let guess = guess_language(text);
    if guess.is_clear && guess.language != Language::English {
        return false;
    }

    let language = Language::English;
    let is_typed = has_typed_spelling(text, language);
    if is_prose(text) && !is_typed {
        return false;
    }

    let words = chat_words_of(language);
    let mut parts = PartCounts::default();
    let mut is_headed = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if is_code(line) {
            return false;
        }

        let line = Line::parse(line);
        let lower = line.text.to_lowercase();
        let label = line.label.unwrap_or(line.text).trim().to_lowercase();
        is_headed |= words.note_headings.is(&label);
        let is_named = words.card_labels.is(&label) && line.label.is_some();
        if words.report_openings.opening_len(&lower).is_some()
            || is_named && !is_headed
            || line.label.is_some() && words.offers.ending_len(&lower).is_some()
        {
            return false;
        }
        if !line.is_heading {
            parts.count_line(&line, &lower, words);
        }
    }

    let is_typed = is_typed && text.len() <= MAX_TYPED_NOTE_BYTES && has_english_word(text, words);
    let is_own = is_headed || parts.own * PARTS_FOR_EACH_OWN >= parts.all && parts.own > 0;
    parts.others <= parts.own.max(usize::from(is_headed))
        && (is_own || is_typed && parts.others == 0)
}

/// Checks whether each line of a text is made of whole sentences.
fn is_prose(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.all(|line| {
        let is_label = Line::parse(line).label.is_some();
        !is_label
            && line.starts_with(char::is_uppercase)
            && line.ends_with(['.', '!', '?', '…', '"', '”'])
    })
}

/// A line without the marks before it.
struct Line<'a> {
    text: &'a str,
    /// The words before a colon, if something follows it.
    label: Option<&'a str>,
    /// True if the line stands above others: `# Me`, `About me:`.
    is_heading: bool,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let text = line.trim_start_matches(|c: char| "#*-+•–· ".contains(c));
        let is_heading = line.starts_with('#') || text.ends_with(':');
        let label = text.find(": ").map(|colon| &text[..colon]);
        let is_label = |label: &&str| word_ranges(label).count() <= MAX_LABEL_WORDS;
        Self {
            text: text.trim_end_matches([':', '*']),
            label: label.filter(is_label),
            is_heading,
        }
    }
}

/// The numbers of sentences and labels of a text.
#[derive(Default)]
struct PartCounts {
    all: usize,
    /// Those about the person.
    own: usize,
    /// Those that speak to somebody or label something else.
    others: usize,
}

impl PartCounts {
    fn count_line(&mut self, line: &Line<'_>, lower: &str, words: &ChatWords) {
        if line.label.is_some() {
            self.all += 1;
            let is_own =
                names_author(line.text, words) || words.note_labels.opening_len(lower).is_some();
            self.own += usize::from(is_own);
            self.others += usize::from(!is_own);
            return;
        }

        // Without a colon, a capital begins a sentence of prose: "Insurance is a contract."
        let is_labelled = line.text.starts_with(|c: char| c.is_lowercase())
            && words.note_labels.opening_len(lower).is_some();
        self.own += usize::from(is_labelled);
        for sentence in line.text.split_inclusive(['.', '!', '?']) {
            if word_ranges(sentence).next().is_none() {
                continue;
            }
            self.all += 1;
            let is_own = names_author(sentence, words);
            self.own += usize::from(is_own && !is_labelled);
            let speaks_to_other = words.second_person.occur_in(&LowerText::new(sentence));
            self.others += usize::from(speaks_to_other && !is_own);
        }
    }
}

/// Words for an author in English that are words of other languages as well: `Urlaub im Juni`.
const SHARED_WORDS: [&str; 3] = ["i", "im", "me"];

/// Checks whether a sentence tells something of its author: `I`, `my`, `dad`. The numeral of `Type I`
/// does not.
fn names_author(sentence: &str, words: &ChatWords) -> bool {
    if sentence.ends_with('?') {
        return false;
    }

    let mut previous = "";
    for (at, range) in word_ranges(sentence).enumerate() {
        let word = &sentence[range];
        let bare = word.to_lowercase().replace('’', "'");
        let bare = bare.strip_suffix("'s").unwrap_or(&bare);
        let is_numeral = word == "I"
            && at > 1
            && previous.starts_with(char::is_uppercase)
            && !is_time(&previous.to_lowercase());
        let is_author = words.note_persons.is(bare) && !is_numeral;
        if is_author && (!SHARED_WORDS.contains(&bare) || has_english_word(sentence, words)) {
            return true;
        }
        previous = word;
    }

    false
}

/// Checks whether a text has a frequent word that only English has.
fn has_english_word(text: &str, words: &ChatWords) -> bool {
    word_ranges(text).any(|range| {
        let lower = text[range].to_lowercase();
        words.stop_words.contains_key(lower.as_str()) && !SHARED_WORDS.contains(&lower.as_str())
    })
}

/// Checks whether a word names a day of the week, a month or a season.
fn is_time(lower: &str) -> bool {
    is_weekday(lower) || is_season_or_month(lower)
}

/// Checks for a line of code, of a log or of settings.
fn is_code(line: &str) -> bool {
    let begins_with = |openings: &[&str]| openings.iter().any(|opening| line.starts_with(opening));
    let has = |signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
    line.ends_with([';', '{', '}', '\\'])
        || begins_with(CODE_OPENINGS)
        || begins_with(CODE_WORDS) && has(CODE_SIGNS)
        || has(CODE_MARKS)
}

#[cfg(test)]
mod tests {
    use domain::{Timestamp, Trust};

    use super::*;
    use crate::{Passage, Role, SourceText, extract_statements};

    /// Returns the statements of a plain text that was sent as a document.
    fn read_document(text: &str) -> String {
        let passage = Passage {
            text,
            start_char: 0,
            role: Role::Author,
            speaker: None,
            origin: None,
            said_at: Timestamp::parse("day", "2025-04-15").unwrap(),
        };
        let found = extract_statements(&SourceText {
            passages: vec![passage],
            trust: Trust::Document,
        });
        let texts: Vec<_> = found.into_iter().map(|statement| statement.text).collect();
        texts.join("|")
    }

    #[test]
    fn what_people_note_for_themselves_is_a_note() {
        for text in [
            "allergies: penicillin, latex\nblood type: O neg\ngp: Dr Patel",
            "About me:\n* 36, he/him\n* Product designer @ Figma",
            "# Me\n- Name: Jo Park\n- Birthday: 3 May 1990",
            "wifi: plumtree42\nalarm code 5521",
            "car insurance w Allianz, renewal 14 nov, policy 88123",
            "call w/ mom: dad's surgery went ok",
            "Last day is april 3",
            "slept badly again. work was slow. i think i want to quit by summer.",
            "Landlord: Mr. Okafor\nRent: 1250 due on the 1st",
            "About me:\nOccupation: nurse\nAllergies: nuts",
            "license plate: AB12 CDE\ninsurance: Aviva",
            "from monday i work in leeds",
            "return library books, mum needs the car",
            "squat 80kg -> 90kg, im happy w/ it",
            "On Monday I start at the bakery\nbring my ID",
        ] {
            assert!(is_personal_note(text), "{text}");
        }
    }

    #[test]
    fn texts_about_the_world_are_no_notes() {
        for text in [
            "I moved to Lisbon. We will test the pump again tomorrow.",
            "host: example.com\nport: 5432\nuser: admin",
            "name: build\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web",
            "# Minutes of the board meeting\nAttendees: Ann Lee\n- Ann presented the budget.",
            "# Meeting notes\n- My action: call the landlord.",
            "Marie Curie was a physicist. Her husband was Pierre Curie. Its value is known.",
            "Name: Ada Lovelace\nBirthday: 10 December 1815",
            "Patient: John Smith\nAllergies: penicillin\nBlood type: A",
            "Name: Jo Park\nAllergies: penicillin\nBlood type: A",
            "Blue cotton shirt\n- Material: 100% cotton\n- Size: M",
            "Our new vacuum cleaner is light. You will love it. Buy it now.",
            "The report shows that revenue rose. We expect growth. Our customers are happy.",
            "fn main() {\n    let name = \"Jo\";\n}",
            "error: could not compile\nwarning: unused variable",
            "feat: add parser for dates\nfix: handle empty input",
            "npm install foo",
            "Ingredients: flour, sugar\nServes: 4\nBake for 20 minutes on monday.",
            "allergies: an abnormal immune response\nsymptoms: sneezing",
            "the mitochondria is the powerhouse of the cell. it makes ATP.",
            "Insurance is a contract. World War I ended in 1918.",
            "How do I reset my password? Click the link. Then follow the steps.",
            "Dear Ms Hale,\nI am writing to apply for the post. I live in Leeds.",
            "Ich wohne in Bonn und arbeite bei der Bahn.",
            "Urlaub im Juni",
            "Wifi: free\nGym: 24 hours\nPets: allowed",
            "from numpy import array",
            "i = 0\nvar total = 0",
        ] {
            assert!(!is_personal_note(text), "{text}");
        }
    }

    #[test]
    fn a_note_is_read_like_a_message() {
        for (text, expected) in [
            (
                "About me:\n* 36, he/him\n* Based in Amsterdam",
                "User: 36, he/him.|User: Based in Amsterdam.",
            ),
            (
                "im vegan and i live in leeds",
                "User is vegan.|User lives in leeds.",
            ),
            ("Last day is april 3", "Last day is April 3 (2025-04-03)."),
            ("host: example.com\nport: 5432", ""),
        ] {
            assert_eq!(read_document(text), expected, "{text}");
        }
    }

    #[test]
    fn a_short_turn_is_in_the_language_of_the_other_turns() {
        let said_at = Timestamp::parse("day", "2025-04-15").unwrap();
        let passages = ["ich wohne in bonn und habe zwei katzen", "bin dachdecker"]
            .into_iter()
            .map(|text| Passage::of_user(text, said_at))
            .collect();
        let found = extract_statements(&SourceText {
            passages,
            trust: Trust::User,
        });
        let last = found.last().map(|statement| statement.text.as_str());
        assert_eq!(last, Some("Bin dachdecker"));
    }
}
