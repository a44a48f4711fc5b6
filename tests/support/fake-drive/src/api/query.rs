//! The parser of the parameter `q` of listings.

#[cfg(test)]
mod tests;

use super::failure::DriveApiError;
use crate::clock::parse_timestamp;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryComparison {
    Is,
    IsNot,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// A time of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeField {
    Created,
    Modified,
    Viewed,
    SharedWithMe,
}

/// A group of people of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeopleField {
    Owners,
    Readers,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryCondition {
    All,
    And(Box<QueryCondition>, Box<QueryCondition>),
    Or(Box<QueryCondition>, Box<QueryCondition>),
    Not(Box<QueryCondition>),
    Name(QueryComparison, String),
    FullText(String),
    MediaType(QueryComparison, String),
    Time(TimeField, QueryComparison, i64),
    Trashed(bool),
    Starred(bool),
    SharedWithMe(bool),
    Parent(String),
    /// A shortcut whose target is, or is not, this item.
    Target(QueryComparison, String),
    Person(PeopleField, String),
}

impl QueryCondition {
    pub(crate) fn parse(text: &str) -> Result<Self, DriveApiError> {
        if text.trim().is_empty() {
            return Ok(Self::All);
        }
        let mut parser = tokenize(text).map(|tokens| Parser { tokens, at: 0 });
        let query = parser.as_mut().and_then(Parser::parse_expression);
        let whole = parser.is_some_and(|parser| parser.at == parser.tokens.len());
        query
            .filter(|_| whole)
            .ok_or_else(|| DriveApiError::invalid_value("q"))
    }

    /// Returns the folders that must contain every match, if the query limits the folders.
    pub(crate) fn required_folders(&self) -> Option<Vec<&str>> {
        match self {
            Self::Parent(id) => Some(vec![id]),
            Self::And(one, other) => one.required_folders().or_else(|| other.required_folders()),
            Self::Or(one, other) => {
                let mut folders = one.required_folders()?;
                for folder in other.required_folders()? {
                    if !folders.contains(&folder) {
                        folders.push(folder);
                    }
                }
                Some(folders)
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum QueryToken {
    Word(String),
    Text(String),
    Sign(String),
}

fn tokenize(text: &str) -> Option<Vec<QueryToken>> {
    let mut letters = text.chars().peekable();
    let mut found = Vec::new();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => {}
            '\'' => found.push(QueryToken::Text(read_quoted(&mut letters)?)),
            '(' | ')' => found.push(QueryToken::Sign(letter.to_string())),
            '=' | '<' | '>' | '!' => {
                let mut sign = letter.to_string();
                sign.extend(letters.next_if_eq(&'='));
                found.push(QueryToken::Sign(sign));
            }
            letter if letter.is_ascii_alphanumeric() => {
                let mut word = letter.to_string();
                // Some field names have several parts, such as `shortcutDetails.targetId`.
                while let Some(more) =
                    letters.next_if(|more| more.is_ascii_alphanumeric() || *more == '.')
                {
                    word.push(more);
                }
                found.push(QueryToken::Word(word));
            }
            _ => return None,
        }
    }

    Some(found)
}

fn read_quoted(letters: &mut impl Iterator<Item = char>) -> Option<String> {
    let mut text = String::new();
    loop {
        match letters.next()? {
            '\'' => return Some(text),
            '\\' => match letters.next()? {
                escaped @ ('\'' | '\\') => text.push(escaped),
                _ => return None,
            },
            letter => text.push(letter),
        }
    }
}

struct Parser {
    tokens: Vec<QueryToken>,
    at: usize,
}

impl Parser {
    fn next(&mut self) -> Option<QueryToken> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn consume(&mut self, word: &str) -> bool {
        let found = match self.tokens.get(self.at) {
            Some(QueryToken::Word(token) | QueryToken::Sign(token)) => token == word,
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    /// Parses an expression. `and` and `or` have the same precedence and associate to the left.
    fn parse_expression(&mut self) -> Option<QueryCondition> {
        let mut left = self.parse_unary()?;
        loop {
            if self.consume("and") {
                left = QueryCondition::And(Box::new(left), Box::new(self.parse_unary()?));
            } else if self.consume("or") {
                left = QueryCondition::Or(Box::new(left), Box::new(self.parse_unary()?));
            } else {
                return Some(left);
            }
        }
    }

    fn parse_unary(&mut self) -> Option<QueryCondition> {
        if self.consume("not") {
            return Some(QueryCondition::Not(Box::new(self.parse_unary()?)));
        }
        if self.consume("(") {
            let inner = self.parse_expression()?;
            return self.consume(")").then_some(inner);
        }
        match self.next()? {
            QueryToken::Text(value) => self.parse_membership(value),
            QueryToken::Word(field) => self.parse_comparison(&field),
            QueryToken::Sign(_) => None,
        }
    }

    fn parse_membership(&mut self, value: String) -> Option<QueryCondition> {
        if !self.consume("in") {
            return None;
        }
        let QueryToken::Word(field) = self.next()? else {
            return None;
        };
        match field.as_str() {
            "parents" => Some(QueryCondition::Parent(value)),
            "owners" => Some(QueryCondition::Person(PeopleField::Owners, value)),
            "readers" | "writers" => Some(QueryCondition::Person(PeopleField::Readers, value)),
            _ => None,
        }
    }

    fn parse_comparison(&mut self, field: &str) -> Option<QueryCondition> {
        let compare = match self.next()? {
            QueryToken::Word(word) if word == "contains" => QueryComparison::Contains,
            QueryToken::Sign(sign) => sign_of(&sign)?,
            _ => return None,
        };

        let equality = matches!(compare, QueryComparison::Is | QueryComparison::IsNot);
        match field {
            "name" if equality || compare == QueryComparison::Contains => {
                Some(QueryCondition::Name(compare, self.parse_text()?))
            }
            "fullText" if compare == QueryComparison::Contains => {
                Some(QueryCondition::FullText(self.parse_text()?))
            }
            "mimeType" if equality || compare == QueryComparison::Contains => {
                Some(QueryCondition::MediaType(compare, self.parse_text()?))
            }
            "shortcutDetails.targetId" if equality => {
                Some(QueryCondition::Target(compare, self.parse_text()?))
            }
            "trashed" if equality => Some(QueryCondition::Trashed(self.parse_boolean(compare)?)),
            "starred" if equality => Some(QueryCondition::Starred(self.parse_boolean(compare)?)),
            "sharedWithMe" if equality => {
                Some(QueryCondition::SharedWithMe(self.parse_boolean(compare)?))
            }
            "createdTime" => self.parse_time(TimeField::Created, compare),
            "modifiedTime" => self.parse_time(TimeField::Modified, compare),
            "viewedByMeTime" => self.parse_time(TimeField::Viewed, compare),
            "sharedWithMeTime" => self.parse_time(TimeField::SharedWithMe, compare),
            _ => None,
        }
    }

    fn parse_text(&mut self) -> Option<String> {
        if let QueryToken::Text(text) = self.next()? {
            Some(text)
        } else {
            None
        }
    }

    fn parse_boolean(&mut self, compare: QueryComparison) -> Option<bool> {
        let QueryToken::Word(word) = self.next()? else {
            return None;
        };
        let value = word.parse::<bool>().ok()?;
        Some(value == (compare == QueryComparison::Is))
    }

    fn parse_time(&mut self, when: TimeField, compare: QueryComparison) -> Option<QueryCondition> {
        let millis = parse_timestamp(&self.parse_text()?)?;
        (compare != QueryComparison::Contains)
            .then_some(QueryCondition::Time(when, compare, millis))
    }
}

fn sign_of(sign: &str) -> Option<QueryComparison> {
    Some(match sign {
        "=" => QueryComparison::Is,
        "!=" => QueryComparison::IsNot,
        "<" => QueryComparison::Less,
        "<=" => QueryComparison::LessOrEqual,
        ">" => QueryComparison::Greater,
        ">=" => QueryComparison::GreaterOrEqual,
        _ => return None,
    })
}
