//! One operation of the interface.

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

pub(crate) const JSON: &str = "application/json";

/// Builds the schema of a type.
pub(crate) type BuildSchema = fn(&mut SchemaGenerator) -> Schema;

/// A method on a path: what it takes, what it answers, and the errors that a caller can meet.
#[derive(Clone)]
pub struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) id: String,
    /// The id of the operation that this one is an alias of.
    pub(crate) alias_of: Option<String>,
    pub(crate) group: Option<&'static str>,
    pub(crate) summary: String,
    pub(crate) description: &'static str,
    pub(crate) is_open: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<RequestBody>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) errors: Vec<(ErrorAnswer, &'static str)>,
}

/// The parameters that one line of a description declares.
#[derive(Clone)]
pub(crate) enum Parameter {
    /// A part of the path, or a header.
    Single {
        name: &'static str,
        position: &'static str,
        description: &'static str,
        schema: BuildSchema,
    },
    /// Fields of the type that the query string is read into; all of them if no names are given.
    Query {
        schema: BuildSchema,
        names: &'static [&'static str],
    },
}

#[derive(Clone)]
pub(crate) struct RequestBody {
    pub(crate) is_required: bool,
    pub(crate) media_type: &'static str,
    pub(crate) schema: BuildSchema,
    pub(crate) example: Value,
}

/// An answer that is no error.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    pub(crate) contents: Vec<Content>,
}

/// The content of an answer in one media type.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) media_type: &'static str,
    pub(crate) schema: BuildSchema,
    pub(crate) example: Value,
}

/// An error that operations answer with, as a component that they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorAnswer {
    /// The request is wrong.
    Invalid,
    /// There is no API key, or one that is not valid.
    Unauthenticated,
    /// The API key does not reach this far.
    Forbidden,
    /// What the request names does not exist.
    NotFound,
    /// The request contradicts what is stored.
    Conflict,
    /// The body is too large.
    TooLarge,
    /// The body is not a form.
    UnsupportedMedia,
    /// A limit admits no more requests for now.
    TooManyRequests,
    /// The service has a fault.
    Internal,
    /// The service does not support this.
    Unsupported,
    /// Something that the service depends on did not answer.
    Unavailable,
}

impl ErrorAnswer {
    /// Returns the name of the component.
    pub(crate) fn component(self) -> String {
        format!("{self:?}")
    }

    /// Returns the status.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::UnsupportedMedia => 415,
            Self::TooManyRequests => 429,
            Self::Internal => 500,
            Self::Unsupported => 501,
            Self::Unavailable => 503,
        }
    }
}

impl Operation {
    /// Describes a `GET`.
    pub fn get(path: &str, id: &str) -> Self {
        Self::new("get", path, id)
    }

    /// Describes a `POST`.
    pub fn post(path: &str, id: &str) -> Self {
        Self::new("post", path, id)
    }

    /// Describes a `PUT`.
    pub fn put(path: &str, id: &str) -> Self {
        Self::new("put", path, id)
    }

    /// Describes a `PATCH`.
    pub fn patch(path: &str, id: &str) -> Self {
        Self::new("patch", path, id)
    }

    /// Describes a `DELETE`.
    pub fn delete(path: &str, id: &str) -> Self {
        Self::new("delete", path, id)
    }

    /// Describes an operation that needs a key, with the errors that every such operation has.
    fn new(method: &'static str, path: &str, id: &str) -> Self {
        use ErrorAnswer::{Forbidden, Internal, TooManyRequests, Unauthenticated, Unavailable};
        let errors = [
            Unauthenticated,
            Forbidden,
            TooManyRequests,
            Internal,
            Unavailable,
        ];

        Self {
            method,
            path: path.to_owned(),
            id: id.to_owned(),
            alias_of: None,
            group: None,
            summary: String::new(),
            description: "",
            is_open: false,
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            errors: errors.map(|error| (error, "")).to_vec(),
        }
    }

    /// Sets the group, which is one of the tags of the document.
    #[must_use]
    pub fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// Sets the summary, which is one sentence.
    #[must_use]
    pub fn summary(mut self, summary: &str) -> Self {
        self.summary = summary.to_owned();
        self
    }

    /// Sets the description: what a caller needs to know beyond the summary.
    #[must_use]
    pub fn description(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Declares that the operation needs no key. It then has no errors of keys.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.is_open = true;
        self.errors.clear();
        self
    }

    /// Removes an error that every other operation has.
    #[must_use]
    pub fn without(mut self, error: ErrorAnswer) -> Self {
        self.errors.retain(|(known, _)| *known != error);
        self
    }

    /// Adds a parameter of the path.
    #[must_use]
    pub fn path_parameter<T: JsonSchema>(
        self,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        self.parameter::<T>("path", name, description)
    }

    /// Adds a header.
    #[must_use]
    pub fn header<T: JsonSchema>(self, name: &'static str, description: &'static str) -> Self {
        self.parameter::<T>("header", name, description)
    }

    fn parameter<T: JsonSchema>(
        mut self,
        position: &'static str,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        self.parameters.push(Parameter::Single {
            name,
            position,
            description,
            schema: SchemaGenerator::subschema_for::<T>,
        });
        self
    }

    /// Adds the fields of `T` as parameters of the query string.
    #[must_use]
    pub fn query<T: JsonSchema>(self) -> Self {
        self.query_fields::<T>(&[])
    }

    /// Adds these fields of `T` as parameters of the query string, in this order.
    #[must_use]
    pub fn query_fields<T: JsonSchema>(mut self, names: &'static [&'static str]) -> Self {
        self.parameters.push(Parameter::Query {
            schema: T::json_schema,
            names,
        });
        self
    }

    /// Sets a JSON body that has to be sent, with an example.
    #[must_use]
    pub fn body<T: JsonSchema>(self, example: Value) -> Self {
        self.request_body::<T>(JSON, true, example)
    }

    /// Sets a JSON body that may be left out, with an example.
    #[must_use]
    pub fn optional_body<T: JsonSchema>(self, example: Value) -> Self {
        self.request_body::<T>(JSON, false, example)
    }

    /// Sets a form as the body.
    #[must_use]
    pub fn form<T: JsonSchema>(self) -> Self {
        self.request_body::<T>("multipart/form-data", true, Value::Null)
    }

    fn request_body<T: JsonSchema>(
        mut self,
        media_type: &'static str,
        is_required: bool,
        example: Value,
    ) -> Self {
        self.body = Some(RequestBody {
            is_required,
            media_type,
            schema: SchemaGenerator::subschema_for::<T>,
            example,
        });
        self.error(ErrorAnswer::TooLarge, "")
    }

    /// Adds the answer 200 with a JSON body, and an example of it.
    #[must_use]
    pub fn answer<T: JsonSchema>(self, description: &'static str, example: Value) -> Self {
        self.answer_with::<T>(200, description, example)
    }

    /// Adds an answer with a JSON body, and an example of it.
    #[must_use]
    pub fn answer_with<T: JsonSchema>(
        self,
        status: u16,
        description: &'static str,
        example: Value,
    ) -> Self {
        let mut operation = self.empty_answer(status, description);
        if let Some(answer) = operation.answers.last_mut() {
            answer.contents.push(Content {
                media_type: JSON,
                schema: SchemaGenerator::subschema_for::<T>,
                example,
            });
        }
        operation
    }

    /// Adds another media type to the last answer.
    #[must_use]
    pub fn or_as<T: JsonSchema>(mut self, media_type: &'static str, example: Value) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.contents.push(Content {
                media_type,
                schema: SchemaGenerator::subschema_for::<T>,
                example,
            });
        }
        self
    }

    /// Adds an answer without a body.
    #[must_use]
    pub fn empty_answer(mut self, status: u16, description: &'static str) -> Self {
        self.answers.push(Answer {
            status,
            description,
            contents: Vec::new(),
        });
        self
    }

    /// Adds an error. `description` says when it happens here and what to do; if it is empty, the
    /// description of the shared component applies.
    #[must_use]
    pub fn error(mut self, error: ErrorAnswer, description: &'static str) -> Self {
        self.errors.retain(|(known, _)| *known != error);
        self.errors.push((error, description));
        self
    }

    /// Returns the same operation on an older path, as deprecated.
    #[must_use]
    pub fn alias(&self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            id: format!("{}_alias", self.id),
            alias_of: Some(self.id.clone()),
            summary: format!(
                "The same as `{} {}`.",
                self.method.to_uppercase(),
                self.path
            ),
            ..self.clone()
        }
    }

    /// Returns the name of the components of this operation. An alias shares those of the original.
    pub(crate) fn component(&self) -> String {
        let words = self.alias_of.as_ref().unwrap_or(&self.id).split('_');
        let mut name = String::new();
        for word in words {
            let mut letters = word.chars();
            name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
            name.push_str(letters.as_str());
        }
        name
    }
}
