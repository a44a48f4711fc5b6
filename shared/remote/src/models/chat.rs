//! Questions that a model answers with JSON, at any endpoint that knows OpenAI's chat protocol.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{ModelError, Models};
use crate::settings;

/// How often a question is asked again, each time after a longer pause.
const RETRIES: u32 = 2;

/// What a request asks for besides the text. Endpoints differ in what they take, and refuse the rest with 400.
#[derive(Debug, Clone, Copy)]
struct Format {
    response: Response,
    /// Whether the request sets the temperature to 0: some models take only their own.
    steady: bool,
}

#[derive(Debug, Clone, Copy)]
enum Response {
    Schema,
    Object,
    Plain,
}

/// From what helps most to what every endpoint takes.
const FORMATS: [Format; 5] = [
    Format {
        response: Response::Schema,
        steady: true,
    },
    Format {
        response: Response::Object,
        steady: true,
    },
    Format {
        response: Response::Plain,
        steady: true,
    },
    Format {
        response: Response::Schema,
        steady: false,
    },
    Format {
        response: Response::Plain,
        steady: false,
    },
];

/// The format that the endpoint has taken before, of all clones of a [`Models`]; none at first.
#[derive(Debug)]
pub(super) struct Taken(AtomicUsize);

impl Default for Taken {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl Taken {
    /// Returns the formats to try. Once one was taken, a refusal is about the question, not about the format.
    fn formats(&self) -> std::ops::Range<usize> {
        match self.0.load(Ordering::Relaxed) {
            known if known < FORMATS.len() => known..known + 1,
            _ => 0..FORMATS.len(),
        }
    }

    fn remember(&self, format: usize) {
        self.0.store(format, Ordering::Relaxed);
    }
}

/// A question. There is no way to give a model tools.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The task, as the message of the system. It has to describe the JSON too, for endpoints that take no schema.
    pub instructions: &'a str,
    /// What the task is about, as the message of the user.
    pub text: &'a str,
    /// The JSON schema of the answer, with all fields required and no others.
    pub schema: &'a Value,
    /// A name for the schema: letters, digits and underscores.
    pub name: &'a str,
}

/// Why a question has no answer. Says nothing of the question, the answer and the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The operator has not set what this needs, or not to something usable.
    #[error("no model is configured for this; missing or unusable: {}", setting.join(", "))]
    NotConfigured {
        /// The names of the settings.
        setting: Vec<&'static str>,
    },
    /// No answer in time, in none of the tries.
    #[error("the model timed out")]
    TimedOut,
    /// The endpoint could not be reached, was too busy, or broke off, in all tries.
    #[error("the model endpoint did not answer")]
    Unavailable,
    /// The endpoint takes this question in no format.
    #[error("the model endpoint refused the request with status {0}")]
    Refused(u16),
    /// No try had an answer that can be used.
    #[error("the model's answer was not usable")]
    Unusable,
}

impl AnswerError {
    /// Whether the same question may get an answer a moment later.
    fn passes(&self) -> bool {
        matches!(self, Self::TimedOut | Self::Unavailable | Self::Unusable)
    }
}

impl From<ModelError> for AnswerError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::NotConfigured { setting } => Self::NotConfigured { setting },
            ModelError::Unavailable => Self::Unavailable,
            ModelError::Refused(status) => Self::Refused(status),
            ModelError::Invalid => Self::Unusable,
        }
    }
}

impl Models {
    /// Whether questions about memories are to be asked: whether the operator has named a model for them.
    pub fn reads_memories(&self) -> bool {
        self.settings.memory_model.is_some()
    }

    /// Asks the model for memories a question, and returns what `read` makes of its answer. A try may take a minute;
    /// passing failures, and answers that `read` refuses, are tried again twice, all within the time `within`.
    ///
    /// # Errors
    /// The last failure.
    pub async fn answer<T, E>(
        &self,
        question: &Question<'_>,
        within: Duration,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, AnswerError> {
        let model = self.model(&self.settings.memory_model, settings::MEMORY_MODEL)?;
        let late = |_| Err(AnswerError::TimedOut);
        timeout(within, self.tries(model, question, &read))
            .await
            .unwrap_or_else(late)
    }

    async fn tries<T, E>(
        &self,
        model: &str,
        question: &Question<'_>,
        read: &impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, AnswerError> {
        let mut tries = 0;
        loop {
            let said = self.say(model, question).await;
            let error = match said.map(|answer| read(&answer)) {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(_)) => AnswerError::Unusable,
                Err(error) => error,
            };
            if tries == RETRIES || !error.passes() {
                return Err(error);
            }
            // Apart from each other, so that many documents that were refused at once do not come back at once.
            sleep(self.pause.mul_f32(rand::random_range(0.5..1.5)) * 4_u32.pow(tries)).await;
            tries += 1;
        }
    }

    /// Asks once, in the first format that the endpoint takes.
    async fn say(&self, model: &str, question: &Question<'_>) -> Result<String, AnswerError> {
        let mut refused = AnswerError::Unusable;
        for index in self.taken.formats() {
            let body = Bytes::from(body(model, question, FORMATS[index]).to_string());
            match self.exchange(body).await {
                Err(error @ AnswerError::Refused(400 | 422)) => refused = error,
                Err(error) => return Err(error),
                Ok(answer) => {
                    self.taken.remember(index);
                    return said(&answer).ok_or(AnswerError::Unusable);
                }
            }
        }

        Err(refused)
    }

    async fn exchange(&self, body: Bytes) -> Result<Bytes, AnswerError> {
        let call = self.call("chat/completions", "application/json", body);
        Ok(timeout(self.limit, call)
            .await
            .map_err(|_| AnswerError::TimedOut)??)
    }
}

/// The number of tokens is left alone: endpoints do not agree on the name of the setting. Time and bytes bound an answer.
fn body(model: &str, question: &Question<'_>, format: Format) -> Value {
    let mut body = json!({
        "model": model,
        "messages": [
            { "role": "system", "content": question.instructions },
            { "role": "user", "content": question.text },
        ],
    });
    if format.steady {
        body["temperature"] = json!(0);
    }
    match format.response {
        Response::Schema => {
            let schema =
                json!({ "name": question.name, "strict": true, "schema": question.schema });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": schema });
        }
        Response::Object => body["response_format"] = json!({ "type": "json_object" }),
        Response::Plain => {}
    }
    body
}

fn said(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let text = answer
        .pointer("/choices/0/message/content")
        .and_then(Value::as_str)
        .map(str::trim);
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}
