//! The ports over embedded services at a fixed time, and values to test use cases with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use aws::{Clients, ResourceNames, build_context, config_through, create_missing_resources};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use domain::document::BodyForm;
use domain::ports::Clock;
use domain::{ContainerTag, Dreaming, OrgId, Tenant, Timestamp};
use embedded::{ACCESS_KEY_ID, EmbeddedServices, InProcessTransport, REGION, SECRET_ACCESS_KEY};
use service::{Content, Ctx, NewDocument, Upsert};
use tempfile::TempDir;

/// The time of all tests.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// The calls of one operation that a transport refuses from now on.
#[derive(Debug)]
struct Refusal {
    calls_left: usize,
    answer: &'static str,
}

/// A transport to embedded services that counts the calls, and refuses some of them.
#[derive(Debug, Clone)]
pub(crate) struct RefusingTransport {
    services: InProcessTransport,
    state: Arc<Mutex<TransportState>>,
}

#[derive(Debug, Default)]
struct TransportState {
    calls: usize,
    refusals: HashMap<&'static str, Refusal>,
}

impl RefusingTransport {
    /// Answers the next calls of an operation with this error.
    pub(crate) fn refuse(&self, operation: &'static str, calls_left: usize, answer: &'static str) {
        let refusal = Refusal { calls_left, answer };
        self.state().refusals.insert(operation, refusal);
    }

    /// Returns the number of calls of an operation that are still to be refused.
    pub(crate) fn refusals_left(&self, operation: &str) -> usize {
        self.state().refusals[operation].calls_left
    }

    /// Returns the number of calls so far.
    pub(crate) fn call_count(&self) -> usize {
        self.state().calls
    }

    fn state(&self) -> MutexGuard<'_, TransportState> {
        self.state.lock().expect("a lock")
    }

    fn take_refusal(&self, request: &HttpRequest) -> Option<&'static str> {
        let mut state = self.state();
        state.calls += 1;
        let target = request.headers().get("x-amz-target")?;
        let (_, operation) = target.split_once('.')?;
        let refusal = state.refusals.get_mut(operation)?;
        refusal.calls_left = refusal.calls_left.checked_sub(1)?;
        Some(refusal.answer)
    }
}

impl HttpClient for RefusingTransport {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for RefusingTransport {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Some(answer) = self.take_refusal(&request) else {
            return self.services.call(request);
        };
        let status = StatusCode::try_from(400).expect("a status");
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(answer))))
    }
}

struct FixedClock;

#[async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        NOW
    }

    async fn sleep(&self, _: Duration) {}
}

/// Empty tables, the ports over them, and the transport between.
pub(crate) struct World {
    pub(crate) ctx: Ctx,
    pub(crate) transport: RefusingTransport,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let services = EmbeddedServices::open(folder.path()).expect("services");
        let transport = RefusingTransport {
            services: InProcessTransport::new(services),
            state: Arc::default(),
        };

        let config = config_through(transport.clone(), ACCESS_KEY_ID, SECRET_ACCESS_KEY, REGION);
        let clients = Clients::new(&config);
        let names = create_missing_resources(&clients, ResourceNames::for_embedded())
            .await
            .expect("tables");

        Self {
            ctx: build_context(&clients, &names, Arc::new(FixedClock)),
            transport,
            _folder: folder,
        }
    }
}

/// Returns the organization of all tests.
pub(crate) fn tenant() -> Tenant {
    Tenant::for_operator(OrgId::parse("alpha").expect("an organization"))
}

pub(crate) fn tag(text: &str) -> ContainerTag {
    ContainerTag::parse(text).expect("a tag")
}

/// Returns a text with these tags.
pub(crate) fn document(tags: &[&str]) -> NewDocument {
    NewDocument {
        tags: tags.iter().map(|text| tag(text)).collect(),
        custom_id: None,
        content: Content::Complete {
            bytes: Bytes::from(tags.join(" met ")),
            form: BodyForm::Text,
        },
        upsert: Upsert::Replace,
        metadata: None,
        filepath: None,
        filter_by_metadata: None,
        entity_context: None,
        task_type: None,
        dreaming: Dreaming::Dynamic,
        document_date: None,
        provenance: None,
        idempotency_key: None,
    }
}
