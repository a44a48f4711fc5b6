//! Words that are looked up in every text, whatever its language.

use std::sync::LazyLock;

use text::WordTable;
use text::file::{LanguageFile, LanguageFileError, LanguageSections};

use crate::chat::KeyedPhrases;
use crate::word_list::WordList;

const FILE: LanguageFile = LanguageFile {
    path: "shared/extraction/languages/all.txt",
    text: include_str!("../languages/all.txt"),
};

/// Declares the lists with the sections from which they are loaded.
macro_rules! word_lists {
    ($($(#[$note:meta])* $list:ident = $section:literal,)*) => {
        /// The words of all languages.
        #[derive(Default)]
        pub(crate) struct AllLanguageWords {
            $($(#[$note])* pub(crate) $list: WordList,)*
            /// Names and units, each with the aspect of a person's life that it tells.
            pub(crate) aspect_names: WordTable<&'static str>,
            /// Phrases before the answer of an aspect of the speaker's life.
            pub(crate) aspects: KeyedPhrases,
            /// Phrases that only mention an aspect.
            pub(crate) aspect_mentions: KeyedPhrases,
            /// Phrases that say that an aspect has changed or ended.
            pub(crate) aspect_changes: KeyedPhrases,
            /// Phrases that say so only at the end of a clause.
            pub(crate) final_aspect_changes: KeyedPhrases,
            /// Phrases that say so only if the remark names the aspect as well.
            pub(crate) named_aspect_changes: KeyedPhrases,
            /// Further words that name an aspect beside such a phrase.
            pub(crate) aspect_context: KeyedPhrases,
        }

        impl AllLanguageWords {
            fn load() -> Result<Self, LanguageFileError> {
                let mut sections = LanguageSections::parse(FILE)?;
                let words = Self {
                    $($list: sections.take($section)?.words()?.into_iter().collect(),)*
                    aspect_names: load_aspect_names(&mut sections)?,
                    aspects: KeyedPhrases::load(&mut sections, "aspects")?,
                    aspect_mentions: KeyedPhrases::load(&mut sections, "aspect mentions")?,
                    aspect_changes: KeyedPhrases::load(&mut sections, "aspect changes")?,
                    final_aspect_changes: KeyedPhrases::load(
                        &mut sections,
                        "aspect changes that end a clause",
                    )?,
                    named_aspect_changes: KeyedPhrases::load(&mut sections, "changes of a named aspect")?,
                    aspect_context: KeyedPhrases::load(&mut sections, "aspect context")?,
                };
                sections.finish()?;

                Ok(words)
            }
        }
    };
}

word_lists! {
    /// Lines that mail programs write above the mail in an answer or a forward, without the dashes.
    mail_boundaries = "mail boundaries",
    /// Names of the mail header that gives the sender.
    sender_headers = "sender headers",
    /// Names of the other mail headers.
    other_headers = "other headers",
    /// Names of mail headers that nobody writes above a note.
    mail_only_headers = "mail only headers",
    /// Words for mails that people pass on.
    mail_names = "mail names",
    /// Words for pages that people pass on.
    page_names = "page names",
    /// Words for other texts that people pass on.
    other_text_names = "other text names",
    /// Words that point at the following text, or say that it came from somebody.
    pointing_words = "pointing words",
    /// The pointing words that say that the text came from somebody.
    receiving_words = "receiving words",
    /// Words for a text whose kind is not named.
    unnamed_text_words = "unnamed text words",
    /// Words after `got this` that show that a text was received rather than a thing.
    words_after_received_text = "words after a received text",
    /// Words before a text that is the writer's own.
    own_text_words = "own text words",
    /// Words that ask to remember what follows.
    remembering_words = "remembering words",
    /// Words that ask for work on a text. No statements are extracted from such a text.
    task_words = "task words",
    /// Verbs that introduce what somebody else says.
    speech_verbs = "speech verbs",
    /// Words after such a verb that name the person told.
    listener_words = "listener words",
    /// Words for the writer.
    writer_words = "writer words",
    /// Abbreviations that never end a sentence, without the final full stop.
    non_final_abbreviations = "non final abbreviations",
    /// Abbreviations that end a sentence only when a capital letter follows.
    final_abbreviations = "final abbreviations",
    /// Words before an ordinal day or place, in German.
    words_before_ordinals = "words before ordinals",
}

fn load_aspect_names(
    sections: &mut LanguageSections,
) -> Result<WordTable<&'static str>, LanguageFileError> {
    let mut names = WordTable::default();
    for entry in sections.take("aspect names")?.entries()? {
        names.extend(entry.words.into_iter().map(|word| (word, entry.key)));
    }

    Ok(names)
}

/// Returns the words of all languages. The file is read once.
///
/// It is a part of the program, and a test loads it, so there is no fault to report here.
pub(crate) fn all_languages() -> &'static AllLanguageWords {
    static WORDS: LazyLock<AllLanguageWords> =
        LazyLock::new(|| AllLanguageWords::load().unwrap_or_default());
    &WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_can_be_loaded() {
        if let Err(error) = AllLanguageWords::load() {
            panic!("{error}");
        }
    }
}
