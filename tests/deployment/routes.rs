//! The routes of the template are exactly the routes of the code.

use std::collections::BTreeSet;

use axum::Router;
use container_index::{CacheSettings, SegmentReading};
use domain::ports::Connectors;
use edge::App;
use lambda_http::Body;
use lambda_http::tower::ServiceExt;
use serde_json::Value;
use service::Authenticator;
use testkit::{TestApp, is_undescribed};

use crate::tree::read_file;
use testkit::template::{
    crate_of_function, function_events, load_template, referenced_id, resources,
};

/// All routes: function, method, path.
const ROUTES: [(&str, &str, &str); 136] = [
    ("documents", "GET", "/health"),
    ("documents", "GET", "/healthz"),
    ("documents", "POST", "/v3/documents"),
    ("documents", "POST", "/v3/documents/batch"),
    ("documents", "DELETE", "/v3/documents/bulk"),
    ("documents", "POST", "/v3/documents/documents"),
    ("documents", "POST", "/v3/documents/documents/by-ids"),
    ("documents", "POST", "/v3/documents/file"),
    ("documents", "POST", "/v3/documents/file/uploads"),
    ("documents", "POST", "/v3/documents/list"),
    ("documents", "GET", "/v3/documents/processing"),
    ("documents", "GET", "/v3/documents/{id}"),
    ("documents", "PATCH", "/v3/documents/{id}"),
    ("documents", "DELETE", "/v3/documents/{id}"),
    ("documents", "GET", "/v3/documents/{id}/chunks"),
    ("documents", "GET", "/v3/documents/{id}/file-url"),
    ("documents", "POST", "/v3/documents/{id}/retry"),
    ("documents", "POST", "/v3/memories"),
    ("documents", "POST", "/v3/memories/batch"),
    ("documents", "DELETE", "/v3/memories/bulk"),
    ("documents", "POST", "/v3/memories/file"),
    ("documents", "POST", "/v3/memories/list"),
    ("documents", "GET", "/v3/memories/{id}"),
    ("documents", "PATCH", "/v3/memories/{id}"),
    ("documents", "DELETE", "/v3/memories/{id}"),
    ("documents", "POST", "/v4/conversations"),
    ("memories", "POST", "/v4/memories"),
    ("memories", "PATCH", "/v4/memories"),
    ("memories", "DELETE", "/v4/memories"),
    ("memories", "POST", "/v4/memories/forget-matching"),
    ("memories", "POST", "/v4/memories/list"),
    ("memories", "GET", "/v3/container-tags/{tag}/inferred"),
    (
        "memories",
        "POST",
        "/v3/container-tags/{tag}/inferred/{memoryId}/review",
    ),
    ("search", "POST", "/v4/search"),
    ("search", "POST", "/v3/search"),
    ("search", "POST", "/v4/profile"),
    ("search", "POST", "/v4/profile/buckets"),
    ("search", "GET", "/v3/container-tags/{tag}/profile"),
    ("container-tags", "GET", "/v3/container-tags/{tag}"),
    ("container-tags", "PATCH", "/v3/container-tags/{tag}"),
    ("container-tags", "GET", "/v3/container-tags/list"),
    ("container-tags", "POST", "/v3/container-tags/merge"),
    (
        "container-tags",
        "GET",
        "/v3/container-tags/merge/{mergeId}",
    ),
    (
        "container-tags",
        "GET",
        "/v3/container-tags/deletions/{deletionId}",
    ),
    (
        "container-tags",
        "GET",
        "/v3/container-tags/deletions/{deletionId}/report",
    ),
    ("container-tags", "DELETE", "/v3/container-tags/{tag}"),
    ("settings", "GET", "/v3/settings"),
    ("settings", "PATCH", "/v3/settings"),
    ("settings", "POST", "/v3/settings/reset"),
    ("settings", "POST", "/v3/settings/suggest-buckets"),
    ("settings", "GET", "/v3/session"),
    ("settings", "POST", "/v3/session"),
    ("settings", "DELETE", "/v3/session"),
    ("settings", "POST", "/v3/auth/scoped-key"),
    ("settings", "DELETE", "/v3/auth/scoped-key/{id}"),
    ("settings", "POST", "/v3/auth/agent-key"),
    ("settings", "GET", "/v3/auth/keys"),
    ("settings", "PUT", "/v3/auth/keys/{id}/toggle"),
    ("settings", "DELETE", "/v3/auth/keys/{id}"),
    ("settings", "GET", "/v3/openapi"),
    ("settings", "GET", "/v4/openapi"),
    ("settings", "GET", "/docs"),
    ("settings", "GET", "/docs/app.js"),
    ("settings", "GET", "/docs/app.css"),
    ("settings", "GET", "/"),
    ("settings", "GET", "/console/{*path}"),
    ("settings", "POST", "/console/session"),
    ("settings", "DELETE", "/console/session"),
    ("analytics", "GET", "/v3/analytics/usage"),
    ("analytics", "GET", "/v3/analytics/errors"),
    ("analytics", "GET", "/v3/analytics/logs"),
    ("analytics", "GET", "/v3/analytics/requests"),
    ("analytics", "GET", "/v3/analytics/memory"),
    ("connections", "POST", "/v3/connections/list"),
    ("connections", "GET", "/v3/connections/{id}"),
    ("connections", "POST", "/v3/connections/{id}"),
    ("connections", "PATCH", "/v3/connections/{id}"),
    ("connections", "DELETE", "/v3/connections/{id}"),
    ("connections", "POST", "/v3/connections/{id}/connection"),
    ("connections", "POST", "/v3/connections/{id}/documents"),
    ("connections", "POST", "/v3/connections/{id}/import"),
    ("connections", "POST", "/v3/connections/{id}/reconnect"),
    ("connections", "GET", "/v3/connections/{id}/resources"),
    ("connections", "POST", "/v3/connections/{id}/configure"),
    ("connections", "GET", "/v3/connections/{id}/sync-runs"),
    ("connections", "GET", "/v3/connections/{id}/items"),
    (
        "connections",
        "POST",
        "/v3/connections/{id}/cloud-drive/hosted-picker",
    ),
    (
        "connections",
        "POST",
        "/v3/connections/{id}/google-drive/hosted-picker",
    ),
    ("connections", "GET", "/v3/connections/auth/start/{ticket}"),
    ("connections", "GET", "/v3/connections/auth/callback/{id}"),
    ("connections", "GET", "/v3/connections/{id}/callback"),
    ("connections", "POST", "/v3/connections/{id}/notifications"),
    ("connections", "GET", "/picker/s/{ticket}"),
    ("connections", "GET", "/picker"),
    ("connections", "GET", "/picker/{file}"),
    ("connections", "GET", "/picker/api/items"),
    ("connections", "GET", "/picker/api/selection"),
    ("connections", "PUT", "/picker/api/selection"),
    ("connections", "POST", "/picker/api/complete"),
    ("documents", "POST", "/ns/{namespace}/document"),
    ("documents", "DELETE", "/ns/{namespace}/document"),
    ("documents", "POST", "/ns/{namespace}/document/batch"),
    ("documents", "POST", "/ns/{namespace}/document/file"),
    ("documents", "POST", "/ns/{namespace}/document/file/{id}"),
    ("documents", "PATCH", "/ns/{namespace}/document/file/{id}"),
    ("documents", "GET", "/ns/{namespace}/document/{id}"),
    ("documents", "PATCH", "/ns/{namespace}/document/{id}"),
    ("documents", "POST", "/ns/{namespace}/list/documents"),
    (
        "documents",
        "POST",
        "/ns/{namespace}/list/documents/memory-counts",
    ),
    ("memories", "POST", "/ns/{namespace}/list/memories"),
    ("memories", "DELETE", "/ns/{namespace}/memories"),
    ("memories", "DELETE", "/ns/{namespace}/memories/semantic"),
    ("memories", "GET", "/ns/{namespace}/memories/{id}"),
    ("search", "POST", "/ns/{namespace}/search"),
    ("search", "POST", "/ns/{namespace}/profile"),
    ("search", "POST", "/ns/{namespace}/list/chunks"),
    ("container-tags", "GET", "/ns"),
    ("container-tags", "GET", "/ns/{namespace}"),
    ("container-tags", "PATCH", "/ns/{namespace}"),
    ("container-tags", "DELETE", "/ns/{namespace}"),
    ("container-tags", "GET", "/ns/{namespace}/profile/buckets"),
    ("container-tags", "PUT", "/ns/{namespace}/profile/buckets"),
    (
        "container-tags",
        "DELETE",
        "/ns/{namespace}/profile/buckets",
    ),
    ("settings", "GET", "/organization"),
    ("settings", "PATCH", "/organization"),
    ("connections", "GET", "/connectors"),
    ("connections", "GET", "/ns/{namespace}/connectors"),
    ("connections", "POST", "/ns/{namespace}/connectors"),
    ("connections", "GET", "/ns/{namespace}/connectors/{id}"),
    ("connections", "PATCH", "/ns/{namespace}/connectors/{id}"),
    ("connections", "DELETE", "/ns/{namespace}/connectors/{id}"),
    (
        "connections",
        "POST",
        "/ns/{namespace}/connectors/{id}/sync",
    ),
    ("mcp", "GET", "/mcp"),
    ("mcp", "POST", "/mcp"),
    ("mcp", "GET", "/.well-known/oauth-protected-resource"),
    ("mcp", "GET", "/.well-known/oauth-protected-resource/mcp"),
];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// The paths that need no key.
pub(crate) const OPEN_PATHS: [&str; 6] = [
    "/health",
    "/healthz",
    "/v3/openapi",
    "/v4/openapi",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];

/// Returns the path with a value for each parameter.
pub(crate) fn fill_path(path: &str) -> String {
    let parts = path
        .split('/')
        .map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns the status of a request without a key, and whether the answer is that of a missing
/// route.
async fn send_without_key(app: &App, function: &str, method: &str, path: &str) -> (u16, bool) {
    let router = match function {
        "documents" => documents::router(
            app.clone(),
            documents::LAMBDA_FILE_BYTES,
            SegmentReading::OVER_NETWORK,
        ),
        "settings" => settings::router(app.clone(), false),
        "container-tags" => {
            container_tags::router(app.clone(), SegmentReading::LITTLE_OVER_NETWORK)
        }
        "memories" => memories::router(
            app.clone(),
            CacheSettings::new(1024 * 1024, SegmentReading::LITTLE_OVER_NETWORK),
        ),
        "search" => search::router(app.clone(), 1024 * 1024),
        "analytics" => analytics::router(app.clone(), SegmentReading::LITTLE_OVER_NETWORK),
        "connections" => connections::router(app.clone(), Connectors::default(), None),
        "mcp" => mcp::router(app.clone(), Router::new(), None),
        _ => cli::all_routes(app, 1024 * 1024, Connectors::default(), None, false),
    };
    let router = if function == "local" {
        router
    } else {
        edge::build_service(router, app)
    };
    let request = http::Request::builder().method(method).uri(fill_path(path));
    let response = router
        .oneshot(request.body(Body::Empty).unwrap())
        .await
        .unwrap();
    let status = response.status().as_u16();
    let body = lambda_http::IntoResponse::into_response(response)
        .await
        .into_body();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();

    (status, body["error"] == "Route not found")
}

/// Checks whether a route is for browsers and providers. The protocol of assistants is not described
/// with them, but it asks for a key as the API does.
fn answers_in_its_own_way(path: &str) -> bool {
    is_undescribed(path) && path != "/mcp" && !path.starts_with("/.well-known/")
}

fn new_app(app: &TestApp) -> App {
    let ctx = app.system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    App::new(ctx, authenticator)
}

#[test]
fn every_post_has_a_type_in_the_request_log() {
    let typed: BTreeSet<&str> = edge::POST_TYPES.iter().map(|(path, _)| *path).collect();
    let posts = ROUTES.iter().filter(|(_, method, _)| *method == "POST");
    let routes: BTreeSet<&str> = posts.map(|(_, _, path)| *path).collect();
    assert_eq!(typed, routes);
    assert_eq!(typed.len(), edge::POST_TYPES.len(), "a route has two types");
}

#[test]
fn the_template_has_every_route_and_no_other() {
    let template = load_template();
    let (mut found, mut catch_all) = (BTreeSet::new(), Vec::new());
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let name = crate_of_function(&template, id).to_owned();
        for event in function_events(function, "HttpApi") {
            assert_eq!(referenced_id(&event["ApiId"]), "Api", "{id}");
            if event.get("Path").is_none() {
                catch_all.push(name.clone());
                continue;
            }
            let text = |field: &str| event[field].as_str().unwrap().to_owned();
            // A path of any length: `{path+}` in the template, `{*path}` in the code.
            let path = text("Path").replace("{path+}", "{*path}");
            found.insert((name.clone(), text("Method"), path));
        }
    }

    let wanted =
        ROUTES.map(|(function, method, path)| (function.into(), method.into(), path.into()));
    assert_eq!(found, BTreeSet::from(wanted));
    assert_eq!(catch_all, ["settings"], "other paths, and preflights");
}

#[tokio::test]
async fn every_route_of_the_table_is_answered_by_its_function_and_by_one_machine() {
    let test = TestApp::new().await;
    let app = new_app(&test);

    for (function, method, path) in ROUTES {
        let wanted = match (method, path) {
            // There are no streams, which a client learns from this answer.
            ("GET", "/mcp") => 405,
            _ if OPEN_PATHS.contains(&path) => 200,
            _ => 401,
        };
        for router in [function, "local"] {
            let (status, is_no_route) = send_without_key(&app, router, method, path).await;
            // Routes for browsers and providers need a ticket and answer in their own way.
            let as_wanted = answers_in_its_own_way(path) || status == wanted;
            assert!(
                as_wanted && !is_no_route,
                "{router}: {method} {path} is answered with {status}"
            );
        }
        let other = if function == "documents" {
            "search"
        } else {
            "documents"
        };
        assert_eq!(
            send_without_key(&app, other, method, path).await,
            (404, true),
            "{other}: {method} {path}"
        );
    }
}

#[tokio::test]
async fn no_path_takes_a_method_that_the_table_does_not_have() {
    let test = TestApp::new().await;
    let app = new_app(&test);
    let listed = |method: &str, path: &str| {
        ROUTES
            .iter()
            .any(|(_, one, route)| *one == method && *route == path)
    };

    for (function, _, path) in ROUTES {
        for method in METHODS.iter().filter(|method| !listed(method, path)) {
            // A fixed word can also be an id: `/v3/documents/list` also matches
            // `/v3/documents/{id}`.
            let folder = path.split('/').take(3).collect::<Vec<_>>().join("/");
            let as_id = ["{id}", "{tag}"]
                .iter()
                .any(|name| listed(method, &format!("{folder}/{name}")));
            let (status, _) = send_without_key(&app, function, method, path).await;
            assert!(
                status == 405 || (as_id && status == 401),
                "{method} {path} is answered with {status}"
            );
        }
    }
}

#[test]
fn no_router_has_a_path_that_the_table_does_not_have() {
    for function in [
        "analytics",
        "connections",
        "container-tags",
        "documents",
        "mcp",
        "memories",
        "search",
        "settings",
    ] {
        let text = read_file(&format!("functions/{function}/src/lib.rs"));
        let paths: BTreeSet<&str> = text
            .split(".route(")
            .skip(1)
            .map(|rest| {
                rest.trim_start()
                    .trim_start_matches('"')
                    .split('"')
                    .next()
                    .unwrap()
            })
            .collect();
        let wanted = ROUTES
            .iter()
            .filter(|(owner, ..)| *owner == function)
            .map(|(_, _, path)| *path)
            .collect();
        assert_eq!(paths, wanted, "{function}");

        for other in [".nest(", ".merge(", ".route_service(", ".nest_service("] {
            assert!(
                !text.contains(other),
                "{function} has routes that this test cannot see"
            );
        }
    }
}
