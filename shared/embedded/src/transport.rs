//! The HTTP client of the SDK whose requests never leave the process.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::HttpError;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::time::Instant;

use crate::EmbeddedServices;
use crate::network::{Network, NetworkProfile, Service};

/// A transport that passes each request of an AWS SDK client to [`EmbeddedServices`] in the same
/// process, without socket or TLS.
///
/// S3 clients must use path-style addresses, and all clients [`crate::ACCESS_KEY_ID`],
/// [`crate::SECRET_ACCESS_KEY`] and [`crate::REGION`]. Time-outs of the SDK's operations and
/// attempts apply as usual; those of connections do not.
#[derive(Clone, Debug)]
pub struct InProcessTransport {
    services: EmbeddedServices,
    network: Option<Network>,
}

impl InProcessTransport {
    /// Creates a transport to `services`.
    pub fn new(services: EmbeddedServices) -> Self {
        Self {
            services,
            network: None,
        }
    }

    /// Delays the answers as a network between a function and AWS would.
    #[must_use]
    pub fn with_network(self, profile: NetworkProfile) -> Self {
        Self {
            network: Some(Network::new(profile)),
            ..self
        }
    }
}

impl HttpClient for InProcessTransport {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for InProcessTransport {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (services, network) = (self.services.clone(), self.network.clone());
        HttpConnectorFuture::new(async move {
            let begun = Instant::now();
            let request = request.try_into_http1x().map_err(user_error)?;
            let (parts, body) = request.into_parts();
            // The body is usually in memory already. It is a stream if it comes from a file or ends
            // with a checksum.
            let body = collect_body(body).await?;
            let service = Service::of_target(parts.headers.get("x-amz-target"));
            let sent = body.len();
            let response = services
                .handle_request(http::Request::from_parts(parts, body))
                .await;
            if let Some(network) = network {
                let bytes = sent + response.body().len();
                network.wait_for_answer(service, begun, bytes).await;
            }
            HttpResponse::try_from(response.map(SdkBody::from)).map_err(user_error)
        })
    }
}

/// Reads a whole body.
pub(crate) async fn collect_body(body: SdkBody) -> Result<Bytes, ConnectorError> {
    match body.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => Err(ConnectorError::user(error)),
    }
}

/// Returns the error for a message that is not HTTP.
pub(crate) fn user_error(error: HttpError) -> ConnectorError {
    ConnectorError::user(error.into())
}
