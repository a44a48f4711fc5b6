//! Searches that the function passes to the tasks of a recall service, as in a deployment with
//! `RecallTier=service`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::{Next, from_fn, map_response};
use cli::serve_until;
use domain::RateLimit;
use domain::key::{KeyKind, KeySpec, Permission};
use edge::App;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ORIGIN};
use http::{Response, StatusCode};
use search::RecallService;
use serde_json::{Value, json};
use server::ServerLimits;
use service::Authenticator;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::client::OrgClient;
use crate::request_log::read_log;

/// The memory for warm indexes of each process.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// A task of the service. It stops when it is dropped.
struct Task {
    address: SocketAddr,
    /// The paths and bodies of its requests.
    received: Arc<Mutex<Vec<(String, String)>>>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Task {
    async fn start(client: &OrgClient) -> Self {
        let received = Arc::<Mutex<Vec<(String, String)>>>::default();
        let log = received.clone();
        let note = from_fn(move |request: Request, next: Next| {
            let log = log.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.expect("a body");
                let text = String::from_utf8_lossy(&body).into_owned();
                let path = parts.uri.path().to_owned();
                log.lock().expect("the log").push((path, text));
                next.run(Request::from_parts(parts, Body::from(body))).await
            }
        });
        Self::serve(
            search::task_routes(search_routes(client).1).layer(note),
            received,
        )
        .await
    }

    async fn serve(routes: Router, received: Arc<Mutex<Vec<(String, String)>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve_until(
            listener,
            routes,
            ServerLimits::default(),
            async move { drop(stopped.await) },
        ));
        Self {
            address,
            received,
            stop,
            serving,
        }
    }

    fn take_received(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.received.lock().expect("the log"))
    }

    async fn stop(self) {
        drop(self.stop);
        self.serving.await.expect("it stops");
    }
}

/// Returns the state of a process, and its search routes.
fn search_routes(client: &OrgClient) -> (App, Router) {
    let ctx = client.app.system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let app = App::new(ctx, authenticator);
    let routes = search::router(app.clone(), CACHE_BYTES);
    (app.clone(), edge::build_service(routes, &app))
}

/// Returns the routes of the function, which passes its requests to the service at these addresses.
fn function_routes(client: &OrgClient, addresses: &[SocketAddr]) -> Router {
    let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let app = search_routes(client).0;
    let routes = search::router(app.clone(), CACHE_BYTES);
    let routes = RecallService::at(&addresses.join(",")).forward_requests(routes, app.clone());
    edge::build_service(routes, &app)
}

/// Sends a request, and returns its answer with the body as JSON.
async fn ask(routes: &Router, key: &str, path: &str, body: &Value) -> Response<Value> {
    let request = http::Request::builder()
        .method("POST")
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header(ORIGIN, "https://app.example")
        .body(Body::from(body.to_string()))
        .expect("a request");
    let (parts, body) = routes
        .clone()
        .oneshot(request)
        .await
        .expect("an answer")
        .into_parts();
    let bytes = to_bytes(body, usize::MAX).await.expect("a body");
    Response::from_parts(parts, serde_json::from_slice(&bytes).expect("JSON"))
}

/// Returns a client of an organization with a document in the container `user1`.
async fn client_with_document() -> OrgClient {
    let client = OrgClient::new().await;
    let content = "My name is Mina and I live in Porto.";
    client
        .send_document(json!({"content": content, "containerTag": "user1"}))
        .await;
    client.run_until_settled().await;
    client
}

#[tokio::test]
async fn requests_about_a_container_go_to_one_task() {
    let client = OrgClient::new().await;
    let tasks = [Task::start(&client).await, Task::start(&client).await];
    let routes = function_routes(&client, &tasks.each_ref().map(|task| task.address));

    let mut owners = BTreeMap::<String, BTreeSet<usize>>::new();
    let mut asked = 0;
    for number in 0..16 {
        let tag = format!("user{number}");
        let scoped_key = client
            .app
            .create_key_with("acme", Permission::Read, Some(&[&tag]))
            .await;
        let requests = [
            (
                &client.key,
                "/v4/search".to_owned(),
                json!({"q": "x", "containerTag": tag}),
            ),
            (
                &client.key,
                "/v3/search".to_owned(),
                json!({"q": "x", "containerTags": [tag, "other"]}),
            ),
            (
                &client.key,
                "/v4/profile".to_owned(),
                json!({"containerTag": tag}),
            ),
            (
                &client.key,
                format!("/ns/{tag}/search"),
                json!({"query": "x"}),
            ),
            (&scoped_key, "/v4/search".to_owned(), json!({"q": "x"})),
        ];
        for (key, path, body) in requests {
            let answer = ask(&routes, key, &path, &body).await;
            assert_eq!(answer.status(), StatusCode::OK, "{path}: {}", answer.body());
            for (place, task) in tasks.iter().enumerate() {
                for (received_path, received_body) in task.take_received() {
                    assert_eq!(
                        (received_path, received_body),
                        (path.clone(), body.to_string())
                    );
                    owners.entry(tag.clone()).or_default().insert(place);
                    asked += 1;
                }
            }
        }
    }

    assert_eq!((owners.len(), asked), (16, 16 * 5), "each request once");
    assert!(owners.values().all(|tasks| tasks.len() == 1), "{owners:?}");
    let used: BTreeSet<usize> = owners.into_values().flatten().collect();
    assert_eq!(used.len(), 2);
}

#[tokio::test]
async fn a_task_answers_as_the_function_would_and_logs_the_request_once() {
    let client = client_with_document().await;
    let task = Task::start(&client).await;
    let own_routes = search_routes(&client).1;
    let routes = function_routes(&client, &[task.address]);
    let questions = [
        (
            "/v4/search",
            json!({"q": "Where does Mina live?", "containerTag": "user1"}),
        ),
        ("/v3/search", json!({"q": "Porto", "containerTag": "user1"})),
        ("/v4/profile", json!({"containerTag": "user1"})),
        ("/v4/search", json!({"q": 7})),
        ("/v4/search", json!({"q": "x", "containerTga": "user1"})),
    ];
    for (path, question) in questions {
        let requests_before = read_log(&client).await.len();
        let mut answer = ask(&routes, &client.key, path, &question).await;
        assert_eq!(task.take_received().len(), 1, "{path}");

        let records = read_log(&client).await;
        assert_eq!(records.len(), requests_before + 1, "{path}");
        let id = answer.headers()["x-request-id"].to_str().expect("text");
        assert!(records.iter().any(|record| record.id == id), "{path}");
        if !answer.status().is_success() {
            assert_eq!(answer.body()["requestId"], id, "{path}");
        }
        let origins = answer.headers().get_all(ACCESS_CONTROL_ALLOW_ORIGIN);
        assert_eq!(origins.iter().count(), 1, "{path}");

        let mut own_answer = ask(&own_routes, &client.key, path, &question).await;
        assert_eq!(answer.status(), own_answer.status(), "{path}");
        for answer in [&mut answer, &mut own_answer] {
            if let Some(object) = answer.body_mut().as_object_mut() {
                object.remove("timing");
                object.remove("requestId");
            }
        }
        assert_eq!(answer.body(), own_answer.body(), "{path}");
    }
}

#[tokio::test]
async fn a_search_is_answered_while_any_task_or_only_the_function_is_there() {
    let client = client_with_document().await;
    let question = json!({"q": "Where does Mina live?", "containerTag": "user1"});
    let [first, second] = [Task::start(&client).await, Task::start(&client).await];
    let routes = function_routes(&client, &[first.address, second.address]);
    let expect_answer = async || {
        let answer = ask(&routes, &client.key, "/v4/search", &question).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert!(
            answer.body().to_string().contains("Porto"),
            "{}",
            answer.body()
        );
    };

    expect_answer().await;
    let (owner, other) = match first.take_received().is_empty() {
        false => (first, second),
        true => (second, first),
    };
    assert!(other.take_received().is_empty());

    owner.stop().await;
    expect_answer().await;
    assert_eq!(other.take_received().len(), 1);

    other.stop().await;
    expect_answer().await;
}

#[tokio::test]
async fn a_refused_request_reaches_no_task() {
    let client = OrgClient::new().await;
    let task = Task::start(&client).await;
    let routes = function_routes(&client, &[task.address]);

    let question = json!({"q": "x"});
    let refused = ask(&routes, "rk_nobody", "/v4/search", &question).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);

    let too_large = json!({"q": "x".repeat(edge::MAX_JSON_BYTES)});
    let refused = ask(&routes, &client.key, "/v4/search", &too_large).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let records = read_log(&client).await;
    assert_eq!(records.len(), 1, "the one with a valid key");
    assert!(task.take_received().is_empty());
}

#[tokio::test]
async fn a_request_that_a_task_fails_counts_once() {
    let client = client_with_document().await;
    // It does the work, and fails at the end.
    let fail = map_response(|_: Response<Body>| async { StatusCode::INTERNAL_SERVER_ERROR });
    let routes = search::task_routes(search_routes(&client).1).layer(fail);
    let failing = Task::serve(routes, Arc::default()).await;
    // A task of another version refuses everything.
    let old = Router::new().fallback(async || StatusCode::MISDIRECTED_REQUEST);
    let old = Task::serve(old, Arc::default()).await;
    let routes = function_routes(&client, &[failing.address, old.address]);

    let spec = KeySpec {
        name: "searches".into(),
        kind: KeyKind::Full,
        permission: Permission::Read,
        tags: None,
        expires_at: None,
        rate_limit: Some(RateLimit {
            max: 1,
            window_ms: 60_000,
        }),
    };
    let key = client.app.create_planned_key("acme", spec).await.key_text;
    let question = json!({"q": "Where does Mina live?", "containerTag": "user1"});
    let answer = ask(&routes, &key, "/v4/search", &question).await;
    assert_eq!(answer.status(), StatusCode::OK, "{}", answer.body());
    let id = answer.headers()["x-request-id"].to_str().expect("text");
    // The failing task has recorded the request as well, under the same id.
    let mut records = read_log(&client).await;
    records.retain(|record| record.route == "POST /v4/search");
    assert!(!records.is_empty());
    assert!(records.iter().all(|record| record.id == id));

    let answer = ask(&routes, &key, "/v4/search", &question).await;
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_task_refuses_a_function_of_another_version() {
    let client = OrgClient::new().await;
    let routes = search::task_routes(search_routes(&client).1);
    let request = http::Request::builder()
        .method("POST")
        .uri("/v4/search")
        .header("x-recollect-version", "0.0.1")
        .body(Body::empty())
        .expect("a request");
    let answer = routes.oneshot(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST);
}
