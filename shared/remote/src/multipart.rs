//! A form with one file as `multipart/form-data`. The body is made of head, file and tail without
//! copying the file.

use bytes::{Buf, Bytes};
use http::HeaderValue;

/// A form under construction.
#[derive(Debug)]
pub struct MultipartForm {
    boundary: String,
    head: String,
}

/// A form that ends with its file.
#[derive(Debug)]
pub struct MultipartBody {
    form: MultipartForm,
    file: Bytes,
}

impl Default for MultipartForm {
    fn default() -> Self {
        // No file contains 128 given random bits.
        Self {
            boundary: format!("recollect-{:032x}", rand::random::<u128>()),
            head: String::new(),
        }
    }
}

impl MultipartForm {
    /// Adds a field.
    #[must_use]
    pub fn add_field(mut self, name: &str, value: &str) -> Self {
        self.push_part_head(&format!("name=\"{name}\""), None);
        self.head.push_str(value);
        self.head.push_str("\r\n");
        self
    }

    /// Adds the file, which is the last part.
    #[must_use]
    pub fn add_file(
        mut self,
        name: &str,
        file_name: &str,
        media_type: &str,
        file: Bytes,
    ) -> MultipartBody {
        let media_type = if HeaderValue::from_str(media_type).is_ok() {
            media_type
        } else {
            "application/octet-stream"
        };

        self.push_part_head(
            &format!(
                "name=\"{name}\"; filename=\"{}\"",
                escape_file_name(file_name)
            ),
            Some(media_type),
        );
        MultipartBody { form: self, file }
    }

    fn push_part_head(&mut self, disposition: &str, media_type: Option<&str>) {
        self.head.push_str(&format!(
            "--{}\r\nContent-Disposition: form-data; {disposition}\r\n",
            self.boundary
        ));
        if let Some(media_type) = media_type {
            self.head
                .push_str(&format!("Content-Type: {media_type}\r\n"));
        }
        self.head.push_str("\r\n");
    }
}

impl MultipartBody {
    /// Returns the value of the header `Content-Type`.
    pub fn media_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.form.boundary)
    }

    /// Returns the body.
    pub fn into_body(self) -> impl Buf + Send + 'static {
        let tail = format!("\r\n--{}--\r\n", self.form.boundary);
        Bytes::from(self.form.head)
            .chain(self.file)
            .chain(Bytes::from(tail))
    }
}

/// Escapes the characters that would end a quoted name, as browsers do.
fn escape_file_name(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
