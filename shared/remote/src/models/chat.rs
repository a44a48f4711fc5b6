//! Questions that a model answers with JSON, at any endpoint that supports OpenAI's chat protocol.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{MAX_RESPONSE_BYTES, ModelClient, ModelError, completion_text};
use crate::settings;

/// The number of repetitions of a question or a batch, each after a longer pause.
pub(super) const RETRIES: u32 = 2;

/// The options of a request besides the text. Endpoints differ in the options that they accept, and
/// refuse the others with 400.
#[derive(Debug, Clone, Copy)]
struct RequestFormat {
    response: ResponseFormat,
    /// Sets the temperature to 0. Some models accept only their own temperature.
    is_deterministic: bool,
}

#[derive(Debug, Clone, Copy)]
enum ResponseFormat {
    Schema,
    Object,
    Plain,
}

/// The formats in the order of attempts, from the most helpful to the one that every endpoint
/// accepts.
const FORMATS: [RequestFormat; 5] = [
    RequestFormat {
        response: ResponseFormat::Schema,
        is_deterministic: true,
    },
    RequestFormat {
        response: ResponseFormat::Object,
        is_deterministic: true,
    },
    RequestFormat {
        response: ResponseFormat::Plain,
        is_deterministic: true,
    },
    RequestFormat {
        response: ResponseFormat::Schema,
        is_deterministic: false,
    },
    RequestFormat {
        response: ResponseFormat::Plain,
        is_deterministic: false,
    },
];

/// The number of the format that the endpoint has accepted before, shared by all clones of a client.
/// Initially there is none.
#[derive(Debug)]
pub(super) struct AcceptedFormat(AtomicUsize);

impl Default for AcceptedFormat {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl AcceptedFormat {
    /// Returns the formats to try, of this number. Once a format has been accepted, a refusal is about the
    /// question, not about the format.
    pub(super) fn candidate_formats(&self, count: usize) -> std::ops::Range<usize> {
        match self.0.load(Ordering::Relaxed) {
            accepted if accepted < count => accepted..accepted + 1,
            _ => 0..count,
        }
    }

    pub(super) fn remember_format(&self, format: usize) {
        self.0.store(format, Ordering::Relaxed);
    }
}

/// A question to a model. A model cannot be given tools.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The task, sent as the system message. It has to describe the JSON as well, for endpoints
    /// that accept no schema.
    pub instructions: &'a str,
    /// The text that the task is about, sent as the user message.
    pub text: &'a str,
    /// The JSON schema of the answer, with all fields required and no others allowed.
    pub schema: &'a Value,
    /// A name for the schema: letters, digits and underscores.
    pub name: &'a str,
}

/// The reason why a question has no answer. It reveals nothing of the question, the answer or the
/// key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// A setting that the question needs is missing or unusable.
    #[error("no model is configured for this; missing or unusable: {}", settings.join(", "))]
    NotConfigured {
        /// The names of the settings.
        settings: Vec<&'static str>,
    },
    /// No attempt was answered in time.
    #[error("the model timed out")]
    TimedOut,
    /// The endpoint could not be reached, was too busy, or broke off in every attempt.
    #[error("the model endpoint did not answer")]
    Unavailable,
    /// The endpoint accepts this question in no format.
    #[error("the model endpoint refused the request with status {0}")]
    Refused(u16),
    /// No attempt returned a usable answer.
    #[error("the model's answer was not usable")]
    Unusable,
}

impl AnswerError {
    /// Checks whether the same question may get an answer a moment later.
    fn is_temporary(&self) -> bool {
        matches!(self, Self::TimedOut | Self::Unavailable | Self::Unusable)
    }
}

impl From<ModelError> for AnswerError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::NotConfigured { settings } => Self::NotConfigured { settings },
            ModelError::Unavailable => Self::Unavailable,
            ModelError::Refused(status) => Self::Refused(status),
            ModelError::Invalid => Self::Unusable,
        }
    }
}

impl ModelClient {
    /// Checks whether the operator has named a model for questions about memories.
    pub fn reads_memories(&self) -> bool {
        self.settings.memory_model.is_some()
    }

    /// Asks the model for memories a question, and parses its answer with `parse_answer`. An
    /// attempt may take a minute. Temporary failures, and answers that `parse_answer` refuses, are
    /// repeated twice, all within the time `time_limit`.
    ///
    /// # Errors
    /// The last failure.
    pub async fn ask_question<T, E>(
        &self,
        question: &Question<'_>,
        time_limit: Duration,
        parse_answer: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, AnswerError> {
        let model = self.require_model(&self.settings.memory_model, settings::MEMORY_MODEL)?;
        let answer = self.ask_with_retries(model, question, &parse_answer);
        match timeout(time_limit, answer).await {
            Ok(result) => result,
            Err(_) => Err(AnswerError::TimedOut),
        }
    }

    async fn ask_with_retries<T, E>(
        &self,
        model: &str,
        question: &Question<'_>,
        parse_answer: &impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, AnswerError> {
        let mut attempts = 0;
        loop {
            let error = match self.ask_once(model, question).await {
                Ok(answer) => match parse_answer(&answer) {
                    Ok(value) => return Ok(value),
                    Err(_) => AnswerError::Unusable,
                },
                Err(error) => error,
            };

            if attempts == RETRIES || !error.is_temporary() {
                return Err(error);
            }
            self.pause_before_retry(attempts).await;
            attempts += 1;
        }
    }

    /// Waits before another attempt, four times as long after each.
    pub(super) async fn pause_before_retry(&self, attempts: u32) {
        // A random factor keeps documents that were refused together from returning together.
        sleep(self.retry_pause.mul_f32(rand::random_range(0.5..1.5)) * 4_u32.pow(attempts)).await;
    }

    /// Asks once, in the first format that the endpoint accepts.
    async fn ask_once(&self, model: &str, question: &Question<'_>) -> Result<String, AnswerError> {
        let mut last_refusal = AnswerError::Unusable;
        for index in self.accepted_format.candidate_formats(FORMATS.len()) {
            let body = Bytes::from(build_body(model, question, FORMATS[index]).to_string());
            match self.exchange_chat(body).await {
                Err(error @ AnswerError::Refused(400 | 422)) => last_refusal = error,
                Err(error) => return Err(error),
                Ok(answer) => {
                    self.accepted_format.remember_format(index);
                    return message_text(&answer).ok_or(AnswerError::Unusable);
                }
            }
        }

        Err(last_refusal)
    }

    async fn exchange_chat(&self, body: Bytes) -> Result<Bytes, AnswerError> {
        let call = self.call_endpoint(
            "chat/completions",
            "application/json",
            body,
            MAX_RESPONSE_BYTES,
        );
        match timeout(self.call_timeout, call).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(AnswerError::TimedOut),
        }
    }
}

/// Returns the body of a request. It does not limit the number of tokens, because endpoints
/// disagree on the name of that setting. Time and bytes limit the answer instead.
fn build_body(model: &str, question: &Question<'_>, format: RequestFormat) -> Value {
    let mut body = json!({
        "model": model,
        "messages": [
            { "role": "system", "content": question.instructions },
            { "role": "user", "content": question.text },
        ],
    });

    if format.is_deterministic {
        body["temperature"] = json!(0);
    }

    match format.response {
        ResponseFormat::Schema => {
            let schema =
                json!({ "name": question.name, "strict": true, "schema": question.schema });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": schema });
        }
        ResponseFormat::Object => body["response_format"] = json!({ "type": "json_object" }),
        ResponseFormat::Plain => {}
    }
    body
}

fn message_text(response: &[u8]) -> Option<String> {
    let response: Value = serde_json::from_slice(response).ok()?;
    Some(completion_text(&response)?.to_owned())
}
