//! The files of rules and of the words of messages, and the golden tables.

use text::Language;
use text::file::LanguageFile;

/// Declares the languages with rules, each with the name of its files, and embeds the files.
macro_rules! rule_files {
    ($($language:ident = $file:literal,)*) => {
        /// The languages with rules.
        #[cfg(test)]
        pub(crate) const RULE_LANGUAGES: &[Language] = &[$(Language::$language,)*];

        /// Returns the file with the rules of a language, or `None` if it has no rules.
        pub(crate) fn rule_file_of(language: Language) -> Option<LanguageFile> {
            match language {
                $(Language::$language => Some(LanguageFile {
                    path: concat!("shared/extraction/languages/", $file, ".txt"),
                    text: include_str!(concat!("../languages/", $file, ".txt")),
                }),)*
                _ => None,
            }
        }

        /// Returns the file with the words of a language's messages, or `None` if it has no rules.
        pub(crate) fn chat_file_of(language: Language) -> Option<LanguageFile> {
            match language {
                $(Language::$language => Some(LanguageFile {
                    path: concat!("shared/extraction/chats/", $file, ".txt"),
                    text: include_str!(concat!("../chats/", $file, ".txt")),
                }),)*
                _ => None,
            }
        }

        /// Returns the golden table of a language. Languages without rules share one.
        #[cfg(test)]
        pub(crate) fn golden_table_of(language: Language) -> &'static str {
            match language {
                $(Language::$language => {
                    include_str!(concat!("../languages/", $file, ".golden.txt"))
                })*
                _ => include_str!("../languages/other.golden.txt"),
            }
        }
    };
}

rule_files! {
    English = "en",
    German = "de",
    Spanish = "es",
    French = "fr",
    Portuguese = "pt",
    Italian = "it",
    Russian = "ru",
    Hindi = "hi",
    Chinese = "zh",
    Japanese = "ja",
    Korean = "ko",
}
