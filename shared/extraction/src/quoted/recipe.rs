//! Recipes within the user's own words: the lines of the ingredients, and the steps after them.

use std::ops::Range;

use text::find_words;

/// The fewest lines of a recipe that begin with an amount.
const MIN_AMOUNT_LINES: usize = 3;
/// The fewest lines of a recipe whose amount has a unit of the kitchen.
const MIN_UNIT_LINES: usize = 2;
/// The lines with amounts after which no unit is looked for. A long list of numbers is therefore not
/// read to its end from each of its lines.
const MAX_LINES_TO_UNITS: usize = 12;
/// The most words of a line of a recipe.
const MAX_LINE_WORDS: usize = 14;

/// The units of the kitchen in lower case, in several languages.
const UNITS: &[&str] = &[
    "g",
    "gr",
    "kg",
    "mg",
    "ml",
    "cl",
    "dl",
    "l",
    "oz",
    "lb",
    "lbs",
    "tsp",
    "tbsp",
    "tbs",
    "cup",
    "cups",
    "clove",
    "cloves",
    "pinch",
    "tin",
    "tins",
    "pack",
    "packs",
    "stick",
    "sticks",
    "el",
    "tl",
    "prise",
    "cuillère",
    "cuillères",
    "cucharada",
    "cucharadas",
    "taza",
    "tazas",
    "colher",
    "colheres",
    "xícara",
    "xícaras",
    "cucchiaio",
    "cucchiai",
];

/// The words by which a line is the user's own and no step.
const OWN_WORDS: &[&str] = &[
    "i", "im", "i'm", "ive", "i've", "me", "my", "mine", "we", "we're", "our", "us",
];

/// Returns the range of the recipe that begins at `at`, if one does: at least three lines with amounts,
/// and what follows up to a line of the user's own.
pub(super) fn find_recipe(text: &str, at: usize) -> Option<Range<usize>> {
    let (mut amounts, mut units, mut end) = (0, 0, at);
    for line in text[at..].split_inclusive('\n') {
        let is_blank_between = amounts > 0 && line.trim().is_empty();
        match Amount::read(line) {
            Some(amount) => {
                amounts += 1;
                units += usize::from(amount == Amount::WithUnit);
            }
            // The ingredients come first.
            None if amounts < MIN_AMOUNT_LINES && !is_blank_between => return None,
            None if !is_step(line) => break,
            None => {}
        }
        if amounts == MAX_LINES_TO_UNITS && units < MIN_UNIT_LINES {
            return None;
        }
        end += line.len();
    }
    (amounts >= MIN_AMOUNT_LINES && units >= MIN_UNIT_LINES).then_some(at..end)
}

/// The beginning of a line of ingredients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    /// `2 onions`
    Number,
    /// `400ml stock`, `2 tbsp flour`
    WithUnit,
}

impl Amount {
    fn read(line: &str) -> Option<Self> {
        let line = line.trim_start().trim_start_matches(['-', '*', '•', ' ']);
        let is_digit = |c: char| c.is_ascii_digit() || "½¼¾⅓⅔.,/".contains(c);
        let rest = line.trim_start_matches(is_digit);
        if rest.len() == line.len() || has_own_words(line) || line.contains(':') {
            return None;
        }

        let mut words = find_words(rest).map(|word| word.text.to_lowercase());
        let first = words.next()?;
        if words.count() >= MAX_LINE_WORDS {
            return None;
        }
        Some(if UNITS.contains(&first.as_str()) {
            Self::WithUnit
        } else {
            Self::Number
        })
    }
}

/// Checks whether a line may be a step of a recipe, or lies between the steps.
fn is_step(line: &str) -> bool {
    !line.contains('?') && !has_own_words(line) && find_words(line).count() <= MAX_LINE_WORDS
}

fn has_own_words(line: &str) -> bool {
    find_words(line).any(|word| OWN_WORDS.contains(&word.text.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: &str = "2 tbsp plain flour\n400ml ale\n2 onions, 3 carrots\n\nSoften veg.\nTop w \
                          pastry, 35 mins at 200\n";

    #[test]
    fn amounts_and_steps_are_a_recipe() {
        assert_eq!(find_recipe(RECIPE, 0), Some(0..RECIPE.len()));
        let text = format!("nan's pie:\n{RECIPE}can i freeze it? we never have cream in");
        assert_eq!(find_recipe(&text, 0), None);
        let start = "nan's pie:\n".len();
        assert_eq!(find_recipe(&text, start), Some(start..start + RECIPE.len()));
    }

    #[test]
    fn other_lists_are_none() {
        for text in [
            "2 kids\n1 dog\n3 cats\n",
            "5km run\n10km bike\n2 rest days\n",
            "2 l of coke a day\ni drink too much\n",
            "400ml ale\n2 onions\n",
            "rent: 780\ncar: 210\nphone: 23\n",
        ] {
            assert_eq!(find_recipe(text, 0), None, "{text}");
        }
        let numbers = "7 of 9\n".repeat(MAX_LINES_TO_UNITS);
        assert_eq!(find_recipe(&(numbers + RECIPE), 0), None);
    }
}
