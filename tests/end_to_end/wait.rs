//! `?wait=true`: the answer comes when the content is processed.

use serde_json::json;

use crate::server::RecollectServer;

#[test]
fn the_answer_to_a_request_that_waits_has_the_final_status() {
    let folder = tempfile::tempdir().unwrap();
    let server = RecollectServer::start(&folder.path().join("data"));
    let cases = [
        (
            "/v3/documents?wait=true",
            json!({"content": "The heron waits at the weir."}),
            "done",
        ),
        (
            "/v4/conversations?wait=true",
            json!({"conversationId": "c", "messages": [{"role": "user", "content": "Hi, heron."}]}),
            "done",
        ),
        (
            "/v3/documents?wait=true",
            json!({"content": "http://127.0.0.1/private"}),
            "failed",
        ),
    ];
    for (path, body, status) in cases {
        let reply = server.call("POST", path, &body);
        assert_eq!(
            (reply.status, &reply.body["status"]),
            (200, &json!(status)),
            "{path}"
        );
    }

    let batch = json!({"documents": ["One heron.", "Two herons."]});
    let reply = server.call("POST", "/v3/documents/batch?wait=true", &batch);
    for result in reply.body["results"].as_array().unwrap() {
        assert_eq!(result["status"], "done", "{}", reply.body);
    }
    let refused = server.call("POST", "/v3/documents?wait=soon", &json!({"content": "x"}));
    assert_eq!(refused.status, 400);
}
