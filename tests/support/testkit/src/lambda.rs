//! A function of Lambda in this process, which is called through the production adapter.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use aws::{Clients, LambdaFunction, ResourceNames};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use embedded::{ACCESS_KEY_ID, InProcessTransport, REGION, SECRET_ACCESS_KEY, SIGNING_KEY_ID};
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::app::TestEnvironment;

/// The name of the function.
const NAME: &str = "recollect-test";
/// The path of the operation Invoke (API reference of Lambda).
const INVOKE_PATH: &str = "/2015-03-31/functions/recollect-test/invocations";
/// The most bytes of a call, and of its answer (Lambda quotas, "Invocation payload").
const MAX_PAYLOAD_BYTES: usize = 6 * 1024 * 1024;
/// The header of an answer that is the error of a function.
const FUNCTION_ERROR: &str = "x-amz-function-error";

/// A function: it answers a request, or ends with an error.
type Function = Arc<dyn Fn(Bytes) -> BoxFuture<'static, io::Result<Bytes>> + Send + Sync>;

impl TestEnvironment {
    /// Returns a function as others call it. Large requests and answers go through the bucket of this
    /// environment, which listens on loopback.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn lambda_function<F>(
        &self,
        function: impl Fn(Bytes) -> F + Send + Sync + 'static,
    ) -> LambdaFunction
    where
        F: Future<Output = io::Result<Bytes>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let bucket = cli::bucket_routes(self.services.clone());
        tokio::spawn(async move { axum::serve(listener, bucket).await });

        let transport = LambdaTransport {
            services: InProcessTransport::new(self.services.clone()),
            function: Arc::new(move |request| function(request).boxed()),
        };
        let config = aws::config_through(transport, ACCESS_KEY_ID, SECRET_ACCESS_KEY, REGION);
        let clients = Clients::in_process(&config).with_public_endpoint(
            &format!("http://{address}"),
            SIGNING_KEY_ID,
            self.services.signing_secret(),
        );
        LambdaFunction::new(
            &config,
            &clients,
            &ResourceNames::for_embedded(),
            Arc::new(self.clock.clone()),
            NAME.to_owned(),
        )
    }
}

/// A transport to embedded services and to one function.
#[derive(Clone)]
struct LambdaTransport {
    services: InProcessTransport,
    function: Function,
}

impl fmt::Debug for LambdaTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LambdaTransport").finish_non_exhaustive()
    }
}

/// Returns the answer of Lambda to a call.
async fn invoke(function: Function, event: &[u8]) -> http::Response<SdkBody> {
    assert!(event.len() <= MAX_PAYLOAD_BYTES, "AWS refuses this call");
    let event: Value = serde_json::from_slice(event).expect("an event as JSON");
    let result = lambda::answer_call(event, |request| function(request)).await;
    let is_error = result.is_err();
    let answer = result.unwrap_or_else(|error| json!({"errorMessage": format!("{error:#}")}));
    let answer = answer.to_string();
    assert!(answer.len() <= MAX_PAYLOAD_BYTES, "AWS refuses this answer");

    let mut response = http::Response::new(SdkBody::from(answer));
    if is_error {
        let unhandled = http::HeaderValue::from_static("Unhandled");
        response.headers_mut().insert(FUNCTION_ERROR, unhandled);
    }
    response
}

impl HttpClient for LambdaTransport {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for LambdaTransport {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if !request.uri().ends_with(INVOKE_PATH) {
            return self.services.call(request);
        }
        let function = self.function.clone();
        HttpConnectorFuture::new(async move {
            let event = request.into_body().collect().await;
            let event = event.map_err(ConnectorError::user)?.to_bytes();
            HttpResponse::try_from(invoke(function, &event).await)
                .map_err(|error| ConnectorError::user(error.into()))
        })
    }
}
