//! Accent folding. It comes after stemming, because stemmers need the accents and comparisons must
//! not.

use unicode_normalization::UnicodeNormalization;

/// Appends `word`, which is in lower case, without accents and vowel points.
pub(super) fn fold_accents(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.push_str(word);
        return;
    }

    for c in word.nfd().filter(|&c| !is_dropped(c)) {
        match c {
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'ø' => out.push('o'),
            'đ' | 'ð' => out.push('d'),
            'ł' => out.push('l'),
            'ı' => out.push('i'),
            'ς' => out.push('σ'),
            'ى' => out.push('ي'),
            'ة' => out.push('ه'),
            other => out.push(other),
        }
    }
}

/// Checks for a combining accent of Latin, Greek or Cyrillic, a Hebrew or Arabic point, or the
/// Arabic lengthening stroke. The marks of other scripts are vowel signs, which are letters in
/// effect and stay.
fn is_dropped(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36F | 0x591..=0x5C7 | 0x640 | 0x64B..=0x65F | 0x670 | 0x200C..=0x200F)
}
