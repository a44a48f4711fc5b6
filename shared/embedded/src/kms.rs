//! KMS with one key: `Encrypt` and `Decrypt` by AES-256-GCM. The key is random, is created at its
//! first use and is kept in the data folder. The encryption context is the associated data.

use std::collections::BTreeMap;
use std::fs;

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::folder::{Folder, KMS_KEY};
use crate::wire;

/// The prefix of `x-amz-target` for this service.
pub(crate) const TARGET: &str = "TrentService.";

/// The content type of the AWS JSON 1.1 protocol.
const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.1");
/// The id of the only key.
const KEY_ID: &str = "local";
/// The ARN of the key. Answers use it, and requests may use it too.
const KEY_ARN: &str = "arn:aws:kms:us-east-1:000000000000:key/local";
/// The only algorithm.
const ALGORITHM: &str = "SYMMETRIC_DEFAULT";
/// The most bytes of a plaintext.
const MAX_PLAINTEXT: usize = 4096;
/// The first byte of every ciphertext, which identifies the layout of the rest: nonce, then
/// ciphertext and tag.
const LAYOUT: u8 = 1;
const KEY_LEN: usize = 32;
const NONCE_LEN: usize = 12;

/// The KMS of one folder.
pub(crate) struct Kms {
    folder: Folder,
}

/// An error of the service: its code, and a message that may be empty.
type Refusal = (&'static str, String);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Encrypt {
    key_id: String,
    plaintext: String,
    #[serde(default)]
    encryption_context: BTreeMap<String, String>,
    encryption_algorithm: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Decrypt {
    key_id: Option<String>,
    ciphertext_blob: String,
    #[serde(default)]
    encryption_context: BTreeMap<String, String>,
    encryption_algorithm: Option<String>,
}

impl Kms {
    /// Creates the service whose key is in `folder`.
    pub(crate) fn new(folder: Folder) -> Self {
        Self { folder }
    }

    /// Answers one request.
    pub(crate) fn call(&self, operation: &str, body: &[u8]) -> Response<Bytes> {
        let outcome = match operation {
            "Encrypt" => parse(body).and_then(|request| self.encrypt(&request)),
            "Decrypt" => parse(body).and_then(|request| self.decrypt(&request)),
            _ => Err((
                "UnsupportedOperationException",
                format!("The embedded KMS has no {operation}"),
            )),
        };

        let (status, answer) = match outcome {
            Ok(answer) => (StatusCode::OK, answer),
            Err((code, message)) => {
                let internal = code == "KMSInternalException";
                let status = if internal {
                    StatusCode::INTERNAL_SERVER_ERROR
                } else {
                    StatusCode::BAD_REQUEST
                };
                (status, json!({"__type": code, "message": message}))
            }
        };

        let mut response = wire::json(status, answer.to_string());
        response.headers_mut().insert(CONTENT_TYPE, JSON);

        response
    }

    fn encrypt(&self, request: &Encrypt) -> Result<Value, Refusal> {
        check_key(&request.key_id)?;
        check_algorithm(request.encryption_algorithm.as_deref())?;
        let plaintext = decode(&request.plaintext)?;
        if !(1..=MAX_PLAINTEXT).contains(&plaintext.len()) {
            return Err(invalid(format!(
                "Plaintext must have 1 to {MAX_PLAINTEXT} bytes"
            )));
        }

        let nonce: [u8; NONCE_LEN] = rand::random();
        let context = associated(&request.encryption_context);
        let payload = Payload {
            msg: &plaintext,
            aad: &context,
        };

        let sealed = self.cipher()?.encrypt(&nonce.into(), payload);
        let sealed = sealed.map_err(|_| internal("cannot encrypt"))?;
        let blob = [&[LAYOUT], nonce.as_slice(), &sealed].concat();

        Ok(
            json!({"CiphertextBlob": BASE64.encode(blob), "KeyId": KEY_ARN, "EncryptionAlgorithm": ALGORITHM}),
        )
    }

    fn decrypt(&self, request: &Decrypt) -> Result<Value, Refusal> {
        request.key_id.as_deref().map_or(Ok(()), check_key)?;
        check_algorithm(request.encryption_algorithm.as_deref())?;
        let refused = || ("InvalidCiphertextException", String::new());
        let blob = decode(&request.ciphertext_blob)?;
        let rest = blob.strip_prefix(&[LAYOUT]).ok_or_else(refused)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or_else(refused)?;
        let context = associated(&request.encryption_context);
        let payload = Payload {
            msg: sealed,
            aad: &context,
        };

        let plaintext = self
            .cipher()?
            .decrypt(&(*nonce).into(), payload)
            .map_err(|_| refused())?;
        Ok(
            json!({"Plaintext": BASE64.encode(plaintext), "KeyId": KEY_ARN, "EncryptionAlgorithm": ALGORITHM}),
        )
    }

    fn cipher(&self) -> Result<Aes256Gcm, Refusal> {
        let key = key_in(&self.folder).map_err(|error| {
            tracing::error!(%error, "cannot use {KMS_KEY}: {error}");
            internal("the key file cannot be used")
        })?;
        Ok(Aes256Gcm::new(&key.into()))
    }
}

fn parse<Q: DeserializeOwned>(body: &[u8]) -> Result<Q, Refusal> {
    // The message of the parser may quote a value, so it is not passed on.
    serde_json::from_slice(body).map_err(|_| invalid("The request cannot be read".into()))
}

fn decode(base64: &str) -> Result<Vec<u8>, Refusal> {
    BASE64
        .decode(base64)
        .map_err(|_| invalid("A blob is not base64".into()))
}

fn check_key(id: &str) -> Result<(), Refusal> {
    if id == KEY_ID || id == KEY_ARN {
        return Ok(());
    }
    Err(("NotFoundException", format!("Key '{id}' does not exist")))
}

fn check_algorithm(name: Option<&str>) -> Result<(), Refusal> {
    match name {
        None | Some(ALGORITHM) => Ok(()),
        Some(other) => Err((
            "InvalidKeyUsageException",
            format!("{KEY_ARN} does not support {other}"),
        )),
    }
}

fn invalid(message: String) -> Refusal {
    ("ValidationException", message)
}

fn internal(message: &str) -> Refusal {
    ("KMSInternalException", message.to_owned())
}

/// Encodes the encryption context as bytes: each text after its length, in the order of the names.
fn associated(context: &BTreeMap<String, String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in context.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend((text.len() as u64).to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// Returns the key in the folder, or creates it if there never was one. A file with any other
/// content is an error: overwriting a key would lose everything that it sealed.
fn key_in(folder: &Folder) -> std::io::Result<[u8; KEY_LEN]> {
    let key = match fs::read(folder.file(KMS_KEY)) {
        Ok(key) if !key.is_empty() => key,
        _ => folder
            .lock()?
            .key(KMS_KEY, || rand::random::<[u8; KEY_LEN]>().to_vec())?,
    };
    key.try_into()
        .map_err(|_| std::io::Error::other("a key has 32 bytes"))
}
