//! The whole app in this process, for targets that send requests.

use std::cell::RefCell;

use axum::body::Body;
use http::Request;
use testkit::{TestAnswer, TestApp};

use crate::shared_runtime;

/// The number of requests that one app receives. A limit is needed because the stored data grows
/// with them.
const REQUESTS: usize = 2000;

thread_local! {
    static APP: RefCell<Option<(usize, TestApp, String)>> = const { RefCell::new(None) };
}

/// Sends a `POST` with a key that has all permissions.
pub fn post(path: &str, kind: &str, body: &[u8]) -> TestAnswer {
    with_app(|app, key| {
        let request = Request::post(path).header("content-type", kind);
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request
            .body(Body::from(body.to_vec()))
            .expect("a request of plain parts");
        shared_runtime().block_on(app.send(request))
    })
}

/// Calls `ask` with the app and a key for it. Replaces the app after every `REQUESTS` requests.
pub fn with_app<T>(ask: impl FnOnce(&TestApp, &str) -> T) -> T {
    APP.with_borrow_mut(|slot| {
        let taken = slot.take().filter(|(taken, ..)| *taken < REQUESTS);
        let (taken, app, key) = slot.insert(taken.unwrap_or_else(fresh));
        *taken += 1;
        ask(app, key)
    })
}

fn fresh() -> (usize, TestApp, String) {
    shared_runtime().block_on(async {
        let app = TestApp::new().await;
        let key = app.create_key("acme").await;
        (0, app, key)
    })
}
