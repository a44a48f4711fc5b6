//! The content that these tests send: unique texts, and forms with a file.

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use crate::binary::workspace_root;
use crate::server::RecollectServer;

/// Returns a PDF with two pages of text about a lighthouse.
pub(crate) fn read_pdf() -> Vec<u8> {
    let path = workspace_root().join("shared/content/tests/data/two-pages.pdf");
    std::fs::read(path).expect("a fixture of the content crate")
}

/// Returns the identifier by which the text `number` can be found.
pub(crate) fn text_identifier(number: usize) -> String {
    format!("RK-{number:05}-Q")
}

/// Returns a text of about `bytes` bytes with the identifier of `number` in its middle.
pub(crate) fn random_text(random: &mut StdRng, number: usize, bytes: usize) -> String {
    const WORDS: [&str; 24] = [
        "harbor", "invoice", "lantern", "meadow", "quarter", "ribbon", "silver", "ticket",
        "umbrella", "violin", "window", "yellow", "anchor", "bridge", "candle", "dragon", "engine",
        "forest", "garden", "helmet", "island", "jacket", "kernel", "ladder",
    ];
    let sentence = |random: &mut StdRng| {
        let words: Vec<&str> = (0..12)
            .map(|_| WORDS[random.random_range(0..WORDS.len())])
            .collect();
        format!("{}. ", words.join(" "))
    };
    let mut text = String::new();
    while text.len() < bytes / 2 {
        text += &sentence(random);
    }
    text += &format!(
        "The order {} was shipped on a Tuesday. ",
        text_identifier(number)
    );
    while text.len() < bytes {
        text += &sentence(random);
    }

    text
}

/// Builds a form with one file. Returns its content type and its body.
pub(crate) fn multipart_form(
    name: &str,
    bytes: &[u8],
    fields: &[(&str, &str)],
) -> (String, Vec<u8>) {
    const BOUNDARY: &str = "end-to-end-boundary";
    let mut body = Vec::new();
    for (field, value) in fields {
        let part = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n"
        );
        body.extend_from_slice(part.as_bytes());
    }

    let head = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         content-type: application/octet-stream\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());

    (format!("multipart/form-data; boundary={BOUNDARY}"), body)
}

/// Returns the documents that a search in a container finds, best first.
pub(crate) fn search_container(server: &RecollectServer, question: &str, tag: &str) -> Vec<String> {
    search_ids(server, &json!({"q": question, "containerTag": tag}))
}

/// Returns the documents that a search within one document finds.
pub(crate) fn search_document(server: &RecollectServer, question: &str, id: &str) -> Vec<String> {
    search_ids(server, &json!({"q": question, "docId": id}))
}

fn search_ids(server: &RecollectServer, body: &Value) -> Vec<String> {
    let reply = server.call("POST", "/v3/search", body);
    assert_eq!(reply.status, 200, "{}", reply.body);
    let results = reply.body["results"].as_array().expect("a list of results");
    let id = |result: &Value| result["documentId"].as_str().expect("an id").to_owned();
    results.iter().map(id).collect()
}
