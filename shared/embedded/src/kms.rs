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

use crate::folder::{DataFolder, KMS_KEY};
use crate::wire;

/// The prefix of `x-amz-target` for this service.
pub(crate) const TARGET_PREFIX: &str = "TrentService.";

/// The content type of the AWS JSON 1.1 protocol.
const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.1");
/// The id of the only key.
const KEY_ID: &str = "local";
/// The ARN of the key. Answers use it, and requests may use it too.
const KEY_ARN: &str = "arn:aws:kms:us-east-1:000000000000:key/local";
/// The only algorithm.
const ALGORITHM: &str = "SYMMETRIC_DEFAULT";
/// The most bytes of a plaintext.
const MAX_PLAINTEXT_BYTES: usize = 4096;
/// The first byte of every ciphertext, which identifies the layout of the rest: nonce, then
/// ciphertext and tag.
const LAYOUT_VERSION: u8 = 1;
const KEY_LEN: usize = 32;
const NONCE_LEN: usize = 12;

/// The KMS of one folder.
pub(crate) struct Kms {
    folder: DataFolder,
}

/// An error of the service: its code, and a message that may be empty.
type KmsError = (&'static str, String);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct EncryptRequest {
    key_id: String,
    plaintext: String,
    #[serde(default)]
    encryption_context: BTreeMap<String, String>,
    encryption_algorithm: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct DecryptRequest {
    key_id: Option<String>,
    ciphertext_blob: String,
    #[serde(default)]
    encryption_context: BTreeMap<String, String>,
    encryption_algorithm: Option<String>,
}

impl Kms {
    /// Creates the service whose key is in `folder`.
    pub(crate) fn new(folder: DataFolder) -> Self {
        Self { folder }
    }

    /// Answers one request.
    pub(crate) fn handle_request(&self, operation: &str, body: &[u8]) -> Response<Bytes> {
        let outcome = match operation {
            "Encrypt" => self.encrypt_plaintext(body),
            "Decrypt" => self.decrypt_ciphertext(body),
            _ => Err((
                "UnsupportedOperationException",
                format!("The embedded KMS has no {operation}"),
            )),
        };

        let (status, json) = match outcome {
            Ok(json) => (StatusCode::OK, json),
            Err((code, message)) => {
                let is_internal = code == "KMSInternalException";
                let status = if is_internal {
                    StatusCode::INTERNAL_SERVER_ERROR
                } else {
                    StatusCode::BAD_REQUEST
                };
                (status, json!({"__type": code, "message": message}))
            }
        };

        let mut response = wire::json_response(status, json.to_string());
        response.headers_mut().insert(CONTENT_TYPE, JSON);

        response
    }

    fn encrypt_plaintext(&self, body: &[u8]) -> Result<Value, KmsError> {
        let request: EncryptRequest = parse_request(body)?;
        check_key(&request.key_id)?;
        check_algorithm(request.encryption_algorithm.as_deref())?;
        let plaintext = decode_base64(&request.plaintext)?;
        if !(1..=MAX_PLAINTEXT_BYTES).contains(&plaintext.len()) {
            return Err(validation_error(format!(
                "Plaintext must have 1 to {MAX_PLAINTEXT_BYTES} bytes"
            )));
        }

        let nonce: [u8; NONCE_LEN] = rand::random();
        let context = context_bytes(&request.encryption_context);
        let payload = Payload {
            msg: &plaintext,
            aad: &context,
        };

        let Ok(sealed) = self.load_cipher()?.encrypt(&nonce.into(), payload) else {
            return Err(internal_error("cannot encrypt"));
        };
        let blob = [&[LAYOUT_VERSION], nonce.as_slice(), &sealed].concat();

        Ok(
            json!({"CiphertextBlob": BASE64.encode(blob), "KeyId": KEY_ARN, "EncryptionAlgorithm": ALGORITHM}),
        )
    }

    fn decrypt_ciphertext(&self, body: &[u8]) -> Result<Value, KmsError> {
        let request: DecryptRequest = parse_request(body)?;
        if let Some(key_id) = &request.key_id {
            check_key(key_id)?;
        }
        check_algorithm(request.encryption_algorithm.as_deref())?;

        let invalid_ciphertext = || ("InvalidCiphertextException", String::new());
        let blob = decode_base64(&request.ciphertext_blob)?;
        let Some((nonce, sealed)) = split_blob(&blob) else {
            return Err(invalid_ciphertext());
        };
        let context = context_bytes(&request.encryption_context);
        let payload = Payload {
            msg: sealed,
            aad: &context,
        };

        let Ok(plaintext) = self.load_cipher()?.decrypt(&(*nonce).into(), payload) else {
            return Err(invalid_ciphertext());
        };
        Ok(
            json!({"Plaintext": BASE64.encode(plaintext), "KeyId": KEY_ARN, "EncryptionAlgorithm": ALGORITHM}),
        )
    }

    fn load_cipher(&self) -> Result<Aes256Gcm, KmsError> {
        match load_or_create_key(&self.folder) {
            Ok(key) => Ok(Aes256Gcm::new(&key.into())),
            Err(error) => {
                tracing::error!(%error, "cannot use {KMS_KEY}: {error}");
                Err(internal_error("the key file cannot be used"))
            }
        }
    }
}

/// Splits a ciphertext into its nonce and the rest, or returns `None` if it has another layout.
fn split_blob(blob: &[u8]) -> Option<(&[u8; NONCE_LEN], &[u8])> {
    blob.strip_prefix(&[LAYOUT_VERSION])?.split_first_chunk()
}

fn parse_request<Q: DeserializeOwned>(body: &[u8]) -> Result<Q, KmsError> {
    // The message of the parser may quote a value, so it is not passed on.
    serde_json::from_slice(body).map_err(|_| validation_error("The request cannot be read".into()))
}

fn decode_base64(base64: &str) -> Result<Vec<u8>, KmsError> {
    BASE64
        .decode(base64)
        .map_err(|_| validation_error("A blob is not base64".into()))
}

fn check_key(id: &str) -> Result<(), KmsError> {
    if id == KEY_ID || id == KEY_ARN {
        return Ok(());
    }
    Err(("NotFoundException", format!("Key '{id}' does not exist")))
}

fn check_algorithm(name: Option<&str>) -> Result<(), KmsError> {
    match name {
        None | Some(ALGORITHM) => Ok(()),
        Some(other) => Err((
            "InvalidKeyUsageException",
            format!("{KEY_ARN} does not support {other}"),
        )),
    }
}

fn validation_error(message: String) -> KmsError {
    ("ValidationException", message)
}

fn internal_error(message: &str) -> KmsError {
    ("KMSInternalException", message.to_owned())
}

/// Encodes the encryption context as bytes: each text after its length, in the order of the names.
fn context_bytes(context: &BTreeMap<String, String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in context {
        for text in [name, value] {
            bytes.extend((text.len() as u64).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
    }

    bytes
}

/// Returns the key in the folder, or creates it if there never was one. A file with any other
/// content is an error: overwriting a key would lose everything that it sealed.
fn load_or_create_key(folder: &DataFolder) -> std::io::Result<[u8; KEY_LEN]> {
    let key = match fs::read(folder.file_path(KMS_KEY)) {
        Ok(key) if !key.is_empty() => key,
        _ => folder
            .lock()?
            .get_or_create_key(KMS_KEY, || rand::random::<[u8; KEY_LEN]>().to_vec())?,
    };
    key.try_into()
        .map_err(|_| std::io::Error::other("a key has 32 bytes"))
}
