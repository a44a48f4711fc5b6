//! A form with one file, as `multipart/form-data`.

use bytes::Bytes;
use http::HeaderValue;
use sha2::{Digest, Sha256};

/// The most bytes of a file. Part of the API.
const MAX_FILE_BYTES: usize = 50 * 1024 * 1024;

/// A file to upload.
#[derive(Debug, Clone)]
pub struct UploadFile {
    /// Its name, which helps to determine its type.
    pub name: String,
    /// Its media type, if it is known.
    pub content_type: Option<String>,
    /// Its bytes.
    pub bytes: Bytes,
}

impl UploadFile {
    /// Checks whether the file is one that the service takes at all. A form of the bucket leaves a
    /// document behind that waits for its file.
    pub(crate) fn fits_bucket(&self) -> bool {
        self.bytes.len() <= MAX_FILE_BYTES
    }
}

/// The body of a form.
pub(crate) struct Form {
    pub(crate) media_type: String,
    pub(crate) body: Bytes,
}

/// Returns the form with `fields` and `file`, in this order.
pub(crate) fn encode_form(file: &UploadFile, fields: &[(&str, String)]) -> Form {
    let boundary = choose_boundary(file, fields);
    let mut body = Vec::with_capacity(file.bytes.len() + 1024);
    for (name, value) in fields {
        push_part_head(&mut body, &boundary, &format!("name=\"{name}\""), None);
        body.extend_from_slice(value.as_bytes());
        body.extend_from_slice(b"\r\n");
    }

    let disposition = format!("name=\"file\"; filename=\"{}\"", escape_name(&file.name));
    let content_type = file.content_type.as_deref();
    let content_type = content_type.filter(|text| HeaderValue::from_str(text).is_ok());
    push_part_head(&mut body, &boundary, &disposition, content_type);
    body.extend_from_slice(&file.bytes);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());

    Form {
        media_type: format!("multipart/form-data; boundary={boundary}"),
        body: body.into(),
    }
}

/// Returns a line that neither the file nor a field contains. Nobody can write a content that
/// contains its own digest.
fn choose_boundary(file: &UploadFile, fields: &[(&str, String)]) -> String {
    let mut hasher = Sha256::new();
    for (_, value) in fields {
        hasher.update(value.as_bytes());
    }
    hasher.update(&file.bytes);
    format!("recollect-{}", &hex::encode(hasher.finalize())[..32])
}

fn push_part_head(body: &mut Vec<u8>, boundary: &str, disposition: &str, media_type: Option<&str>) {
    let mut head = format!("--{boundary}\r\ncontent-disposition: form-data; {disposition}\r\n");
    if let Some(media_type) = media_type {
        head.push_str(&format!("content-type: {media_type}\r\n"));
    }
    head.push_str("\r\n");
    body.extend_from_slice(head.as_bytes());
}

/// Escapes the characters that would end a quoted name, as browsers do.
fn escape_name(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
