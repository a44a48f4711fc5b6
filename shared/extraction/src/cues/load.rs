//! Loading of the words and cues of a language from its file.

use super::calendar::{CalendarWords, TimeStretch};
use super::cue::Cue;
use super::index::CueIndex;
use super::{CueMeaning, KinshipWord, LanguageRules, Rule};
use text::Language;
use text::calendar::CalendarNames;
use text::file::{
    Entry, INDENTATION, LanguageFile, LanguageFileError, LanguageSections, Line, Section,
};

/// The English words for relatives, by which topics name them.
const RELATIVES: [&str; 10] = [
    "sister", "brother", "mother", "father", "spouse", "partner", "daughter", "son", "dog", "cat",
];

/// The properties that rules may be about.
const PROPERTIES: [&str; 14] = [
    "name",
    "name to use",
    "residence",
    "employer",
    "job",
    "age",
    "birthday",
    "origin",
    "kin",
    "phone",
    "email",
    "diet",
    "allergy to",
    "deadline",
];

/// The property that the cue itself captures.
const CAPTURED_PROPERTY: &str = "property";

/// Loads the words and cues of a language from the file of its rules, and the names of its
/// calendar.
pub(super) fn load_rules(
    language: Language,
    file: LanguageFile,
) -> Result<LanguageRules, LanguageFileError> {
    let mut sections = LanguageSections::parse(file)?;

    let rules = load_rule_section(&sections.take("rules")?)?;
    let loaded = LanguageRules {
        fillers: sections.take("fillers")?.words()?,
        labels: sections.take("labels")?.words()?,
        anaphors: sections.take("anaphors")?.words()?,
        first_person: sections.take("first person")?.words()?,
        articles: sections.take("articles")?.words()?,
        answer_ends: sections.take("answer ends")?.words()?,
        negations: sections.take("negations")?.words()?,
        questions: sections.take("questions")?.words()?,
        conjunctions: sections.take("conjunctions")?.words()?,
        is_verb_last: load_verb_position(&sections.take("verb")?)?,
        kinship: load_kinship(&sections.take("kinship")?)?,
        index: CueIndex::new(rules.iter().map(|rule| &rule.cue)),
        rules,
        calendar: load_calendar(language, &mut sections)?,
    };
    sections.finish()?;

    Ok(loaded)
}

fn load_verb_position(section: &Section) -> Result<bool, LanguageFileError> {
    match section.single_line()?.text {
        "last" => Ok(true),
        "any" => Ok(false),
        _ => Err(section.error("`last` or `any` is expected".to_owned())),
    }
}

fn load_kinship(section: &Section) -> Result<Vec<KinshipWord>, LanguageFileError> {
    let mut kinship = Vec::new();
    for entry in section.entries()? {
        if !RELATIVES.contains(&entry.key) {
            let problem = format!("`{}` is not one of {}", entry.key, RELATIVES.join(", "));
            return Err(section.error_at(entry.line_number, problem));
        }
        kinship.extend(entry.words.into_iter().map(|word| KinshipWord {
            word,
            english: entry.key,
        }));
    }

    Ok(kinship)
}

/// Loads the rules: a head without indentation, and below it the cues, one a line. A line that is
/// indented twice continues the cue before it.
fn load_rule_section(section: &Section) -> Result<Vec<Rule>, LanguageFileError> {
    let mut rules = Vec::new();
    let mut head = None;
    let mut rest = section.lines();

    while let Some((line, after)) = rest.split_first() {
        if !line.text.starts_with(INDENTATION) {
            head = Some(parse_head(section, line)?);
            rest = after;
            continue;
        }

        let continuations = after.iter().take_while(|line| continues_cue(line)).count();
        let (cue_lines, after) = rest.split_at(1 + continuations);
        rest = after;

        let error = |problem| section.error_at(line.number, problem);
        let Some(head) = &head else {
            return Err(error(
                "the head of a rule must come before its cues".to_owned(),
            ));
        };

        let cue = Cue::parse(cue_lines.iter().map(|line| line.text)).map_err(error)?;
        check_captures(head, &cue).map_err(error)?;
        rules.push(Rule {
            meaning: head.meaning,
            attribute: head.attribute,
            constant: head.constant,
            cue,
        });
    }

    Ok(rules)
}

/// Checks whether a line continues the cue before it.
fn continues_cue(line: &Line) -> bool {
    line.text
        .strip_prefix(INDENTATION)
        .is_some_and(|rest| rest.starts_with(INDENTATION))
}

/// The head of a rule: `trait residence`.
struct RuleHead {
    meaning: CueMeaning,
    attribute: &'static str,
    constant: Option<&'static str>,
}

fn parse_head(section: &Section, line: &Line) -> Result<RuleHead, LanguageFileError> {
    let (meaning, rest) = line.text.split_once(' ').unwrap_or((line.text, ""));
    let (attribute, constant) = match rest.split_once('=') {
        Some((attribute, constant)) => (attribute.trim(), Some(constant.trim())),
        None => (rest.trim(), None),
    };

    let error = |problem| Err(section.error_at(line.number, problem));
    if line.text.starts_with(' ') {
        return error("a cue is indented by four spaces".to_owned());
    }
    let Some(meaning) = parse_meaning(meaning) else {
        return error(format!("`{meaning}` is not the meaning of a rule"));
    };

    let names_property = matches!(
        meaning,
        CueMeaning::Trait | CueMeaning::Property | CueMeaning::Weak | CueMeaning::Instruct
    );
    if !attribute.is_empty() && !names_property {
        return error("a rule with this meaning has no property".to_owned());
    }
    if !attribute.is_empty() && attribute != CAPTURED_PROPERTY && !PROPERTIES.contains(&attribute) {
        return error(format!("`{attribute}` is not a property"));
    }
    if constant.is_some_and(str::is_empty) {
        return error("an answer is expected after `=`".to_owned());
    }

    Ok(RuleHead {
        meaning,
        attribute,
        constant,
    })
}

fn parse_meaning(name: &str) -> Option<CueMeaning> {
    Some(match name {
        "noise" => CueMeaning::Noise,
        "instruct" => CueMeaning::Instruct,
        "trait" => CueMeaning::Trait,
        "like" => CueMeaning::Like,
        "dislike" => CueMeaning::Dislike,
        "favourite" => CueMeaning::Favourite,
        "prefer" => CueMeaning::Prefer,
        "opinion" => CueMeaning::Opinion,
        "decide" => CueMeaning::Decide,
        "plan" => CueMeaning::Plan,
        "dated" => CueMeaning::Dated,
        "happened" => CueMeaning::Happened,
        "property" => CueMeaning::Property,
        "state" => CueMeaning::State,
        "weak" => CueMeaning::Weak,
        _ => return None,
    })
}

/// Checks that a cue captures what its rule needs.
fn check_captures(head: &RuleHead, cue: &Cue) -> Result<(), String> {
    let needs_answer = !head.attribute.is_empty() && head.constant.is_none();
    if needs_answer && !cue.captures_answer() {
        return Err("the rule needs an answer: `{v}`".to_owned());
    }
    if head.attribute == "kin" && !cue.captures_kinship() {
        return Err("the rule needs a relative: `{k}`".to_owned());
    }
    if head.attribute == CAPTURED_PROPERTY && !cue.captures_property() {
        return Err("the rule needs a property: `{a}`".to_owned());
    }

    Ok(())
}

fn load_calendar(
    language: Language,
    sections: &mut LanguageSections,
) -> Result<CalendarWords, LanguageFileError> {
    Ok(CalendarWords {
        is_day_first: load_date_order(&sections.take("date order")?)?,
        names: CalendarNames::of(language)?,
        next: sections.take("next")?.words()?,
        last: sections.take("last")?.words()?,
        before_repeated_weekday: sections.take("before a repeated weekday")?.words()?,
        before_day_of_month: sections.take("before a day of the month")?.words()?,
        after_day_of_month: sections.take("after a day of the month")?.words()?,
        after_other_numbers: sections.take("after other numbers")?.words()?,
        stretches: load_stretches(&sections.take("stretches")?)?,
        before_count_ahead: sections.take("before a count ahead")?.words()?,
        after_count_ahead: sections.take("after a count ahead")?.words()?,
        before_count_ago: sections.take("before a count ago")?.words()?,
        after_count_ago: sections.take("after a count ago")?.words()?,
    })
}

fn load_date_order(section: &Section) -> Result<bool, LanguageFileError> {
    match section.single_line()?.text {
        "day month" => Ok(true),
        "month day" => Ok(false),
        _ => Err(section.error("`day month` or `month day` is expected".to_owned())),
    }
}

fn load_stretches(
    section: &Section,
) -> Result<Vec<(Vec<&'static str>, TimeStretch)>, LanguageFileError> {
    let mut stretches = Vec::new();
    for Entry {
        line_number,
        key,
        words,
    } in section.entries()?
    {
        let Some(stretch) = parse_stretch(key) else {
            let problem = format!("`{key}` is not a stretch such as `week end` or `month +1`");
            return Err(section.error_at(line_number, problem));
        };
        stretches.push((words, stretch));
    }

    Ok(stretches)
}

fn parse_stretch(key: &str) -> Option<TimeStretch> {
    let (unit, place) = key.split_once(' ')?;
    Some(match (unit, place) {
        ("week", "end") => TimeStretch::WeekEnd,
        ("month", "end") => TimeStretch::MonthEnd,
        ("quarter", "end") => TimeStretch::QuarterEnd,
        ("year", "end") => TimeStretch::YearEnd,
        ("week", count) => TimeStretch::Week(count.parse().ok()?),
        ("month", count) => TimeStretch::Month(count.parse().ok()?),
        ("year", count) => TimeStretch::Year(count.parse().ok()?),
        _ => return None,
    })
}
