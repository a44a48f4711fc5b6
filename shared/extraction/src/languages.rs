//! The languages with rules, and their files.

pub(crate) mod calendar;
pub(crate) mod file;

use file::LanguageSource;

/// Declares the languages, each with the name of its files, and embeds the files.
macro_rules! languages {
    ($($(#[$note:meta])* $language:ident = $file:literal,)*) => {
        /// A language for which there are rules.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Language {
            $($(#[$note])* $language,)*
        }

        impl Language {
            /// All languages. If the words of a text indicate two languages equally, it has the
            /// first of them.
            pub(crate) const ALL: &[Self] = &[$(Self::$language,)*];

            /// Returns the file of the language.
            pub(crate) fn source(self) -> LanguageSource {
                match self {
                    $(Self::$language => LanguageSource {
                        name: $file,
                        text: include_str!(concat!("../languages/", $file, ".txt")),
                    },)*
                }
            }

            /// Returns the golden table of the language.
            #[cfg(test)]
            pub(crate) fn golden_table(self) -> &'static str {
                match self {
                    $(Self::$language => {
                        include_str!(concat!("../languages/", $file, ".golden.txt"))
                    })*
                }
            }
        }
    };
}

impl Language {
    /// Checks whether statements are extracted with cues from the file of the language. English has
    /// rules in code.
    pub(crate) fn has_cues(self) -> bool {
        !matches!(self, Self::English | Self::Other)
    }
}

languages! {
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
    /// Any other language.
    Other = "other",
}
