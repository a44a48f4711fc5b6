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
        let mut parser = tokenize(text).map(|tokens| Parser {
            tokens,
            position: 0,
        });
        let query = parser.as_mut().and_then(Parser::parse_expression);
        let is_complete = parser.is_some_and(|parser| parser.position == parser.tokens.len());
        query
            .filter(|_| is_complete)
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
    Symbol(String),
}

fn tokenize(text: &str) -> Option<Vec<QueryToken>> {
    let mut characters = text.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' => {}
            '\'' => tokens.push(QueryToken::Text(read_quoted(&mut characters)?)),
            '(' | ')' => tokens.push(QueryToken::Symbol(character.to_string())),
            '=' | '<' | '>' | '!' => {
                let mut symbol = character.to_string();
                symbol.extend(characters.next_if_eq(&'='));
                tokens.push(QueryToken::Symbol(symbol));
            }
            character if character.is_ascii_alphanumeric() => {
                let mut word = character.to_string();
                // Some field names have several parts, such as `shortcutDetails.targetId`.
                while let Some(next) =
                    characters.next_if(|next| next.is_ascii_alphanumeric() || *next == '.')
                {
                    word.push(next);
                }
                tokens.push(QueryToken::Word(word));
            }
            _ => return None,
        }
    }

    Some(tokens)
}

fn read_quoted(characters: &mut impl Iterator<Item = char>) -> Option<String> {
    let mut text = String::new();
    loop {
        match characters.next()? {
            '\'' => return Some(text),
            '\\' => match characters.next()? {
                escaped @ ('\'' | '\\') => text.push(escaped),
                _ => return None,
            },
            character => text.push(character),
        }
    }
}

struct Parser {
    tokens: Vec<QueryToken>,
    position: usize,
}

impl Parser {
    fn next(&mut self) -> Option<QueryToken> {
        let token = self.tokens.get(self.position).cloned();
        self.position += 1;
        token
    }

    fn consume(&mut self, word: &str) -> bool {
        let is_match = match self.tokens.get(self.position) {
            Some(QueryToken::Word(token) | QueryToken::Symbol(token)) => token == word,
            _ => false,
        };
        self.position += usize::from(is_match);
        is_match
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
            QueryToken::Symbol(_) => None,
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
        let comparison = match self.next()? {
            QueryToken::Word(word) if word == "contains" => QueryComparison::Contains,
            QueryToken::Symbol(symbol) => sign_of(&symbol)?,
            _ => return None,
        };

        let is_equality = matches!(comparison, QueryComparison::Is | QueryComparison::IsNot);
        match field {
            "name" if is_equality || comparison == QueryComparison::Contains => {
                Some(QueryCondition::Name(comparison, self.parse_text()?))
            }
            "fullText" if comparison == QueryComparison::Contains => {
                Some(QueryCondition::FullText(self.parse_text()?))
            }
            "mimeType" if is_equality || comparison == QueryComparison::Contains => {
                Some(QueryCondition::MediaType(comparison, self.parse_text()?))
            }
            "shortcutDetails.targetId" if is_equality => {
                Some(QueryCondition::Target(comparison, self.parse_text()?))
            }
            "trashed" if is_equality => {
                Some(QueryCondition::Trashed(self.parse_boolean(comparison)?))
            }
            "starred" if is_equality => {
                Some(QueryCondition::Starred(self.parse_boolean(comparison)?))
            }
            "sharedWithMe" if is_equality => Some(QueryCondition::SharedWithMe(
                self.parse_boolean(comparison)?,
            )),
            "createdTime" => self.parse_time(TimeField::Created, comparison),
            "modifiedTime" => self.parse_time(TimeField::Modified, comparison),
            "viewedByMeTime" => self.parse_time(TimeField::Viewed, comparison),
            "sharedWithMeTime" => self.parse_time(TimeField::SharedWithMe, comparison),
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

    fn parse_boolean(&mut self, comparison: QueryComparison) -> Option<bool> {
        let QueryToken::Word(word) = self.next()? else {
            return None;
        };
        let value = word.parse::<bool>().ok()?;
        Some(value == (comparison == QueryComparison::Is))
    }

    fn parse_time(
        &mut self,
        time_field: TimeField,
        comparison: QueryComparison,
    ) -> Option<QueryCondition> {
        let millis = parse_timestamp(&self.parse_text()?)?;
        (comparison != QueryComparison::Contains)
            .then_some(QueryCondition::Time(time_field, comparison, millis))
    }
}

fn sign_of(symbol: &str) -> Option<QueryComparison> {
    Some(match symbol {
        "=" => QueryComparison::Is,
        "!=" => QueryComparison::IsNot,
        "<" => QueryComparison::Less,
        "<=" => QueryComparison::LessOrEqual,
        ">" => QueryComparison::Greater,
        ">=" => QueryComparison::GreaterOrEqual,
        _ => return None,
    })
}
