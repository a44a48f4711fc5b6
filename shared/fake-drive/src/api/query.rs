//! The parser of the parameter `q` of listings.

#[cfg(test)]
mod tests;

use super::failure::Failure;
use crate::clock::parse_stamp;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
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
pub(crate) enum When {
    Created,
    Modified,
    Viewed,
    SharedWithMe,
}

/// A group of people of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum People {
    Owners,
    Readers,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Query {
    All,
    And(Box<Query>, Box<Query>),
    Or(Box<Query>, Box<Query>),
    Not(Box<Query>),
    Name(Compare, String),
    FullText(String),
    MediaType(Compare, String),
    Time(When, Compare, i64),
    Trashed(bool),
    Starred(bool),
    SharedWithMe(bool),
    Parent(String),
    /// A shortcut whose target is, or is not, this item.
    Target(Compare, String),
    Person(People, String),
}

impl Query {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        if text.trim().is_empty() {
            return Ok(Self::All);
        }
        let mut parser = tokens(text).map(|tokens| Parser { tokens, at: 0 });
        let query = parser.as_mut().and_then(Parser::expression);
        let whole = parser.is_some_and(|parser| parser.at == parser.tokens.len());
        query
            .filter(|_| whole)
            .ok_or_else(|| Failure::invalid_value("q"))
    }

    /// Returns the folders that must contain every match, if the query limits the folders.
    pub(crate) fn folders(&self) -> Option<Vec<&str>> {
        match self {
            Self::Parent(id) => Some(vec![id]),
            Self::And(one, other) => one.folders().or_else(|| other.folders()),
            Self::Or(one, other) => {
                let mut folders = one.folders()?;
                for folder in other.folders()? {
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
enum Token {
    Word(String),
    Text(String),
    Sign(String),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut letters = text.chars().peekable();
    let mut found = Vec::new();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => {}
            '\'' => found.push(Token::Text(quoted(&mut letters)?)),
            '(' | ')' => found.push(Token::Sign(letter.to_string())),
            '=' | '<' | '>' | '!' => {
                let mut sign = letter.to_string();
                sign.extend(letters.next_if_eq(&'='));
                found.push(Token::Sign(sign));
            }
            letter if letter.is_ascii_alphanumeric() => {
                let mut word = letter.to_string();
                // Some field names have several parts, such as `shortcutDetails.targetId`.
                while let Some(more) =
                    letters.next_if(|more| more.is_ascii_alphanumeric() || *more == '.')
                {
                    word.push(more);
                }
                found.push(Token::Word(word));
            }
            _ => return None,
        }
    }

    Some(found)
}

fn quoted(letters: &mut impl Iterator<Item = char>) -> Option<String> {
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
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = match self.tokens.get(self.at) {
            Some(Token::Word(token) | Token::Sign(token)) => token == word,
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    /// Parses an expression. `and` and `or` have the same precedence and associate to the left.
    fn expression(&mut self) -> Option<Query> {
        let mut left = self.unary()?;
        loop {
            if self.eat("and") {
                left = Query::And(Box::new(left), Box::new(self.unary()?));
            } else if self.eat("or") {
                left = Query::Or(Box::new(left), Box::new(self.unary()?));
            } else {
                return Some(left);
            }
        }
    }

    fn unary(&mut self) -> Option<Query> {
        if self.eat("not") {
            return Some(Query::Not(Box::new(self.unary()?)));
        }
        if self.eat("(") {
            let inner = self.expression()?;
            return self.eat(")").then_some(inner);
        }
        match self.next()? {
            Token::Text(value) => self.membership(value),
            Token::Word(field) => self.comparison(&field),
            Token::Sign(_) => None,
        }
    }

    fn membership(&mut self, value: String) -> Option<Query> {
        if !self.eat("in") {
            return None;
        }
        let Token::Word(field) = self.next()? else {
            return None;
        };
        match field.as_str() {
            "parents" => Some(Query::Parent(value)),
            "owners" => Some(Query::Person(People::Owners, value)),
            "readers" | "writers" => Some(Query::Person(People::Readers, value)),
            _ => None,
        }
    }

    fn comparison(&mut self, field: &str) -> Option<Query> {
        let compare = match self.next()? {
            Token::Word(word) if word == "contains" => Compare::Contains,
            Token::Sign(sign) => sign_of(&sign)?,
            _ => return None,
        };

        let equality = matches!(compare, Compare::Is | Compare::IsNot);
        match field {
            "name" if equality || compare == Compare::Contains => {
                Some(Query::Name(compare, self.text()?))
            }
            "fullText" if compare == Compare::Contains => Some(Query::FullText(self.text()?)),
            "mimeType" if equality || compare == Compare::Contains => {
                Some(Query::MediaType(compare, self.text()?))
            }
            "shortcutDetails.targetId" if equality => Some(Query::Target(compare, self.text()?)),
            "trashed" if equality => Some(Query::Trashed(self.boolean(compare)?)),
            "starred" if equality => Some(Query::Starred(self.boolean(compare)?)),
            "sharedWithMe" if equality => Some(Query::SharedWithMe(self.boolean(compare)?)),
            "createdTime" => self.time(When::Created, compare),
            "modifiedTime" => self.time(When::Modified, compare),
            "viewedByMeTime" => self.time(When::Viewed, compare),
            "sharedWithMeTime" => self.time(When::SharedWithMe, compare),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<String> {
        if let Token::Text(text) = self.next()? {
            Some(text)
        } else {
            None
        }
    }

    fn boolean(&mut self, compare: Compare) -> Option<bool> {
        let Token::Word(word) = self.next()? else {
            return None;
        };
        let value = word.parse::<bool>().ok()?;
        Some(value == (compare == Compare::Is))
    }

    fn time(&mut self, when: When, compare: Compare) -> Option<Query> {
        let millis = parse_stamp(&self.text()?)?;
        (compare != Compare::Contains).then_some(Query::Time(when, compare, millis))
    }
}

fn sign_of(sign: &str) -> Option<Compare> {
    Some(match sign {
        "=" => Compare::Is,
        "!=" => Compare::IsNot,
        "<" => Compare::Less,
        "<=" => Compare::LessOrEqual,
        ">" => Compare::Greater,
        ">=" => Compare::GreaterOrEqual,
        _ => return None,
    })
}
