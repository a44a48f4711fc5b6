//! Request bodies for the whole app. The first byte chooses the route. No body may cause a server
//! error, and every answer must match `openapi.yaml`.

#![no_main]

use libfuzzer_sys::fuzz_target;

const JSON: &str = "application/json";
const ROUTES: [(&str, &str); 9] = [
    ("/v3/documents/file", "multipart/form-data; boundary=x"),
    ("/v3/documents/batch", JSON),
    ("/v4/conversations", JSON),
    ("/v3/documents/list", JSON),
    ("/v3/documents", JSON),
    ("/v3/documents/file/uploads", JSON),
    ("/v3/documents/documents", JSON),
    ("/v3/search", JSON),
    ("/v4/search", JSON),
];

fuzz_target!(|input: &[u8]| {
    let (choice, body) = fuzz::split_choice(input);
    let (path, kind) = ROUTES[choice % ROUTES.len()];
    let answer = fuzz::app::post(path, kind, body);
    assert!(
        !answer.status.is_server_error(),
        "{path}: {} {}",
        answer.status,
        answer.body
    );
});
